"""Who can be met, and everything a decision about it may look at."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TypeVar

import numpy as np
import numpy.typing as npt

from matchmaking.errors import MatchmakingError
from matchmaking.payoff import PayoffMatrix, Pool
from matchmaking.ratings.base import Rating
from matchmaking.records import Player

POOLS = ("historical", "mine", "mains", "exploiters", "learners", "everyone")
T = TypeVar("T")


class Roster:
    """The players that can be matched, looked up as the roles need them; retired ones are left out.

    In a game whose sides not everybody can play there is one of these for each side, of those who can.
    """

    def __init__(self, players: Iterable[Player] = ()) -> None:
        self._by_name: dict[str, Player] = {}
        self._pools: dict[tuple[str, str], Pool] = {}
        self.version = 0
        for player in players:
            self.put(player)

    def __contains__(self, name: str) -> bool:
        return name in self._by_name

    def put(self, player: Player) -> None:
        """Adds a player or replaces what is known of it; a retired one leaves."""
        if player.state == "retired":
            self._by_name.pop(player.name, None)
        else:
            self._by_name[player.name] = player
        self._pools.clear()
        self.version += 1

    @property
    def mains(self) -> Pool:
        return self.pool("mains")

    @property
    def historicals(self) -> Pool:
        return self.pool("historical")

    @property
    def exploiter_historicals(self) -> Pool:
        return self.pool("exploiters")

    def history_of(self, parent: str) -> Pool:
        """Returns the snapshots of one player, oldest first."""
        return self.pool("mine", parent)

    def pool(self, name: str, me: str = "") -> Pool:
        """Returns a part of the league by name; the same object until the roster changes.

        `historical`: every snapshot. `mine`: my own, oldest first. `mains`: mains that learn. `exploiters`:
        snapshots of main exploiters. `learners`: everybody that learns, but me. `everyone`: all of them and
        the anchors, but me.

        Raises:
          MatchmakingError: no such pool.
        """
        if name not in POOLS:
            raise MatchmakingError(f"unknown pool {name!r}; one of {', '.join(POOLS)}")
        key = (name, me if name in ("mine", "learners", "everyone") else "")
        if key not in self._pools:
            # Who cannot sit here has no past selves here; those of the mains who can stand in for them.
            mains = name == "mine" and me not in self._by_name
            self._pools[key] = Pool(
                p.name for p in self._by_name.values() if _belongs(p, "past_mains" if mains else name, me)
            )
        return self._pools[key]


def _belongs(player: Player, pool: str, me: str) -> bool:
    if pool == "historical":
        return player.role == "historical"
    if pool == "mine":
        return player.role == "historical" and player.parent == me
    if pool == "past_mains":
        return player.role == "historical" and player.parent_role == "main"
    if pool == "mains":
        return player.role == "main"
    if pool == "exploiters":
        return player.role == "historical" and player.parent_role == "main_exploiter"
    return player.name != me and (pool == "everyone" or player.state == "learning")


@dataclass
class Memo:
    """What has been worked out for one player; worth nothing once its results or the roster have changed."""

    stamp: tuple[int, int] = (-1, -1)
    values: dict[Hashable, object] = field(default_factory=dict)


@dataclass(frozen=True)
class Context:
    """What a match is decided on.

    Attributes:
      me: the learning player that needs an opponent.
      ratings: TrueSkill, by player.
      qualities: OpenAI Five's quality of each of my past selves, by name.
      memo: kept between the matches of `me`, so that ten thousand opponents are not weighed for each.
    """

    me: str
    roster: Roster
    payoff: PayoffMatrix
    rng: np.random.Generator
    ratings: Mapping[str, Rating] = field(default_factory=dict)
    qualities: Mapping[str, float] = field(default_factory=dict)
    memo: Memo = field(default_factory=Memo)

    def __post_init__(self) -> None:
        stamp = (self.roster.version, self.payoff.version(self.me))
        if self.memo.stamp != stamp:
            self.memo.stamp = stamp
            self.memo.values.clear()

    def once(self, key: Hashable, work_out: Callable[[], T]) -> T:
        """Returns what depends on nothing but the roster and my results, worked out when they change."""
        values = self.memo.values
        if key not in values:
            values[key] = work_out()
        return values[key]  # type: ignore[return-value]

    def self_or_mains(self) -> Sequence[str]:
        """Returns myself, or where I cannot sit opposite myself the mains who can."""
        return [self.me] if self.me in self.roster else self.roster.mains

    def lowest_win_rate(self, pool: Pool) -> float:
        """Returns my win rate against whom I score least."""
        return self.once(
            ("lowest", id(pool)), lambda: float(self.payoff.win_rates(self.me, pool).min(initial=1.0))
        )

    def pick(self, pool: Sequence[str]) -> str:
        """Returns one of a pool, all alike."""
        return pool[int(self.rng.integers(len(pool)))]

    def draw(self, candidates: Sequence[str], chances: Sequence[float] | npt.NDArray[np.float64]) -> str:
        """Returns one of the candidates by its chance."""
        return self.draw_cumulative(candidates, np.cumsum(chances))

    def draw_cumulative(self, candidates: Sequence[str], cumulative: npt.NDArray[np.float64]) -> str:
        """The same when the chances have been added up already."""
        place = np.searchsorted(cumulative, self.rng.random() * cumulative[-1], side="right")
        return candidates[min(int(place), len(candidates) - 1)]
