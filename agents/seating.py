"""Who sits where: series of games dealt out to the games of a batch.

A series is a queue of seatings, its players' seats rotated so that each plays every seat equally. A game
that ends takes the next seating in the queue; when all of a series' games have ended, its outcome is out.
"""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np
import numpy.typing as npt


@dataclass(frozen=True)
class Series:
    """These players for N episodes.

    Attributes:
      number: unique in its run.
      players: first and second, by name; they change seats from episode to episode.
      generations: each player's resets so far.
      learners: which of the two learn from it.
      episodes: to be played.
      purpose: `training` or `evaluation`.
      branch: the rule that chose the opponent.
    """

    number: int
    players: tuple[str, str]
    generations: tuple[int, int]
    learners: tuple[bool, bool]
    episodes: int
    purpose: str
    branch: str


@dataclass(frozen=True)
class SeriesResult:
    """What came of a series, from its first player's side.

    `counts` is int64 [2, 3]: won, drawn, lost with the first player in seat 0 (row 0) and in seat 1 (row 1).
    `margin` is what it got more than the second, halved and summed over the episodes.
    """

    series: Series
    counts: npt.NDArray[np.int64] = field(compare=False)
    margin: float
    moves: int

    @property
    def wins(self) -> int:
        return int(self.counts[:, 0].sum())

    @property
    def draws(self) -> int:
        return int(self.counts[:, 1].sum())

    @property
    def losses(self) -> int:
        return int(self.counts[:, 2].sum())


class Seating:
    """Deals the seats of `num_envs` two-seat games.

    Attributes:
      policy_of: which policy decides for a seat, int32 [N, 2].
      owner_of: which learning player learns from it, int32 [N, 2], -1: nobody.
    """

    def __init__(self, num_envs: int) -> None:
        self.policy_of = np.zeros((num_envs, 2), np.int32)
        self.owner_of = np.full((num_envs, 2), -1, np.int32)
        self._series_of = np.full(num_envs, -1, np.int64)
        self._rotation_of = np.zeros(num_envs, np.int64)
        self._length = np.zeros(num_envs, np.int64)
        self._series: dict[int, Series] = {}
        capacity = 64
        self._policies = np.zeros((capacity, 2), np.int32)
        self._owners = np.zeros((capacity, 2), np.int32)
        self._open = np.zeros(capacity, np.int64)
        self._counts = np.zeros((capacity, 2, 3), np.int64)
        self._margins = np.zeros(capacity)
        self._moves = np.zeros(capacity, np.int64)
        self._free = list(range(capacity))[::-1]
        self._queue_series = np.empty(0, np.int64)
        self._queue_rotation = np.empty(0, np.int64)
        self._last = -1
        self._idle: npt.NDArray[np.int64] = np.arange(num_envs)
        self._unreported: list[SeriesResult] = []

    @property
    def queued(self) -> int:
        """Episodes not yet started."""
        return len(self._queue_series)

    @property
    def active(self) -> list[Series]:
        """Series not yet finished."""
        return list(self._series.values())

    def add(self, series: Series, policies: tuple[int, int], owners: tuple[int, int]) -> None:
        """Queues a series.

        Args:
          policies: the players' policies, as `policy_of` shall show them.
          owners: who learns, -1: nobody.
        """
        if not self._free:
            self._grow()
        slot = self._free.pop()
        self._series[slot] = series
        self._policies[slot], self._owners[slot] = policies, owners
        self._open[slot] = series.episodes
        self._counts[slot] = 0
        self._margins[slot] = 0.0
        self._moves[slot] = 0
        self._queue_series = np.concatenate([self._queue_series, np.full(series.episodes, slot, np.int64)])
        self._queue_rotation = np.concatenate([self._queue_rotation, np.arange(series.episodes) % 2])
        previous, self._last = self._last, slot
        if previous in self._series and self._open[previous] == 0:
            self._close(previous)

    def fill(self) -> None:
        """Seats the games that have none; for the start, and after new series came."""
        if len(self._idle) and self._series:
            idle, self._idle = self._idle, np.empty(0, np.int64)
            self._deal(idle)

    def count_moves(self, env: npt.NDArray[np.int32]) -> None:
        """Notes one move in each named game; a game in which both seats move at once is named twice."""
        self._length += np.bincount(env, minlength=len(self._length))

    def finish(self, ended: npt.NDArray[np.bool_], returns: npt.NDArray[np.float32]) -> int:
        """Counts the games that ended and seats the next; returns how many ended.

        Args:
          ended: bool [N]. returns: [N, 2]; the higher one won.
        """
        envs = np.flatnonzero(ended)
        if not len(envs):
            return 0
        slots, rotations = self._series_of[envs], self._rotation_of[envs]
        # Rotation 1 seats the first player second.
        margin = (returns[envs, 0] - returns[envs, 1]) * np.where(rotations == 0, 1.0, -1.0)
        column = np.where(margin > 0, 0, np.where(margin < 0, 2, 1))
        np.add.at(self._counts, (slots, rotations, column), 1)
        np.add.at(self._margins, slots, 0.5 * margin)
        np.add.at(self._moves, slots, self._length[envs])
        self._length[envs] = 0
        np.subtract.at(self._open, slots, 1)
        for slot in np.unique(slots):
            if self._open[slot] == 0:
                self._close(int(slot))
        self._deal(envs)
        return len(envs)

    def take_results(self) -> list[SeriesResult]:
        """Returns the series finished since the last call."""
        results, self._unreported = self._unreported, []
        return results

    def _close(self, slot: int) -> None:
        if slot == self._last:  # kept, so that games can go on until new series come
            return
        series = self._series.pop(slot)
        counts, margin = self._counts[slot].copy(), float(self._margins[slot])
        self._unreported.append(SeriesResult(series, counts, margin, int(self._moves[slot])))
        self._free.append(slot)

    def _deal(self, envs: npt.NDArray[np.int64]) -> None:
        missing = len(envs) - len(self._queue_series)
        if missing > 0:
            # The next series are late: the newest one plays on rather than the games standing still.
            if self._last not in self._series:
                self._idle = np.concatenate([self._idle, envs])
                return
            self._open[self._last] += missing
            self._queue_series = np.concatenate([self._queue_series, np.full(missing, self._last, np.int64)])
            self._queue_rotation = np.concatenate([self._queue_rotation, np.arange(missing) % 2])
        k = len(envs)
        slots, rotations = self._queue_series[:k], self._queue_rotation[:k]
        self._queue_series, self._queue_rotation = self._queue_series[k:], self._queue_rotation[k:]
        self._series_of[envs], self._rotation_of[envs] = slots, rotations
        for seat in range(2):
            player = (seat + rotations) % 2
            self.policy_of[envs, seat] = self._policies[slots, player]
            self.owner_of[envs, seat] = self._owners[slots, player]

    def _grow(self) -> None:
        size = len(self._open)
        self._policies = np.concatenate([self._policies, np.zeros_like(self._policies)])
        self._owners = np.concatenate([self._owners, np.zeros_like(self._owners)])
        self._open = np.concatenate([self._open, np.zeros_like(self._open)])
        self._counts = np.concatenate([self._counts, np.zeros_like(self._counts)])
        self._margins = np.concatenate([self._margins, np.zeros_like(self._margins)])
        self._moves = np.concatenate([self._moves, np.zeros_like(self._moves)])
        self._free += list(range(size, 2 * size))[::-1]
