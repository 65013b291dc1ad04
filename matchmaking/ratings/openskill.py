"""Weng-Lin ratings (Weng & Lin, JMLR 2011), by the `openskill` package.

For those who can't use TrueSkill's licence. The model is Plackett-Luce: two players by the paper's formulas
right here, at a fraction of the package's time a game; teams and free-for-all by the package.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from openskill.models import PlackettLuce

from matchmaking.ratings.base import Rating, SeriesOutcome, require_ranks

# One game leaves at least so much of a variance, as in the package.
_LEAST = 1e-4


@dataclass(frozen=True)
class OpenSkill:
    """Points on TrueSkill's scale: mu 25, sigma 25/3, beta 25/6.

    Attributes:
      tau: drift of a learning player's strength per series, in points.
    """

    mu: float = 25.0
    sigma: float = 25.0 / 3.0
    beta: float = 25.0 / 6.0
    tau: float = 0.3
    name: str = "openskill"
    _model: Any = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        # The drift is added here, to learning players only, and never inside the package.
        object.__setattr__(
            self, "_model", PlackettLuce(mu=self.mu, sigma=self.sigma, beta=self.beta, tau=0.0)
        )

    def initial(self) -> Rating:
        return Rating(self.mu, self.sigma)

    def rate(
        self, a: Rating, b: Rating, outcome: SeriesOutcome, *, a_moves: bool = True, b_moves: bool = True
    ) -> tuple[Rating, Rating]:
        """Rates game by game after letting the learning players' strength drift once.

        p = 1 / (1 + e^{(μ_b − μ_a)/c}),  c² = 2β² + σ_a² + σ_b²,  μ_a += σ_a²/c (s − p),
        σ_a² *= 1 − (σ_a/c)³ p (1 − p), and likewise for b.
        """
        mu_a, variance_a = a.mu, self._drifted_variance(a, a_moves)
        mu_b, variance_b = b.mu, self._drifted_variance(b, b_moves)
        for score in outcome.spread_out():
            c2 = 2.0 * self.beta**2 + variance_a + variance_b
            c = math.sqrt(c2)
            p = 1.0 / (1.0 + math.exp((mu_b - mu_a) / c))
            mu_a, mu_b = mu_a + variance_a / c * (score - p), mu_b - variance_b / c * (score - p)
            doubt = p * (1.0 - p) / (c2 * c)
            variance_a *= max(1.0 - variance_a * math.sqrt(variance_a) * doubt, _LEAST)
            variance_b *= max(1.0 - variance_b * math.sqrt(variance_b) * doubt, _LEAST)
        n = outcome.games
        return (
            Rating(mu_a, math.sqrt(variance_a), a.games + n),
            Rating(mu_b, math.sqrt(variance_b), b.games + n),
        )

    def rate_teams(self, teams: Sequence[Sequence[Rating]], ranks: Sequence[int]) -> list[list[Rating]]:
        require_ranks(teams, ranks)
        groups = [[self._model.rating(mu=r.mu, sigma=r.sigma) for r in team] for team in teams]
        rated = self._model.rate(groups, ranks=list(ranks))
        return [
            [Rating(new.mu, new.sigma, old.games + 1) for new, old in zip(after, before, strict=True)]
            for after, before in zip(rated, teams, strict=True)
        ]

    def win_probability(self, a: Rating, b: Rating) -> float:
        """Returns Φ((μ_a − μ_b) / √(2β² + σ_a² + σ_b²)), as the model's own draws assume."""
        spread = math.sqrt(2.0 * self.beta**2 + a.sigma**2 + b.sigma**2)
        return 0.5 * math.erfc((b.mu - a.mu) / (spread * math.sqrt(2.0)))

    def conservative(self, rating: Rating) -> float:
        """Returns μ − 3σ."""
        return rating.mu - 3.0 * rating.sigma

    def _drifted_variance(self, rating: Rating, moves: bool) -> float:
        variance = rating.sigma**2 + (self.tau**2 if moves else 0.0)
        return min(variance, self.sigma**2)
