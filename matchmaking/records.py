"""The facts about players that match-making reads. Fields, never parsed out of a name."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

Role = Literal["main", "main_exploiter", "league_exploiter", "historical", "anchor", "guest"]
State = Literal["learning", "frozen", "retired"]


@dataclass(frozen=True)
class Player:
    """A member of the pool.

    Attributes:
      name: unique in its run.
      role: why it exists.
      state: `learning` (its weights change), `frozen`, or `retired` (never matched again).
      parent: the learning player it was copied from, for a historical.
      parent_role: that player's role.
      generation: how often it has been reset to its initial weights.
    """

    name: str
    role: Role
    state: State
    parent: str | None = None
    parent_role: Role | None = None
    generation: int = 0


@dataclass(frozen=True)
class Match:
    """Whom a learning player meets next, and by which branch of its role's rule."""

    player: str
    opponent: str
    branch: str
