"""TrueSkill (Herbrich, Minka, Graepel, NIPS 2006).

Two players by the paper's closed form (2 µs a game where the general message passing of the `trueskill`
package takes 150), teams and free-for-all by the package. A frozen player's strength does not move: its
uncertainty only shrinks. A learning player's grows by tau before each series, so that its rating can follow.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import trueskill as ts

from matchmaking.errors import RatingError
from matchmaking.ratings.base import Rating, SeriesOutcome, require_ranks

# Below this Φ(x) the quotient φ/Φ is its own limit, −x, to double precision.
_TINY = 1e-160


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
    _draw_margin: float = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        if not 0.0 <= self.draw_probability < 1.0:
            raise RatingError(f"draw_probability must lie in [0, 1), not {self.draw_probability}")
        # The drift is added here, to learning players only, and never inside the package.
        env = ts.TrueSkill(self.mu, self.sigma, self.beta, 0.0, max(self.draw_probability, 1e-6))
        object.__setattr__(self, "_env", env)
        object.__setattr__(self, "_draw_margin", ts.calc_draw_margin(env.draw_probability, 2, env))

    def initial(self) -> Rating:
        return Rating(self.mu, self.sigma)

    def rate(
        self, a: Rating, b: Rating, outcome: SeriesOutcome, *, a_moves: bool = True, b_moves: bool = True
    ) -> tuple[Rating, Rating]:
        """Rates game by game after letting the learning players' strength drift once."""
        mu_a, variance_a = a.mu, self._drifted_variance(a, a_moves)
        mu_b, variance_b = b.mu, self._drifted_variance(b, b_moves)
        for score in outcome.spread_out():
            c2 = 2.0 * self.beta**2 + variance_a + variance_b
            c = math.sqrt(c2)
            gap, margin = (mu_a - mu_b) / c, self._draw_margin / c
            if score == 0.5:
                v, w = _draw(gap, margin)
            elif score == 1.0:
                v, w = _win(gap, margin)
            else:
                v, w = _win(-gap, margin)
                v = -v
            mu_a += variance_a / c * v
            mu_b -= variance_b / c * v
            variance_a *= 1.0 - variance_a / c2 * w
            variance_b *= 1.0 - variance_b / c2 * w
        n = outcome.games
        return (
            Rating(mu_a, math.sqrt(variance_a), a.games + n),
            Rating(mu_b, math.sqrt(variance_b), b.games + n),
        )

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
        return _cdf((a.mu - b.mu) / spread)

    def conservative(self, rating: Rating) -> float:
        """Returns μ − 3σ: the player is at least this strong with 99.9%."""
        return rating.mu - 3.0 * rating.sigma

    def _drifted_variance(self, rating: Rating, moves: bool) -> float:
        variance = rating.sigma**2 + (self.tau**2 if moves else 0.0)
        return min(variance, self.sigma**2)


def _pdf(x: float) -> float:
    return math.exp(-0.5 * x * x) / math.sqrt(2.0 * math.pi)


def _cdf(x: float) -> float:
    return 0.5 * math.erfc(-x / math.sqrt(2.0))


def _win(gap: float, margin: float) -> tuple[float, float]:
    """Returns V and W of a victory: mean and variance of the truncated difference (the paper's table 1)."""
    x = gap - margin
    probability = _cdf(x)
    v = _pdf(x) / probability if probability > _TINY else -x
    return v, min(max(v * (v + x), 0.0), 1.0)


def _draw(gap: float, margin: float) -> tuple[float, float]:
    """Returns V and W of a draw, for a gap of either sign."""
    size = abs(gap)
    high, low = margin - size, -margin - size
    probability = _cdf(high) - _cdf(low)
    if probability > _TINY:
        v = (_pdf(low) - _pdf(high)) / probability
        w = v * v + (high * _pdf(high) - low * _pdf(low)) / probability
    else:
        v, w = high, 1.0
    return (v if gap >= 0.0 else -v), min(max(w, 0.0), 1.0)
