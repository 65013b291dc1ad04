"""When two players have played enough: an interval that may be looked at after every game.

An ordinary 95% interval holds at one moment chosen in advance. Looked at again and again until it shows
what was hoped for, it is wrong far more often; a confidence sequence holds at all moments together.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

from matchmaking.errors import MatchmakingError
from matchmaking.payoff import PairRecord


@dataclass(frozen=True)
class StopRule:
    """When a pair's score is known well enough.

    Attributes:
      precision: of the interval around the score, in [0, 0.5], at which it is.
      confidence: chance that the interval holds the true score however often it is looked at.
      min_games: before which nothing is said. max_games: after which the pair stops in any case.
      until_decided: stop as soon as the interval leaves out one half: it is known who is better.
    """

    precision: float = 0.05
    confidence: float = 0.95
    min_games: int = 32
    max_games: int = 4000
    until_decided: bool = False

    def __post_init__(self) -> None:
        """Raises: MatchmakingError: a number outside its bounds."""
        for name, value, low, high in (
            ("precision", self.precision, 0.001, 0.5),
            ("confidence", self.confidence, 0.5, 0.9999),
            ("min_games", self.min_games, 2, self.max_games),
        ):
            if not low <= value <= high:
                raise MatchmakingError(f"{name}: {value} must lie in [{low}, {high}]")

    def interval(self, record: PairRecord) -> tuple[float, float]:
        """Returns where the first player's score lies, a draw half a win; (0, 1) before `min_games`."""
        if record.games < self.min_games:
            return 0.0, 1.0
        # One win and one loss more than were played: somebody who won all games so far may lose one yet.
        games = record.games + 2.0
        mean = (record.wins + 1.0 + 0.5 * record.draws) / games
        deviation = math.sqrt((record.wins + 1.0 + 0.25 * record.draws) / games - mean**2)
        width = deviation * sequential_width(games, 1.0 - self.confidence)
        return max(0.0, mean - width), min(1.0, mean + width)

    def is_enough(self, record: PairRecord) -> bool:
        """Whether these games settle it."""
        low, high = self.interval(record)
        decided = self.until_decided and not low <= 0.5 <= high
        return record.games >= self.max_games or decided or high - low <= 2.0 * self.precision

    def points(self, record: PairRecord) -> float:
        """Returns a match's points: 1 for the better player, 0 for the worse, ½ while it is not known."""
        low, high = self.interval(record)
        return 1.0 if low > 0.5 else 0.0 if high < 0.5 else 0.5


def sequential_width(games: float, alpha: float, tightest_at: float = 1000.0) -> float:
    """Returns the half-width of an asymptotic confidence sequence, in standard deviations.

    √(2(tρ²+1)/(t²ρ²) · log(√(tρ²+1)/α)), ρ² = (−2 log α + log(−2 log α + 1))/t* (Waudby-Smith, Arbour, Sinha,
    Kennedy & Ramdas 2021, "Time-uniform central limit theory and asymptotic confidence sequences").

    Args:
      alpha: chance that the truth is outside at any moment.
      tightest_at: t*, the number of games at which the width is best.
    """
    once = -2.0 * math.log(alpha)
    rho2 = (once + math.log(once + 1.0)) / tightest_at
    grown = games * rho2 + 1.0
    return math.sqrt(2.0 * grown / (games**2 * rho2) * math.log(math.sqrt(grown) / alpha))
