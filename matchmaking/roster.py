"""Who can be met, and everything a decision about it may look at."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np

from matchmaking.errors import MatchmakingError
from matchmaking.payoff import PayoffMatrix
from matchmaking.ratings.base import Rating
from matchmaking.records import Player

POOLS = ("historical", "mine", "mains", "exploiters", "learners", "everyone")


class Roster:
    """The players that can be matched, looked up as the roles need them; retired ones are left out."""

    def __init__(self, players: list[Player]) -> None:
        self._by_name = {p.name: p for p in players if p.state != "retired"}
        self.mains = [p.name for p in self._by_name.values() if p.role == "main"]
        self.historicals = [p.name for p in self._by_name.values() if p.role == "historical"]
        self.exploiter_historicals = [
            p.name
            for p in self._by_name.values()
            if p.role == "historical" and p.parent_role == "main_exploiter"
        ]
        self._children: dict[str, list[str]] = {}
        for p in self._by_name.values():
            if p.role == "historical" and p.parent is not None:
                self._children.setdefault(p.parent, []).append(p.name)

    def history_of(self, parent: str) -> list[str]:
        """Returns the snapshots of one player, oldest first."""
        return self._children.get(parent, [])

    def pool(self, name: str, me: str) -> list[str]:
        """Returns a part of the league by name.

        `historical`: every snapshot. `mine`: my own, oldest first. `mains`: mains that learn. `exploiters`:
        snapshots of main exploiters. `learners`: everybody that learns, but me. `everyone`: all of them and
        the anchors, but me.

        Raises:
          MatchmakingError: no such pool.
        """
        if name == "historical":
            return self.historicals
        if name == "mine":
            return self.history_of(me)
        if name == "mains":
            return self.mains
        if name == "exploiters":
            return self.exploiter_historicals
        if name == "learners":
            return [p.name for p in self._by_name.values() if p.state == "learning" and p.name != me]
        if name == "everyone":
            return [p for p in self._by_name if p != me]
        raise MatchmakingError(f"unknown pool {name!r}; one of {', '.join(POOLS)}")


@dataclass(frozen=True)
class Context:
    """What a match is decided on.

    Attributes:
      me: the learning player that needs an opponent.
      ratings: TrueSkill, by player.
      qualities: OpenAI Five's quality of each of my past selves, by name.
    """

    me: str
    roster: Roster
    payoff: PayoffMatrix
    rng: np.random.Generator
    ratings: Mapping[str, Rating] = field(default_factory=dict)
    qualities: Mapping[str, float] = field(default_factory=dict)

    def draw(self, candidates: Sequence[str], chances: Sequence[float] | np.ndarray) -> str:
        """Returns one of the candidates by its chance."""
        return candidates[int(self.rng.choice(len(candidates), p=chances))]
