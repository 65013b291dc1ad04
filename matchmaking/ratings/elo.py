"""Elo ratings (A. Elo, "The Rating of Chessplayers", 1978; FIDE handbook B.02).

E_a = 1 / (1 + 10^((R_b − R_a)/400)),   R_a' = R_a + K (S_a − E_a)
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from matchmaking.ratings.base import Rating, SeriesOutcome, require_ranks


def expected_score(rating_a: float, rating_b: float, scale: float = 400.0) -> float:
    """Returns a's expected score against b, in (0, 1)."""
    return float(1.0 / (1.0 + 10.0 ** ((rating_b - rating_a) / scale)))


@dataclass(frozen=True)
class Elo:
    """K is points per game; `scale` the difference at which the odds are 10 to 1."""

    k: float = 8.0
    scale: float = 400.0
    start: float = 1000.0
    name: str = "elo"

    def initial(self) -> Rating:
        return Rating(self.start)

    def rate(
        self, a: Rating, b: Rating, outcome: SeriesOutcome, *, a_moves: bool = True, b_moves: bool = True
    ) -> tuple[Rating, Rating]:
        """Rates game by game; what a wins b loses."""
        mu_a, mu_b = a.mu, b.mu
        for score in outcome.spread_out():
            gain = self.k * (score - expected_score(mu_a, mu_b, self.scale))
            mu_a, mu_b = mu_a + gain, mu_b - gain
        n = outcome.games
        return replace(a, mu=mu_a, games=a.games + n), replace(b, mu=mu_b, games=b.games + n)

    def rate_teams(self, teams: Sequence[Sequence[Rating]], ranks: Sequence[int]) -> list[list[Rating]]:
        """Rates a game of many as games of two: each team, by its members' mean, against every other.

        A member gains K times its team's mean surplus over its opponents, so that a game of n teams moves as
        much as a game of two.
        """
        require_ranks(teams, ranks)
        means = [sum(r.mu for r in team) / len(team) for team in teams]
        gains = []
        for i, mine in enumerate(means):
            surplus = 0.0
            for j, theirs in enumerate(means):
                if i != j:
                    score = 1.0 if ranks[i] < ranks[j] else 0.5 if ranks[i] == ranks[j] else 0.0
                    surplus += score - expected_score(mine, theirs, self.scale)
            gains.append(self.k * surplus / (len(teams) - 1))
        return [
            [replace(r, mu=r.mu + gain, games=r.games + 1) for r in team]
            for team, gain in zip(teams, gains, strict=True)
        ]

    def win_probability(self, a: Rating, b: Rating) -> float:
        return expected_score(a.mu, b.mu, self.scale)

    def conservative(self, rating: Rating) -> float:
        return rating.mu
