"""Which games to play for the ratings' sake.

A rating is worth most where it is least sure, and a game tells most between equals: the player with
the widest uncertainty is met by an opponent near it, or, in a share of cases, by an anchor, so that
all ratings hang on the same fixed points. A further share goes to pairs that have hardly met: the game
between the players (equilibria, cycles) is only known as far as it has been played.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from matchmaking.ordering import ascending
from matchmaking.payoff import PayoffMatrix

# Of a larger pool only so many are weighed for one match; drawing costs the same with ten thousand players.
NEIGHBOURS = 64
# Nearness of those who are far away.
FLOOR = 0.02
# Draws before it is given up to find two who may meet.
TRIES = 32


@dataclass(frozen=True)
class RatedPlayer:
    """A player as the evaluation sees it; mu and sigma in the rating system's own points."""

    name: str
    mu: float
    sigma: float
    learning: bool
    anchor: bool


class RatedPool:
    """The players that can be rated, in arrays that are put in order again only when ratings have moved."""

    def __init__(self, players: Iterable[RatedPlayer] = ()) -> None:
        self._slots: dict[str, int] = {}
        self._free = list(range(64))[::-1]
        self._names = [""] * 64
        self._mu = np.full(64, np.inf)  # the free ones sort behind everybody
        self._sigma = np.zeros(64)
        self._learning = np.zeros(64, np.bool_)
        self._anchor = np.zeros(64, np.bool_)
        self._stale = True
        for player in players:
            self.put(player)

    def put(self, player: RatedPlayer) -> None:
        """Adds a player or replaces what is known of it."""
        slot = self._slots.get(player.name)
        if slot is None:
            if not self._free:
                self._grow()
            slot = self._slots[player.name] = self._free.pop()
            self._names[slot] = player.name
        self._mu[slot], self._sigma[slot] = player.mu, player.sigma
        self._learning[slot], self._anchor[slot] = player.learning, player.anchor
        self._stale = True

    def remove(self, name: str) -> None:
        """Takes a player out, if it is there."""
        slot = self._slots.pop(name, None)
        if slot is not None:
            self._mu[slot] = np.inf
            self._free.append(slot)
            self._stale = True

    def refresh(self) -> None:
        """Puts everything in order that `EvaluationRule.choose` draws from: by strength, weakest first."""
        if not self._stale:
            return
        self._order = ascending(self._mu)[: len(self)]
        self.mu: npt.NDArray[np.float64] = self._mu[self._order]
        anchors = self._anchor[self._order]
        subjects = ~anchors if not anchors.all() else anchors
        self.learning: npt.NDArray[np.bool_] = self._learning[self._order]
        self.anchors = np.flatnonzero(anchors)
        self.learners = np.flatnonzero(subjects & self.learning)
        variance = np.where(subjects, self._sigma[self._order] ** 2, 0.0)
        if variance.sum() <= 0.0:  # everybody is known exactly
            variance = subjects.astype(np.float64)
        self.uncertainty = np.cumsum(variance)
        self._stale = False

    def name(self, place: int) -> str:
        """Returns who stands at a place in the order of `refresh`."""
        return self._names[int(self._order[place])]

    def place(self, name: str) -> int:
        """Returns where somebody stands in the order of `refresh`."""
        return int(np.flatnonzero(self._order == self._slots[name])[0])

    def __len__(self) -> int:
        return len(self._slots)

    def _grow(self) -> None:
        size = len(self._names)
        self._free = list(range(size, 2 * size))[::-1]
        self._names += [""] * size
        self._mu = np.append(self._mu, np.full(size, np.inf))
        self._sigma = np.append(self._sigma, np.zeros(size))
        self._learning = np.append(self._learning, np.zeros(size, np.bool_))
        self._anchor = np.append(self._anchor, np.zeros(size, np.bool_))


