"""A game as it was played, for people to look at."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any


@dataclass(frozen=True)
class Episode:
    """A game from reset to end.

    Attributes:
      series: it belongs to. players: by seat. returns: what each seat got.
      moves: each with seat, player, action, legal actions, where a network chose its probabilities and value,
        and the observation where it is small.
    """

    series: int
    players: tuple[str, ...]
    returns: tuple[float, ...]
    moves: list[dict[str, Any]] = field(compare=False)
