"""Who sits where: series of games dealt out to the games of a batch.

A series is a queue of seatings, its players' sides rotated so that each plays every side equally, where they
can. A game that ends takes the next seating in the queue; when all of a series' games have ended, its outcome
is out.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from itertools import combinations
from typing import Any

import numpy as np
import numpy.typing as npt

Ints = npt.NDArray[np.int64]
Floats = npt.NDArray[np.float64]


@dataclass(frozen=True)
class Series:
    """These players for N episodes, one for each side of the game (the seats of a team).

    Attributes:
      number: unique in its run.
      players: by name; they change sides from episode to episode.
      generations: each player's resets so far.
      learners: who of them learns from it.
      episodes: to be played.
      purpose: `training` or `evaluation`.
      branch: the rule that chose the opponents.
      sides: the side of each player in the first episode; empty: in their order.
      rotates: whether they change sides; False where somebody can play one only.
    """

    number: int
    players: tuple[str, ...]
    generations: tuple[int, ...]
    learners: tuple[bool, ...]
    episodes: int
    purpose: str
    branch: str
    sides: tuple[int, ...] = ()
    rotates: bool = True

    @property
    def pairs(self) -> list[tuple[int, int]]:
        """The pairs of players, by their place in `players`, in the order of a result's counts."""
        return list(combinations(range(len(self.players)), 2))


@dataclass(frozen=True)
class PairOutcome:
    """What one player of a series got against another; see `SeriesResult`."""

    first: int
    second: int
    counts: Ints
    margin: float

    @property
    def wins(self) -> int:
        return int(self.counts[:, 0].sum())

    @property
    def draws(self) -> int:
        return int(self.counts[:, 1].sum())

    @property
    def losses(self) -> int:
        return int(self.counts[:, 2].sum())


@dataclass(frozen=True)
class SeriesResult:
    """What came of a series.

    Attributes:
      counts: of each pair, from its first player's side, [P, 2, 3]: won, drawn, lost while it sat on an
        earlier side than the second (row 0) and on a later one (row 1).
      margins: what the first got more than the second, halved and summed over the episodes, [P].
      scores: what each player's side got, summed over the episodes, [K]; squares: of the same, squared.
      moves: decisions of all seats. episodes: played to their end.
      aborted: episodes that broke down and are counted nowhere else.
    """

    series: Series
    counts: Ints = field(compare=False)
    margins: Floats = field(compare=False)
    moves: int
    scores: Floats = field(default_factory=lambda: np.zeros(0), compare=False)
    squares: Floats = field(default_factory=lambda: np.zeros(0), compare=False)
    episodes: int = 0
    aborted: int = 0

    @staticmethod
    def of_two(series: Series, counts: npt.ArrayLike, margin: float, moves: int) -> SeriesResult:
        """Makes the result of a series between two. Args: counts: [2, 3]."""
        table = np.asarray(counts, np.int64)
        return SeriesResult(series, table[None], np.array([margin]), moves, episodes=int(table.sum()))

    @staticmethod
    def unplayed(series: Series) -> SeriesResult:
        """Makes the result of a series of which nothing could be played."""
        pairs, players = len(series.pairs), len(series.players)
        nothing = np.zeros(players)
        return SeriesResult(series, np.zeros((pairs, 2, 3), np.int64), np.zeros(pairs), 0, nothing, nothing)

    def pairs(self) -> Iterator[PairOutcome]:
        """Yields what each pair of the players came to."""
        for (i, j), counts, margin in zip(self.series.pairs, self.counts, self.margins, strict=True):
            yield PairOutcome(i, j, counts, float(margin))