@dataclass(frozen=True)
class EvaluationRule:
    """How rating games are spread.

    Attributes:
      anchor_share: part of a learning player's games that are played against an anchor; of a frozen one's as
        far as the anchor is near.
      learner_share: part of the games that a learning player starts, however sure its rating: it moves.
      coverage_share: part of the games that go to a player and whomever it has met least.
      spread: distance in points within which opponents count as near.
    """

    anchor_share: float = 0.35
    learner_share: float = 0.6
    coverage_share: float = 0.15
    spread: float = 5.0

    def choose(
        self,
        pool: RatedPool,
        payoff: PayoffMatrix,
        rng: np.random.Generator,
        may_meet: Callable[[str, str], bool] | None = None,
    ) -> tuple[str, str] | None:
        """Returns a pair to play, or None when there are not two players who may meet.

        Args:
          may_meet: whether two players can sit at one game; by default all can.
        """
        for _ in range(1 if may_meet is None else TRIES):
            pair = self._pair(pool, payoff, rng)
            if pair is None or may_meet is None or may_meet(*pair):
                return pair
        return None

    def one(self, pool: RatedPool, rng: np.random.Generator) -> str | None:
        """Returns somebody to play alone, in a game without opponents; None when there is nobody."""
        if not len(pool):
            return None
        pool.refresh()
        return pool.name(self._subject(pool, rng))

    def near(self, pool: RatedPool, subject: str, rng: np.random.Generator) -> str:
        """Returns somebody else of about a player's strength: to fill the seats of a game of many."""
        pool.refresh()
        return pool.name(self._near(pool, pool.place(subject), rng))

    def _pair(
        self, pool: RatedPool, payoff: PayoffMatrix, rng: np.random.Generator
    ) -> tuple[str, str] | None:
        if len(pool) < 2:
            return None
        pool.refresh()
        if rng.random() < self.coverage_share:
            return self._strangers(pool, payoff, rng)
        subject = self._subject(pool, rng)
        anchors = pool.anchors[pool.anchors != subject]
        if len(anchors) and rng.random() < self.anchor_share:
            anchor = int(anchors[rng.integers(len(anchors))])
            gap = (pool.mu[anchor] - pool.mu[subject]) / self.spread
            if pool.learning[subject] or rng.random() < math.exp(-0.5 * gap**2) + FLOOR:
                return pool.name(subject), pool.name(anchor)
        return pool.name(subject), pool.name(self._near(pool, subject, rng))

    def _subject(self, pool: RatedPool, rng: np.random.Generator) -> int:
        if len(pool.learners) and rng.random() < self.learner_share:
            return int(pool.learners[rng.integers(len(pool.learners))])
        return _place(pool.uncertainty, rng.random())

    def _strangers(self, pool: RatedPool, payoff: PayoffMatrix, rng: np.random.Generator) -> tuple[str, str]:
        size = len(pool)
        order = rng.permutation(size) if size <= NEIGHBOURS else rng.choice(size, NEIGHBOURS, replace=False)
        someone, *others = (pool.name(k) for k in order.tolist())
        return someone, min(others, key=lambda name: payoff.games(someone, name))

    def _near(self, pool: RatedPool, subject: int, rng: np.random.Generator) -> int:
        begin, end = 0, len(pool)
        if end > NEIGHBOURS:  # those around a strength drawn from the neighbourhood
            middle = int(np.searchsorted(pool.mu, pool.mu[subject] + self.spread * rng.standard_normal()))
            begin = min(max(0, middle - NEIGHBOURS // 2), end - NEIGHBOURS)
            end = begin + NEIGHBOURS
        gaps = (pool.mu[begin:end] - pool.mu[subject]) / self.spread
        # A floor under the nearness, so that no pair is ever left unplayed.
        nearness = np.exp(-0.5 * gaps**2) + FLOOR
        if begin <= subject < end:
            nearness[subject - begin] = 0.0
        return begin + _place(np.cumsum(nearness), rng.random())


def _place(cumulative: npt.NDArray[np.float64], uniform: float) -> int:
    """Returns the place that a uniform number falls on among cumulative weights."""
    place = int(np.searchsorted(cumulative, uniform * cumulative[-1], side="right"))
    return min(place, len(cumulative) - 1)
