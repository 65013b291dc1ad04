"""Breakthrough (D. Troyka 2000), thousands of games at once, move by move OpenSpiel's.

Two rows of pawns each. A pawn goes one step forward, straight or diagonally, onto an empty cell, and takes
diagonally. Whoever reaches the last row, or takes everything, wins; there are no draws.
Actions are ((row · C + column) · 6 + direction) · 2 + takes; directions 0–2 go down the board (the first
player's), 3–5 up.
"""

from __future__ import annotations

from typing import ClassVar

import numba
import numpy as np
import numpy.typing as npt
from gymnasium import spaces

from envs.errors import GameError
from envs.native.batch import NativeTurns
from envs.spec import GameSpec, SeatSpec

# Cells of the board hold 0: nobody, 1: the first player's pawn, 2: the second's.
Board = npt.NDArray[np.int8]


@numba.njit(cache=True)
def _setup(e: int, board: Board, pawns: npt.NDArray[np.int32], ply: npt.NDArray[np.int32]) -> None:
    rows, columns = board.shape[1], board.shape[2]
    board[e] = 0
    board[e, :2] = 1
    board[e, rows - 2 :] = 2
    pawns[e, :] = 2 * columns
    ply[e] = 0


@numba.njit(cache=True)
def _setup_all(board: Board, pawns: npt.NDArray[np.int32], ply: npt.NDArray[np.int32]) -> None:
    for e in range(board.shape[0]):
        _setup(e, board, pawns, ply)


@numba.njit(cache=True)
def _observe(
    board: Board,
    ply: npt.NDArray[np.int32],
    obs: npt.NDArray[np.uint8],
    legal: npt.NDArray[np.bool_],
    seat: npt.NDArray[np.int32],
) -> None:
    """Writes obs [N, 3, rows, columns]: my pawns, theirs, and ones where I go up the board."""
    games, rows, columns = board.shape
    for e in range(games):
        me = ply[e] % 2
        seat[e] = me
        legal[e, :] = False
        ahead = 1 if me == 0 else -1
        for r in range(rows):
            for c in range(columns):
                cell = board[e, r, c]
                obs[e, 0, r, c] = cell == me + 1
                obs[e, 1, r, c] = cell == 2 - me
                obs[e, 2, r, c] = me
                if cell != me + 1:
                    continue
                for step in range(3):
                    to = c + step - 1
                    if to < 0 or to >= columns:
                        continue
                    there = board[e, r + ahead, to]
                    takes = there == 2 - me
                    if there == me + 1 or (takes and step == 1):
                        continue
                    direction = step + 3 * me
                    legal[e, ((r * columns + c) * 6 + direction) * 2 + takes] = True


@numba.njit(cache=True)
def _advance(
    actions: npt.NDArray[np.int64],
    allowed: npt.NDArray[np.bool_],
    board: Board,
    pawns: npt.NDArray[np.int32],
    ply: npt.NDArray[np.int32],
    history: npt.NDArray[np.int32],
    rewards: npt.NDArray[np.float32],
    ended: npt.NDArray[np.bool_],
) -> None:
    games, rows, columns = board.shape
    for e in range(games):
        me = ply[e] % 2
        won, over = np.float32(0.0), False
        if not allowed[e]:
            won, over = np.float32(-1.0), True
        else:
            action = actions[e]
            direction = (action // 2) % 6
            r, c = action // 12 // columns, (action // 12) % columns
            to_row, to_column = r + (1 if me == 0 else -1), c + direction % 3 - 1
            if board[e, to_row, to_column] != 0:
                pawns[e, 1 - me] -= 1
            board[e, r, c] = 0
            board[e, to_row, to_column] = me + 1
            history[e, ply[e]] = action
            ply[e] += 1
            if to_row == (rows - 1 if me == 0 else 0) or pawns[e, 1 - me] == 0:
                won, over = np.float32(1.0), True
        rewards[e, me] = won
        rewards[e, 1 - me] = -won
        ended[e] = over
        if over:
            _setup(e, board, pawns, ply)


class Breakthrough(NativeTurns):
    """Observations are uint8 [3, rows, columns]: the mover's pawns, the opponent's, and which way it goes."""

    position_arrays: ClassVar[tuple[str, ...]] = ("_board", "_pawns")

    def __init__(
        self,
        num_envs: int,
        seed: int | None = None,
        rows: int = 8,
        columns: int = 8,
        *,
        forfeit_illegal: bool = False,
    ) -> None:
        """Args: num_envs: games. seed: unused, there is no chance. forfeit_illegal: see `step`.

        Raises:
          GameError: a board that OpenSpiel does not know.
        """
        if not (5 <= rows <= 16 and 2 <= columns <= 16):
            raise GameError(f"native:breakthrough needs 5–16 rows and 2–16 columns, not {rows} and {columns}")
        box = spaces.Box(0, 1, (3, rows, columns), np.uint8)
        space = spaces.Discrete(rows * columns * 12)
        # Every move brings a pawn a row on; each pawn has at most rows − 1 to go.
        longest = 4 * columns * (rows - 1)
        twin = f"breakthrough(rows={rows},columns={columns})"
        spec = GameSpec(
            "native:breakthrough" if (rows, columns) == (8, 8) else f"native:{twin}",
            tuple(SeatSpec(f"seat_{i}", box, space, team=i) for i in range(2)),
            True,
            longest,
            (-1.0, 1.0),
            True,
            "win_draw_loss",
            twin,
        )
        super().__init__(spec, num_envs, seed, longest, forfeit_illegal=forfeit_illegal)
        self._board = np.zeros((num_envs, rows, columns), np.int8)
        self._pawns = np.zeros((num_envs, 2), np.int32)
        _setup_all(self._board, self._pawns, self._ply)

    def blank(self, num_envs: int) -> Breakthrough:
        _, rows, columns = self.spec.observation_shape
        return Breakthrough(num_envs, None, rows, columns, forfeit_illegal=self._forfeit)

    def _observe(self) -> None:
        _observe(self._board, self._ply, self._obs, self._legal, self._seat)

    def _advance(self, actions: npt.NDArray[np.int64], allowed: npt.NDArray[np.bool_]) -> None:
        _advance(
            actions,
            allowed,
            self._board,
            self._pawns,
            self._ply,
            self._history,
            self._rewards,
            self._ended,
        )