class Seating:
    """Deals the seats of `num_envs` games.

    Attributes:
      policy_of: which policy decides for a seat, int32 [N, S].
      owner_of: which learning player learns from it, int32 [N, S], -1: nobody.
    """

    def __init__(self, num_envs: int, side_of_seat: Sequence[int] = (0, 1)) -> None:
        """Args: side_of_seat: the side of each of the S seats; sides are numbered from 0."""
        self._side_of_seat = np.array(side_of_seat, np.int64)
        self._sides = k = int(self._side_of_seat.max()) + 1
        self._seats_of_side = np.bincount(self._side_of_seat, minlength=k).astype(np.float64)
        self._pairs = np.array(list(combinations(range(k), 2)), np.int64).reshape(-1, 2)
        seats = len(self._side_of_seat)
        self.policy_of = np.zeros((num_envs, seats), np.int32)
        self.owner_of = np.full((num_envs, seats), -1, np.int32)
        self._series_of = np.full(num_envs, -1, np.int64)
        self._rotation_of = np.zeros(num_envs, np.int64)
        self._length = np.zeros(num_envs, np.int64)
        self._series: dict[int, Series] = {}
        capacity = 64
        self._policies = np.zeros((capacity, k), np.int32)
        self._owners = np.zeros((capacity, k), np.int32)
        self._first_side = np.zeros((capacity, k), np.int64)  # of each player at rotation 0
        self._at_side = np.zeros((capacity, k), np.int64)  # which player sits there at rotation 0
        self._open = np.zeros(capacity, np.int64)
        self._counts = np.zeros((capacity, len(self._pairs), 2, 3), np.int64)
        self._margins = np.zeros((capacity, len(self._pairs)))
        self._scores = np.zeros((capacity, k))
        self._squares = np.zeros((capacity, k))
        self._moves = np.zeros(capacity, np.int64)
        self._episodes = np.zeros(capacity, np.int64)
        self._aborted = np.zeros(capacity, np.int64)
        self._free = list(range(capacity))[::-1]
        self._queue_series = np.empty(0, np.int64)
        self._queue_rotation = np.empty(0, np.int64)
        self._last = -1
        self._idle: Ints = np.arange(num_envs)
        self._unreported: list[SeriesResult] = []

    @property
    def queued(self) -> int:
        """Episodes not yet started."""
        return len(self._queue_series)

    @property
    def active(self) -> list[Series]:
        """Series not yet finished."""
        return list(self._series.values())

    def add(self, series: Series, policies: Sequence[int], owners: Sequence[int]) -> None:
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
        sides = np.array(series.sides or range(self._sides))
        self._first_side[slot] = sides
        self._at_side[slot] = np.argsort(sides)
        self._open[slot] = series.episodes
        for table in self._tallies():
            table[slot] = 0
        self._queue(slot, series.episodes)
        previous, self._last = self._last, slot
        if previous in self._series and self._open[previous] == 0:
            self._close(previous)

    def fill(self) -> None:
        """Seats the games that have none; for the start, and after new series came."""
        if len(self._idle) and self._series:
            idle, self._idle = self._idle, np.empty(0, np.int64)
            self._deal(idle)

    def count_moves(self, env: npt.NDArray[np.int32]) -> None:
        """Notes one move in each named game; a game in which several seats move at once is named as often."""
        self._length += np.bincount(env, minlength=len(self._length))

    def finish(
        self,
        ended: npt.NDArray[np.bool_],
        returns: npt.NDArray[np.float32],
        aborted: npt.NDArray[np.bool_] | None = None,
    ) -> int:
        """Counts the games that ended and seats the next; returns how many ended.

        Args:
          ended: bool [N]. returns: [N, S]; of two sides the one whose seats got more on average won.
          aborted: those of the ended whose outcome means nothing, [N].
        """
        envs = np.flatnonzero(ended)
        if not len(envs):
            return 0
        whole = envs if aborted is None else envs[~aborted[envs]]
        self._count(whole, returns[whole])
        slots = self._series_of[envs]
        if len(whole) < len(envs) and aborted is not None:
            np.add.at(self._aborted, self._series_of[envs[aborted[envs]]], 1)
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

    def seated(self, env: int) -> tuple[int, tuple[str, ...]]:
        """Returns the number of a game's series and who plays it, by seat; (-1, ()) while it has none."""
        slot = int(self._series_of[env])
        if slot not in self._series:
            return -1, ()
        series = self._series[slot]
        places = self._at_side[slot, (self._side_of_seat - self._rotation_of[env]) % self._sides]
        return series.number, tuple(series.players[k] for k in places)

    def _count(self, envs: Ints, returns: npt.NDArray[np.float32]) -> None:
        slots, rotations = self._series_of[envs], self._rotation_of[envs]
        of_side = np.zeros((len(envs), self._sides))
        for seat, side in enumerate(self._side_of_seat.tolist()):
            of_side[:, side] += returns[:, seat]
        of_side /= self._seats_of_side
        side = (self._first_side[slots] + rotations[:, None]) % self._sides  # of each player, [M, K]
        got = np.take_along_axis(of_side, side, axis=1)
        np.add.at(self._episodes, slots, 1)
        np.add.at(self._scores, slots, got)
        np.add.at(self._squares, slots, got**2)
        for pair, (i, j) in enumerate(self._pairs.tolist()):
            margin = got[:, i] - got[:, j]
            row = (side[:, i] > side[:, j]).astype(np.int64)
            column = np.where(margin > 0, 0, np.where(margin < 0, 2, 1))
            np.add.at(self._counts[:, pair], (slots, row, column), 1)
            np.add.at(self._margins[:, pair], slots, 0.5 * margin)

    def _tallies(self) -> list[npt.NDArray[Any]]:
        return [
            self._counts,
            self._margins,
            self._scores,
            self._squares,
            self._moves,
            self._episodes,
            self._aborted,
        ]

    def _close(self, slot: int) -> None:
        if slot == self._last:  # kept, so that games can go on until new series come
            return
        self._unreported.append(
            SeriesResult(
                self._series.pop(slot),
                self._counts[slot].copy(),
                self._margins[slot].copy(),
                int(self._moves[slot]),
                self._scores[slot].copy(),
                self._squares[slot].copy(),
                int(self._episodes[slot]),
                int(self._aborted[slot]),
            )
        )
        self._free.append(slot)

    def _queue(self, slot: int, episodes: int) -> None:
        """Appends episodes, each with the rotation of its sides."""
        rotations = np.arange(episodes) % (self._sides if self._series[slot].rotates else 1)
        self._queue_series = np.concatenate([self._queue_series, np.full(episodes, slot, np.int64)])
        self._queue_rotation = np.concatenate([self._queue_rotation, rotations])

    def _deal(self, envs: Ints) -> None:
        missing = len(envs) - len(self._queue_series)
        if missing > 0:
            # The next series are late: the newest one plays on rather than the games standing still.
            if self._last not in self._series:
                self._idle = np.concatenate([self._idle, envs])
                return
            self._open[self._last] += missing
            self._queue(self._last, missing)
        k = len(envs)
        slots, rotations = self._queue_series[:k], self._queue_rotation[:k]
        self._queue_series, self._queue_rotation = self._queue_series[k:], self._queue_rotation[k:]
        self._series_of[envs], self._rotation_of[envs] = slots, rotations
        for seat, side in enumerate(self._side_of_seat.tolist()):
            player = self._at_side[slots, (side - rotations) % self._sides]
            self.policy_of[envs, seat] = self._policies[slots, player]
            self.owner_of[envs, seat] = self._owners[slots, player]

    def _grow(self) -> None:
        size = len(self._open)
        for name in (
            "policies", "owners", "first_side", "at_side", "open", "counts", "margins", "scores", "squares",
            "moves", "episodes", "aborted",
        ):  # fmt: skip
            table = getattr(self, f"_{name}")
            setattr(self, f"_{name}", np.concatenate([table, np.zeros_like(table)]))
        self._free += list(range(size, 2 * size))[::-1]
