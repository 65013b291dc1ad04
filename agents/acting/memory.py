"""What recurrent networks remember of the games of a batch, a row of numbers a seat."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from envs.vector_game import Turns

Floats = npt.NDArray[np.float32]


class SeatMemory:
    """The memories of N games' seats; zeros where an episode has just begun, or nobody remembers anything.

    Attributes:
      before: what each row of the present turns remembered before it decided, [R, `learnt`].
      learnt: numbers that learners get with what they learn from.
    """

    def __init__(self, num_envs: int, seats: int, rows: int, learnt: int) -> None:
        self.learnt = learnt
        self.before: Floats = np.zeros((rows, learnt), np.float32)
        self._now: Floats = np.zeros((num_envs, seats, learnt), np.float32)

    def make_room(self, size: int) -> None:
        """Lets networks that remember so many numbers play."""
        more = size - self._now.shape[2]
        if more > 0:
            self._now = np.pad(self._now, ((0, 0), (0, 0), (0, more)))

    def learn_from(self, size: int) -> None:
        """Lets a network learn that remembers so many numbers."""
        self.make_room(size)
        if size > self.learnt:
            self.before = np.zeros((len(self.before), size), np.float32)
            self.learnt = size

    def take(self, size: int, rows: npt.NDArray[np.int32], turns: Turns, count: int) -> Floats:
        """Returns what the seats of some rows remember, filled up with zeros to a number of rows."""
        out = np.zeros((count, size), np.float32)
        result = self._now[turns.env[rows], turns.seat[rows], :size]
        out[: len(rows)] = result
        learnt = min(size, self.learnt)
        self.before[rows, :learnt] = result[:, :learnt]
        self.before[rows, learnt:] = 0.0
        return out

    def put(self, memory: Floats, rows: npt.NDArray[np.int32], turns: Turns) -> None:
        """Remembers for the seats of these rows, [at least R, M]."""
        self._now[turns.env[rows], turns.seat[rows], : memory.shape[1]] = memory[: len(rows)]

    def forget(self, ended: npt.NDArray[np.bool_]) -> None:
        """Begins anew in the games that ended, bool [N]; the turns are over."""
        if self._now.shape[2]:
            self._now[ended] = 0.0
        if self.learnt:
            self.before[:] = 0.0
