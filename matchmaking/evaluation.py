"""Which games to play for the ratings' sake.

A rating is worth most where it is least sure, and a game tells most between equals: the player with
the widest uncertainty is met by an opponent near it, or, in a share of cases, by an anchor, so that
all ratings hang on the same fixed points. A further share goes to pairs that have hardly met: the game
between the players (equilibria, cycles) is only known as far as it has been played.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from matchmaking.payoff import PayoffMatrix

# Of a larger pool only so many are weighed for one match; drawing costs the same with ten thousand players.
NEIGHBOURS = 64


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
        self._players: dict[str, RatedPlayer] = {}
        self._stale = True
        for player in players:
            self.put(player)

    def put(self, player: RatedPlayer) -> None:
        """Adds a player or replaces what is known of it."""
        self._stale = True
        self._players[player.name] = player

    def remove(self, name: str) -> None:
        """Takes a player out, if it is there."""
        self._stale = True
        self._players.pop(name, None)

    def refresh(self) -> None:
        """Puts everything in order that `EvaluationRule.choose` draws from."""
        if not self._stale:
            return
        players = list(self._players.values())
        mu = np.array([p.mu for p in players])
        order = np.argsort(mu, kind="stable")
        players = [players[k] for k in order.tolist()]
        self.names = [p.name for p in players]
        self.mu: npt.NDArray[np.float64] = mu[order]
        anchors = np.array([p.anchor for p in players], np.bool_)
        subjects = ~anchors if not anchors.all() else anchors
        learning = np.array([p.learning for p in players], np.bool_)
        self.anchors = np.flatnonzero(anchors)
        self.learners = np.flatnonzero(subjects & learning)
        variance = np.where(subjects, np.array([p.sigma for p in players]) ** 2, 0.0)
        if variance.sum() <= 0.0:  # everybody is known exactly
            variance = subjects.astype(np.float64)
        self.uncertainty = np.cumsum(variance)
        self._stale = False

    def __len__(self) -> int:
        return len(self._players)


@dataclass(frozen=True)
class EvaluationRule:
    """How rating games are spread.

    Attributes:
      anchor_share: part of the games that are played against an anchor.
      learner_share: part of the games that a learning player starts, however sure its rating: it moves.
      coverage_share: part of the games that go to a player and whomever it has met least.
      spread: distance in points within which opponents count as near.
    """

    anchor_share: float = 0.35
    learner_share: float = 0.6
    coverage_share: float = 0.15
    spread: float = 5.0

    def choose(
        self, pool: RatedPool, payoff: PayoffMatrix, rng: np.random.Generator
    ) -> tuple[str, str] | None:
        """Returns a pair to play, or None when there are not two players."""
        if len(pool) < 2:
            return None
        pool.refresh()
        if rng.random() < self.coverage_share:
            return self._strangers(pool, payoff, rng)
        if len(pool.learners) and rng.random() < self.learner_share:
            subject = int(pool.learners[rng.integers(len(pool.learners))])
        else:
            subject = _place(pool.uncertainty, rng.random())
        anchors = pool.anchors[pool.anchors != subject]
        if len(anchors) and rng.random() < self.anchor_share:
            return pool.names[subject], pool.names[anchors[rng.integers(len(anchors))]]
        return pool.names[subject], pool.names[self._near(pool, subject, rng)]

    def _strangers(self, pool: RatedPool, payoff: PayoffMatrix, rng: np.random.Generator) -> tuple[str, str]:
        size = len(pool)
        order = rng.permutation(size) if size <= NEIGHBOURS else rng.choice(size, NEIGHBOURS, replace=False)
        someone, *others = (pool.names[k] for k in order.tolist())
        return someone, min(others, key=lambda name: payoff.games(someone, name))

    def _near(self, pool: RatedPool, subject: int, rng: np.random.Generator) -> int:
        begin, end = 0, len(pool)
        if end > NEIGHBOURS:  # those around a strength drawn from the neighbourhood
            middle = int(np.searchsorted(pool.mu, pool.mu[subject] + self.spread * rng.standard_normal()))
            begin = min(max(0, middle - NEIGHBOURS // 2), end - NEIGHBOURS)
            end = begin + NEIGHBOURS
        gaps = (pool.mu[begin:end] - pool.mu[subject]) / self.spread
        # A floor under the nearness, so that no pair is ever left unplayed.
        nearness = np.exp(-0.5 * gaps**2) + 0.02
        if begin <= subject < end:
            nearness[subject - begin] = 0.0
        return begin + _place(np.cumsum(nearness), rng.random())


def _place(cumulative: npt.NDArray[np.float64], uniform: float) -> int:
    """Returns the place that a uniform number falls on among cumulative weights."""
    place = int(np.searchsorted(cumulative, uniform * cumulative[-1], side="right"))
    return min(place, len(cumulative) - 1)
