"""Which rating system predicts this league best: what each said before a game, against what came."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

import numpy as np

from matchmaking.ratings.base import Rating, RatingSystem, SeriesOutcome


@dataclass(frozen=True)
class RatedSeries:
    """A rating series in the order it was played; `*_moves` as in `RatingSystem.rate`."""

    first: str
    second: str
    outcome: SeriesOutcome
    first_moves: bool
    second_moves: bool


@dataclass(frozen=True)
class ReliabilityBin:
    """Games whose prediction fell into one tenth: what was predicted and what was scored, on average."""

    predicted: float
    scored: float
    games: int


@dataclass(frozen=True)
class Calibration:
    """How well a system predicts.

    Attributes:
      brier: mean squared difference of predicted and scored, a game (Brier 1950); 0.25 is what "a half,
        always" gets when there are no draws. Lower is better.
      bins: the reliability diagram.
    """

    system: str
    brier: float
    games: int
    bins: tuple[ReliabilityBin, ...]


def replay(system: RatingSystem, history: Iterable[RatedSeries], parents: Mapping[str, str]) -> Calibration:
    """Rates a league's history anew, predicting every series before it is rated.

    Args:
      parents: whose rating a snapshot starts with, by snapshot.
    """
    ratings: dict[str, Rating] = {}
    predicted: list[float] = []
    outcomes: list[SeriesOutcome] = []

    def rating(name: str) -> Rating:
        if name not in ratings:
            fresh = system.initial()
            parent = ratings.get(parents.get(name, ""), fresh)
            ratings[name] = Rating(parent.mu, max(parent.sigma, fresh.sigma / 3.0))
        return ratings[name]

    for series in history:
        a, b = rating(series.first), rating(series.second)
        predicted.append(system.win_probability(a, b))
        outcomes.append(series.outcome)
        ratings[series.first], ratings[series.second] = system.rate(
            a, b, series.outcome, a_moves=series.first_moves, b_moves=series.second_moves
        )
    return _calibration(system.name, predicted, outcomes)


def _calibration(name: str, predicted: list[float], outcomes: list[SeriesOutcome]) -> Calibration:
    if not outcomes:
        return Calibration(name, float("nan"), 0, ())
    p = np.array(predicted)
    counts = np.array([(o.wins, o.draws, o.losses) for o in outcomes], np.float64)
    games = counts.sum(axis=1)
    squares = counts[:, 0] * (1.0 - p) ** 2 + counts[:, 1] * (0.5 - p) ** 2 + counts[:, 2] * p**2
    scored = counts[:, 0] + 0.5 * counts[:, 1]
    tenth = np.minimum((p * 10).astype(int), 9)
    bins = []
    for k in range(10):
        here = tenth == k
        total = games[here].sum()
        if total > 0:
            mean = float((p[here] * games[here]).sum() / total)
            bins.append(ReliabilityBin(mean, float(scored[here].sum() / total), int(total)))
    return Calibration(name, float(squares.sum() / games.sum()), int(games.sum()), tuple(bins))
