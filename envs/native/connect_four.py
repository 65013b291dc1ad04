"""Connect Four, thousands of games at once.

Each side's stones are one integer: column c, row r is bit 7c + r (row 6 stays empty, so that lines
never wrap around an edge; the layout of J. Tromp's solver). Four in a line along a direction d is
b & b>>d & b>>2d & b>>3d ≠ 0 for d = 1 (vertical), 7 (horizontal), 6 and 8 (diagonals).
The planes that players see are kept up to date stone by stone, never rebuilt.
"""

from __future__ import annotations

from typing import Any

import numba
import numpy as np
import numpy.typing as npt
from gymnasium import spaces

from envs.errors import GameError, IllegalActionError
from envs.native.copying import copy_state
from envs.spec import GameSpec, SeatSpec
from envs.vector_game import Step, Turns, VectorGame

ROWS, COLUMNS, CELLS = 6, 7, 42


@numba.njit(cache=True)
def _four_in_line(stones: int) -> bool:
    for d in (1, 6, 7, 8):
        pairs = stones & (stones >> d)
        if pairs & (pairs >> (2 * d)):
            return True
    return False


@numba.njit(cache=True)
def _observe(
    planes: npt.NDArray[np.uint8],
    heights: npt.NDArray[np.int8],
    to_move: npt.NDArray[np.int32],
    obs: npt.NDArray[np.uint8],
    legal: npt.NDArray[np.bool_],
) -> None:
    """Writes obs [N, 2, 42] (the mover's stones first) and legal [N, 7]."""
    for e in range(planes.shape[0]):
        me = to_move[e]
        for cell in range(CELLS):
            obs[e, 0, cell] = planes[e, me, cell]
            obs[e, 1, cell] = planes[e, 1 - me, cell]
        for column in range(COLUMNS):
            legal[e, column] = heights[e, column] < ROWS


@numba.njit(cache=True)
def _first_illegal(heights: npt.NDArray[np.int8], actions: npt.NDArray[np.int64]) -> int:
    for e in range(heights.shape[0]):
        a = actions[e]
        if a < 0 or a >= COLUMNS or heights[e, a] >= ROWS:
            return e
    return -1


@numba.njit(cache=True)
def _step(
    actions: npt.NDArray[np.int64],
    stones: npt.NDArray[np.int64],
    planes: npt.NDArray[np.uint8],
    heights: npt.NDArray[np.int8],
    ply: npt.NDArray[np.int32],
    to_move: npt.NDArray[np.int32],
    history: npt.NDArray[np.int8],
    rewards: npt.NDArray[np.float32],
    ended: npt.NDArray[np.bool_],
) -> None:
    for e in range(stones.shape[0]):
        a = actions[e]
        me = to_move[e]
        rewards[e, 0] = 0.0
        rewards[e, 1] = 0.0
        over = False
        if a < 0 or a >= COLUMNS or heights[e, a] >= ROWS:  # forfeit: checked before, unless asked for
            rewards[e, me] = -1.0
            rewards[e, 1 - me] = 1.0
            over = True
        else:
            row = heights[e, a]
            mine = stones[e, me] | (np.int64(1) << (7 * a + row))
            stones[e, me] = mine
            planes[e, me, row * COLUMNS + a] = 1
            heights[e, a] = row + 1
            history[e, ply[e]] = a
            ply[e] += 1
            if _four_in_line(mine):
                rewards[e, me] = 1.0
                rewards[e, 1 - me] = -1.0
                over = True
            elif ply[e] == CELLS:
                over = True
        ended[e] = over
        if over:
            stones[e, 0] = 0
            stones[e, 1] = 0
            heights[e, :] = 0
            planes[e, :, :] = 0
            ply[e] = 0
            to_move[e] = 0
        else:
            to_move[e] = 1 - me


class ConnectFour(VectorGame):
    """Six rows, seven columns, four in a line. Actions are columns, numbered as OpenSpiel numbers them.

    Observations are uint8 [2, 6, 7]: the mover's stones, then the opponent's; row 0 is the bottom.
    """

    def __init__(self, num_envs: int, seed: int | None = None, *, forfeit_illegal: bool = False) -> None:
        """Args: num_envs: games. seed: unused, there is no chance. forfeit_illegal: see `step`."""
        if num_envs < 1:
            raise GameError(f"native:connect_four needs num_envs ≥ 1, not {num_envs}")
        box = spaces.Box(0, 1, (2, ROWS, COLUMNS), np.uint8)
        seats = tuple(SeatSpec(f"seat_{i}", box, spaces.Discrete(COLUMNS), team=i) for i in range(2))
        self.spec = GameSpec(
            "native:connect_four", seats, True, CELLS, (-1.0, 1.0), True, "win_draw_loss", "connect_four"
        )
        self.num_envs = num_envs
        self._forfeit = forfeit_illegal
        self._stones = np.zeros((num_envs, 2), np.int64)
        self._planes = np.zeros((num_envs, 2, CELLS), np.uint8)
        self._heights = np.zeros((num_envs, COLUMNS), np.int8)
        self._ply = np.zeros(num_envs, np.int32)
        self._to_move = np.zeros(num_envs, np.int32)
        self._history = np.zeros((num_envs, CELLS), np.int8)
        self._rewards = np.zeros((num_envs, 2), np.float32)
        self._ended = np.zeros(num_envs, np.bool_)
        self._truncated = np.zeros(num_envs, np.bool_)
        self._obs = np.zeros((num_envs, 2, CELLS), np.uint8)
        self._legal = np.zeros((num_envs, COLUMNS), np.bool_)
        self._env = np.arange(num_envs, dtype=np.int32)
        self._seat = np.zeros(num_envs, np.int32)

    def turns(self) -> Turns:
        _observe(self._planes, self._heights, self._to_move, self._obs, self._legal)
        self._seat[:] = self._to_move
        shaped = self._obs.reshape(self.num_envs, 2, ROWS, COLUMNS)
        return Turns(self._env, self._seat, shaped, self._legal)

    def step(self, actions: npt.NDArray[np.integer[Any]]) -> Step:
        chosen = actions.astype(np.int64, copy=False)
        if not self._forfeit and (bad := _first_illegal(self._heights, chosen)) >= 0:
            legal = np.flatnonzero(self._heights[bad] < ROWS).tolist()
            raise IllegalActionError(self.spec.game_id, bad, int(self._to_move[bad]), int(chosen[bad]), legal)
        _step(
            chosen,
            self._stones,
            self._planes,
            self._heights,
            self._ply,
            self._to_move,
            self._history,
            self._rewards,
            self._ended,
        )
        # The only rewards come with the end, so an ended game's return is its last reward.
        return Step(self._rewards, self._ended, self._truncated, self._rewards)

    def blank(self, num_envs: int) -> ConnectFour:
        return ConnectFour(num_envs, forfeit_illegal=self._forfeit)

    def copy_games(
        self,
        source: VectorGame,
        origins: npt.NDArray[np.integer[Any]],
        targets: npt.NDArray[np.integer[Any]],
    ) -> None:
        copy_state(
            self, source, ("_stones", "_planes", "_heights", "_ply", "_to_move", "_history"), origins, targets
        )

    def histories(self, envs: npt.NDArray[np.integer[Any]]) -> list[list[int]]:
        return [self._history[e, : self._ply[e]].tolist() for e in envs]
