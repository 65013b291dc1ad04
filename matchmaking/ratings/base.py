"""What a rating system is."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

from matchmaking.errors import RatingError


@dataclass(frozen=True)
class Rating:
    """A strength estimate in its system's own points; sigma is 0 where the system has none."""

    mu: float
    sigma: float = 0.0
    games: int = 0

    def __post_init__(self) -> None:
        """Raises: RatingError: not a number, or an uncertainty below zero."""
        if not (math.isfinite(self.mu) and math.isfinite(self.sigma) and self.sigma >= 0.0):
            raise RatingError(
                f"a rating must be finite numbers, sigma not below 0: got {self.mu} ± {self.sigma}"
            )


@dataclass(frozen=True)
class SeriesOutcome:
    """The games of one series between two players, from the first one's side."""

    wins: int
    draws: int
    losses: int

    def __post_init__(self) -> None:
        """Raises: RatingError: a count is negative."""
        if min(self.wins, self.draws, self.losses) < 0:
            raise RatingError(f"negative count in {self.wins}/{self.draws}/{self.losses}")

    @property
    def games(self) -> int:
        return self.wins + self.draws + self.losses

    @property
    def score(self) -> float:
        """Mean score of the first player, a draw half a win. Raises: ZeroDivisionError: no games."""
        return (self.wins + 0.5 * self.draws) / self.games

    def spread_out(self) -> list[float]:
        """Returns the games' scores (1, ½, 0) evenly mixed: a series carries no order, and one that
        came all wins first would leave another rating than the same games mixed."""
        slots = [
            ((k + 0.5) / n, score)
            for score, n in ((1.0, self.wins), (0.5, self.draws), (0.0, self.losses))
            for k in range(n)
        ]
        return [score for _, score in sorted(slots)]


class RatingSystem(Protocol):
    """Turns outcomes into ratings. Pure: ratings in, ratings out."""

    @property
    def name(self) -> str:
        """What it is called in configs and in the store."""

    def initial(self) -> Rating:
        """Returns the rating of a player nobody has seen."""

    def rate(
        self, a: Rating, b: Rating, outcome: SeriesOutcome, *, a_moves: bool, b_moves: bool
    ) -> tuple[Rating, Rating]:
        """Returns both ratings after the series.

        Args:
          a_moves: whether a's strength may have changed since its last game (it is learning).
          b_moves: the same for b.
        """

    def rate_teams(self, teams: Sequence[Sequence[Rating]], ranks: Sequence[int]) -> list[list[Rating]]:
        """Returns every player's rating after one game of teams, or of single players against all.

        Args:
          ranks: each team's place, lower is better, equal is a draw.
        """

    def win_probability(self, a: Rating, b: Rating) -> float:
        """Returns a's expected score against b, a draw counted as half a win."""

    def conservative(self, rating: Rating) -> float:
        """Returns the strength that the player has in all likelihood."""


def require_ranks(teams: Sequence[Sequence[Rating]], ranks: Sequence[int]) -> None:
    """Raises: RatingError: there are not two teams, one is empty, or there is not one rank for each."""
    if len(teams) < 2 or not all(teams) or len(ranks) != len(teams):
        sizes = [len(t) for t in teams]
        raise RatingError(
            f"a game needs two teams or more and a rank for each; got teams of {sizes}, {len(ranks)} ranks"
        )
