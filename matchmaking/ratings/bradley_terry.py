"""Bradley-Terry ratings: one fit of all games at once, whatever their order (Bradley & Terry 1952).

P(i beats j) = 1 / (1 + e^{θ_j − θ_i}); a draw is half a win for each. Anchored at a player of fixed strength,
so that ratings of different runs and months compare.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
from scipy import sparse
from scipy.sparse.linalg import cg, spsolve

from matchmaking.errors import RatingError
from matchmaking.ratings.base import Rating, require_ranks

ELO_PER_NAT = 400.0 / math.log(10.0)
EXACT_UP_TO = 2000
# Drawn games against an average player: just enough to give those who have not played a place.
TETHER = 0.01


@dataclass(frozen=True)
class PairScore:
    """What `first` scored against `second`: wins and half the draws, of so many games."""

    first: str
    second: str
    score: float
    games: float


class Games(NamedTuple):
    """Games by pairs of player numbers, [P] each: what i scored of how many against j."""

    i: npt.NDArray[np.int64]
    j: npt.NDArray[np.int64]
    score: npt.NDArray[np.float64]
    played: npt.NDArray[np.float64]


@dataclass(frozen=True)
class FittedRating:
    """Elo points; the interval holds the strength with 95% if the model is right."""

    rating: float
    standard_error: float

    @property
    def interval(self) -> tuple[float, float]:
        half = 1.96 * self.standard_error
        return self.rating - half, self.rating + half


def fit(
    pairs: Sequence[PairScore],
    *,
    anchor: tuple[str, float] | None = None,
    prior_games: float = 1.0,
    iterations: int = 100,
) -> Mapping[str, FittedRating]:
    """Fits all ratings by Newton's method on the penalised likelihood.

    Args:
      pairs: each pair once or in parts, in any order.
      anchor: a player and the rating it shall have; without, the mean is 0.
      prior_games: drawn games that everybody is credited with, spread over its opponents: whoever has only
        won stays finite. (Against an average player instead they would press a large pool together, in which
        everybody meets its neighbours.)
      iterations: at most.

    Returns:
      By player. The standard error is of the difference to the anchor (to the mean without one); exact up to
      2,000 players, a lower bound beyond.

    Raises:
      RatingError: impossible numbers, or an anchor that has not played.
    """
    names = sorted({name for p in pairs for name in (p.first, p.second)})
    if not names:
        return {}
    index = {name: i for i, name in enumerate(names)}
    if anchor is not None and anchor[0] not in index:
        raise RatingError(f"anchor {anchor[0]!r} has not played; players: {', '.join(names[:5])}, …")
    for p in pairs:
        if not (math.isfinite(p.score) and 0.0 <= p.score <= p.games and p.first != p.second):
            raise RatingError(f"{p.first} against {p.second}: a score of {p.score} in {p.games} games")
    games = Games(
        np.array([index[p.first] for p in pairs]),
        np.array([index[p.second] for p in pairs]),
        np.array([p.score for p in pairs]),
        np.array([p.games for p in pairs]),
    )
    place = None if anchor is None else (index[anchor[0]], anchor[1])
    ratings, errors = fit_arrays(
        games, len(names), anchor=place, prior_games=prior_games, iterations=iterations
    )
    return {name: FittedRating(float(ratings[k]), float(errors[k])) for name, k in index.items()}


def pairs_of(players: Sequence[str], ranks: Sequence[int]) -> list[PairScore]:
    """Returns one game of many as games of two, each against each; lower ranks win, equal ones draw."""
    require_ranks([[Rating(0.0)] for _ in players], ranks)
    ranked = list(zip(players, ranks, strict=True))
    return [
        PairScore(a, b, 1.0 if rank_a < rank_b else 0.5 if rank_a == rank_b else 0.0, 1.0)
        for (a, rank_a), (b, rank_b) in combinations(ranked, 2)
    ]


def fit_arrays(
    games: Games,
    players: int,
    *,
    anchor: tuple[int, float] | None = None,
    moves: npt.NDArray[np.bool_] | None = None,
    prior_games: float = 1.0,
    iterations: int = 100,
) -> tuple[npt.NDArray[np.float64], npt.NDArray[np.float64]]:
    """The same for players by number: ten thousand players and a million pairs take seconds.

    Args:
      moves: whose strength moves, bool [players]. The others are fitted to the games among themselves, then
        these to their games against them. With nobody else to hold on to, all are fitted together.

    Returns:
      Ratings and standard errors, [players] each. Who has not played stands at the average.
    """
    if moves is not None and moves.any() and bool((~moves[games.i] & ~moves[games.j]).any()):
        return _fit_in_two(games, players, moves, anchor, prior_games, iterations)
    i, j, score, played = _with_prior(games, players, prior_games)
    theta = np.zeros(players)
    for _ in range(iterations):
        expected = _sigmoid(theta[i] - theta[j])
        surplus = score - played * expected
        net: npt.NDArray[Any] = np.bincount(i, surplus, players) - np.bincount(j, surplus, players)
        gradient = net + TETHER * (0.5 - _sigmoid(theta))
        step = _solve(_information(theta, i, j, played), gradient)
        theta += np.clip(step, -2.0, 2.0)  # a full step from far away may overshoot
        if float(np.abs(step).max()) < 1e-9:
            break
    place = None if anchor is None else anchor[0]
    errors = _standard_errors(_information(theta, i, j, played), place)
    shift = anchor[1] - ELO_PER_NAT * theta[anchor[0]] if anchor else -ELO_PER_NAT * theta.mean()
    return ELO_PER_NAT * theta + shift, ELO_PER_NAT * errors


def _fit_in_two(
    games: Games,
    players: int,
    moves: npt.NDArray[np.bool_],
    anchor: tuple[int, float] | None,
    prior_games: float,
    iterations: int,
) -> tuple[npt.NDArray[np.float64], npt.NDArray[np.float64]]:
    still = ~moves[games.i] & ~moves[games.j]
    settled = Games(games.i[still], games.j[still], games.score[still], games.played[still])
    ratings, errors = fit_arrays(
        settled, players, anchor=anchor, prior_games=prior_games, iterations=iterations
    )
    theta = ratings / ELO_PER_NAT
    average = theta[~moves].mean()
    theta[moves] = average
    i, j, score, played = _with_prior(
        Games(games.i[~still], games.j[~still], games.score[~still], games.played[~still]),
        players,
        prior_games,
    )
    for _ in range(iterations):
        expected = _sigmoid(theta[i] - theta[j])
        surplus = score - played * expected
        weight = played * expected * (1.0 - expected)
        own = _sigmoid(theta - average)
        net = np.bincount(i, surplus, players) - np.bincount(j, surplus, players)
        information = (
            np.bincount(i, weight, players) + np.bincount(j, weight, players) + TETHER * own * (1.0 - own)
        )
        step = np.where(moves, (net + TETHER * (0.5 - own)) / information, 0.0)
        theta += np.clip(step, -2.0, 2.0)
        if float(np.abs(step).max()) < 1e-9:
            break
    ratings[moves] = ELO_PER_NAT * theta[moves]
    errors[moves] = ELO_PER_NAT / np.sqrt(information[moves])
    return ratings, errors


def _with_prior(games: Games, players: int, prior_games: float) -> Games:
    i, j, score, played = games
    total = np.maximum(np.bincount(i, played, players) + np.bincount(j, played, players), 1e-12)
    credit = 0.5 * prior_games * played * (1.0 / total[i] + 1.0 / total[j])
    return Games(i, j, score + 0.5 * credit, played + credit)


def _solve(information: sparse.csc_matrix, gradient: npt.NDArray[np.float64]) -> npt.NDArray[np.float64]:
    if information.shape[0] <= EXACT_UP_TO:
        return np.asarray(spsolve(information, gradient), np.float64)
    # Factors of a large pool's matrix fill up; conjugate gradients need its products only.
    scale = sparse.diags(1.0 / information.diagonal())
    step, _ = cg(information, gradient, rtol=1e-8, maxiter=1000, M=scale)
    return np.asarray(step, np.float64)


def _sigmoid(x: npt.NDArray[np.float64]) -> npt.NDArray[np.float64]:
    return np.asarray(1.0 / (1.0 + np.exp(-x)), np.float64)


def _information(
    theta: npt.NDArray[np.float64],
    i: npt.NDArray[np.int64],
    j: npt.NDArray[np.int64],
    games: npt.NDArray[np.float64],
) -> sparse.csc_matrix:
    n = len(theta)
    p = _sigmoid(theta[i] - theta[j])
    weight = games * p * (1.0 - p)
    own = _sigmoid(theta)
    diagonal = np.bincount(i, weight, n) + np.bincount(j, weight, n) + TETHER * own * (1.0 - own)
    every = np.arange(n)
    rows, columns = np.concatenate([every, i, j]), np.concatenate([every, j, i])
    return sparse.csc_matrix((np.concatenate([diagonal, -weight, -weight]), (rows, columns)), shape=(n, n))


def _standard_errors(information: sparse.csc_matrix, anchor: int | None) -> npt.NDArray[np.float64]:
    if information.shape[0] > EXACT_UP_TO:
        return np.asarray(1.0 / np.sqrt(information.diagonal()), np.float64)
    covariance = np.linalg.inv(information.toarray())
    own = np.diag(covariance)
    if anchor is None:
        return np.asarray(np.sqrt(own), np.float64)
    difference = own + covariance[anchor, anchor] - 2.0 * covariance[:, anchor]
    return np.asarray(np.sqrt(np.maximum(difference, 0.0)), np.float64)
