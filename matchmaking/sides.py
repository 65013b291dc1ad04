"""Which sides of a game a player can sit on: the chasers do not play the runners."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np


@dataclass(frozen=True)
class Sides:
    """The sides of a game, one player each.

    Attributes:
      count: how many there are. A game of one side is cooperative: one player plays all its seats.
      limited: the sides of those players who cannot play every one, by name.
    """

    count: int = 2
    limited: Mapping[str, tuple[int, ...]] = field(default_factory=dict)

    def of(self, player: str) -> tuple[int, ...]:
        """Returns the sides that a player can play."""
        return self.limited.get(player) or tuple(range(self.count))

    def rotate(self, players: Sequence[str]) -> bool:
        """Whether these can change sides from game to game."""
        return not any(p in self.limited for p in players)

    def seat(self, players: Sequence[str]) -> tuple[int, ...] | None:
        """Returns a side for each of as many players as there are sides, None when they do not fit."""
        return self._seat(players, ())

    def may_meet(self, a: str, b: str) -> bool:
        """Whether two players can sit on different sides."""
        mine, theirs = self.of(a), self.of(b)
        return len({*mine, *theirs}) > 1

    def draw(self, player: str, rng: np.random.Generator) -> int:
        """Returns a side that a player can play; the first, where all can play all."""
        sides = self.of(player)
        return sides[int(rng.integers(len(sides)))] if self.limited and len(sides) > 1 else sides[0]

    def _seat(self, players: Sequence[str], taken: tuple[int, ...]) -> tuple[int, ...] | None:
        if len(taken) == len(players):
            return taken
        for side in self.of(players[len(taken)]):
            if side not in taken:
                result = self._seat(players, (*taken, side))
                if result is not None:
                    return result
        return None
