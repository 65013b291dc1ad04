"""What a player gets in a game that nobody loses: cooperative games have scores instead of opponents."""

from __future__ import annotations

import math
from dataclasses import dataclass

from matchmaking.errors import RatingError
from matchmaking.ratings.base import Rating

# Wide enough that whoever has not played is played before anybody else.
UNKNOWN = 1e6


@dataclass(frozen=True)
class Score:
    """The mean return of a player's side, with its standard error as sigma.

    Attributes:
      memory: games that a learning player's mean goes back, more or less: it is of who it is now.
    """

    memory: int = 500

    @property
    def name(self) -> str:
        return "score"

    def initial(self) -> Rating:
        return Rating(0.0, UNKNOWN)

    def rate(self, rating: Rating, total: float, squares: float, games: int, *, moves: bool) -> Rating:
        """Returns the rating after more games.

        Args:
          total: sum of the returns. squares: sum of their squares.
          moves: whether the player learns.

        Raises:
          RatingError: sums that no games have.
        """
        if games < 1 or not (math.isfinite(total) and math.isfinite(squares)) or squares < 0.0:
            raise RatingError(f"{games} games that sum to {total}, their squares to {squares}")
        before = min(rating.games, self.memory) if moves else rating.games
        # The mean and the squared deviations of two samples together (Chan, Golub & LeVeque 1983).
        mean = total / games
        deviations = max(squares - games * mean**2, 0.0)
        if before:
            deviations += rating.sigma**2 * before * before
            deviations += (mean - rating.mu) ** 2 * before * games / (before + games)
        n = before + games
        mu = (rating.mu * before + total) / n
        return Rating(mu, math.sqrt(deviations) / n, rating.games + games)
