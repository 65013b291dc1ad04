"""TrueSkill (Herbrich, Minka, Graepel, NIPS 2006), by the `trueskill` package.

A frozen player's strength does not move: its uncertainty only shrinks. A learning player's grows by
tau before each series, so that the rating can follow it.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import trueskill as ts

from matchmaking.errors import RatingError
from matchmaking.ratings.base import Rating, SeriesOutcome, require_ranks


@dataclass(frozen=True)
class TrueSkill:
    """Points as in the paper: mu 25, sigma 25/3, beta 25/6.

    Attributes:
      tau: drift of a learning player's strength per series, in points.
      draw_probability: of a game between equals, in [0, 1).
    """

    mu: float = 25.0
    sigma: float = 25.0 / 3.0
    beta: float = 25.0 / 6.0
    tau: float = 0.3
    draw_probability: float = 0.02
    name: str = "trueskill"
    _env: Any = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        if not 0.0 <= self.draw_probability < 1.0:
            raise RatingError(f"draw_probability must lie in [0, 1), not {self.draw_probability}")
        # The drift is added here, to learning players only, and never inside the package.
        env = ts.TrueSkill(self.mu, self.sigma, self.beta, 0.0, max(self.draw_probability, 1e-6))
        object.__setattr__(self, "_env", env)

    def initial(self) -> Rating:
        return Rating(self.mu, self.sigma)

    def rate(
        self, a: Rating, b: Rating, outcome: SeriesOutcome, *, a_moves: bool = True, b_moves: bool = True
    ) -> tuple[Rating, Rating]:
        """Rates game by game after letting the learning players' strength drift once."""
        first, second = self._drift(a, a_moves), self._drift(b, b_moves)
        for score in outcome.spread_out():
            if score == 0.0:
                second, first = ts.rate_1vs1(second, first, env=self._env)
            else:
                first, second = ts.rate_1vs1(first, second, drawn=score == 0.5, env=self._env)
        n = outcome.games
        return Rating(first.mu, first.sigma, a.games + n), Rating(second.mu, second.sigma, b.games + n)

    def rate_teams(self, teams: Sequence[Sequence[Rating]], ranks: Sequence[int]) -> list[list[Rating]]:
        require_ranks(teams, ranks)
        groups = [tuple(self._env.create_rating(r.mu, r.sigma) for r in team) for team in teams]
        rated = self._env.rate(groups, ranks=list(ranks))
        return [
            [Rating(new.mu, new.sigma, old.games + 1) for new, old in zip(after, before, strict=True)]
            for after, before in zip(rated, teams, strict=True)
        ]

    def win_probability(self, a: Rating, b: Rating) -> float:
        """Returns Φ((μ_a − μ_b) / √(2β² + σ_a² + σ_b²)); with draws as half wins their margin cancels."""
        spread = math.sqrt(2.0 * self.beta**2 + a.sigma**2 + b.sigma**2)
        return 0.5 * math.erfc((b.mu - a.mu) / (spread * math.sqrt(2.0)))

    def conservative(self, rating: Rating) -> float:
        """Returns μ − 3σ: the player is at least this strong with 99.9%."""
        return rating.mu - 3.0 * rating.sigma

    def _drift(self, rating: Rating, moves: bool) -> Any:
        sigma = math.hypot(rating.sigma, self.tau) if moves else rating.sigma
        return self._env.create_rating(rating.mu, min(sigma, self.sigma))
