"""Tic-tac-toe, thousands of games at once. Actions are cells, row by row, as OpenSpiel numbers them."""

from __future__ import annotations

from typing import ClassVar

import numba
import numpy as np
import numpy.typing as npt
from gymnasium import spaces

from envs.native.batch import NativeTurns
from envs.spec import GameSpec, SeatSpec

# The eight lines as bits of the cells.
LINES = np.array([0b111, 0b111000, 0b111000000, 0b1001001, 0b10010010, 0b100100100, 0b100010001, 0b1010100])


@numba.njit(cache=True)
def _observe(
    stones: npt.NDArray[np.int64],
    ply: npt.NDArray[np.int32],
    obs: npt.NDArray[np.uint8],
    legal: npt.NDArray[np.bool_],
    seat: npt.NDArray[np.int32],
) -> None:
    """Writes obs [N, 2, 9], the mover's stones first, and legal [N, 9]."""
    for e in range(stones.shape[0]):
        me = ply[e] % 2
        seat[e] = me
        for cell in range(9):
            mine, theirs = (stones[e, me] >> cell) & 1, (stones[e, 1 - me] >> cell) & 1
            obs[e, 0, cell] = mine
            obs[e, 1, cell] = theirs
            legal[e, cell] = mine + theirs == 0


@numba.njit(cache=True)
def _advance(
    actions: npt.NDArray[np.int64],
    allowed: npt.NDArray[np.bool_],
    lines: npt.NDArray[np.int64],
    stones: npt.NDArray[np.int64],
    ply: npt.NDArray[np.int32],
    history: npt.NDArray[np.int32],
    rewards: npt.NDArray[np.float32],
    ended: npt.NDArray[np.bool_],
) -> None:
    for e in range(stones.shape[0]):
        me = ply[e] % 2
        won = np.float32(0.0)
        over = False
        if not allowed[e]:
            won, over = np.float32(-1.0), True
        else:
            stones[e, me] |= np.int64(1) << actions[e]
            history[e, ply[e]] = actions[e]
            ply[e] += 1
            over = ply[e] == 9
            for line in lines:
                if stones[e, me] & line == line:
                    won, over = np.float32(1.0), True
        rewards[e, me] = won
        rewards[e, 1 - me] = -won
        ended[e] = over
        if over:
            stones[e, :] = 0
            ply[e] = 0


class TicTacToe(NativeTurns):
    """Three in a row. Observations are uint8 [2, 3, 3]: the mover's stones, then the opponent's."""

    position_arrays: ClassVar[tuple[str, ...]] = ("_stones",)

    def __init__(self, num_envs: int, seed: int | None = None, *, forfeit_illegal: bool = False) -> None:
        """Args: num_envs: games. seed: unused, there is no chance. forfeit_illegal: see `step`."""
        box = spaces.Box(0, 1, (2, 3, 3), np.uint8)
        seats = tuple(SeatSpec(f"seat_{i}", box, spaces.Discrete(9), team=i) for i in range(2))
        spec = GameSpec(
            "native:tic_tac_toe", seats, True, 9, (-1.0, 1.0), True, "win_draw_loss", "tic_tac_toe"
        )
        super().__init__(spec, num_envs, seed, 9, forfeit_illegal=forfeit_illegal)
        self._stones = np.zeros((num_envs, 2), np.int64)

    def blank(self, num_envs: int) -> TicTacToe:
        return TicTacToe(num_envs, forfeit_illegal=self._forfeit)

    def _observe(self) -> None:
        flat = self._obs.reshape(self.num_envs, 2, 9)
        _observe(self._stones, self._ply, flat, self._legal, self._seat)

    def _advance(self, actions: npt.NDArray[np.int64], allowed: npt.NDArray[np.bool_]) -> None:
        _advance(actions, allowed, LINES, self._stones, self._ply, self._history, self._rewards, self._ended)
