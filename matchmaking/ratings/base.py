"""What a rating system is."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol


@dataclass(frozen=True)
class Rating:
    """A strength estimate in its system's own points; sigma is 0 where the system has none."""

    mu: float
    sigma: float = 0.0
    games: int = 0


@dataclass(frozen=True)
class SeriesOutcome:
    """The games of one series between two players, from the first one's side."""

    wins: int
    draws: int
    losses: int

    @property
    def games(self) -> int:
        return self.wins + self.draws + self.losses

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

    def conservative(self, rating: Rating) -> float:
        """Returns the strength that the player has in all likelihood."""
