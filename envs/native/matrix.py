"""Matrix games: both seats choose at once, the table says who gets what, and that is the episode.

`native:matrix(rps)` by name, or any table by its rows: `native:matrix(0,-1,2;1,0,-1;-2,1,0)` for a zero-sum
game (the row's payoffs), with `|` before the column's payoffs otherwise.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt
from gymnasium import spaces

from envs.errors import GameError, IllegalActionError, UnknownGameError
from envs.spec import GameSpec, SeatSpec
from envs.vector_game import Step, Turns, VectorGame

TABLES = {
    "rps": "0,-1,1;1,0,-1;-1,1,0",
    "biased_rps": "0,-1,2;1,0,-1;-2,1,0",  # equilibrium (1/4, 1/2, 1/4)
    "matching_pennies": "1,-1;-1,1",
    "prisoners_dilemma": "3,0;5,1|3,5;0,1",
}


def parse_tables(text: str) -> npt.NDArray[np.float32]:
    """Returns the payoffs [2, N, M] of the row's and the column's player.

    Raises:
      UnknownGameError: no known name, and not a table; says how to write one.
    """
    written = TABLES.get(text.strip(), text)
    try:
        tables = [
            [[float(number) for number in row.split(",")] for row in table.split(";")]
            for table in written.split("|")
        ]
        row = np.array(tables[0], np.float32)
        column = np.array(tables[1], np.float32) if len(tables) == 2 else -row
        fits = len(tables) <= 2 and row.shape == column.shape and bool(np.isfinite([row, column]).all())
    except ValueError:
        fits = False
    if not fits or row.shape[0] != row.shape[1]:
        raise UnknownGameError(
            f"native:matrix({text}): expected a name ({', '.join(TABLES)}) or a square table such as "
            "0,-1;1,0 (rows apart by ;, the column's payoffs after | if the game is not zero-sum)"
        )
    return np.stack([row, column])


class MatrixGame(VectorGame):
    """One simultaneous decision an episode. Observations are uint8 [1], always one."""

    def __init__(
        self, tables: str, num_envs: int, seed: int | None = None, *, forfeit_illegal: bool = False
    ) -> None:
        """Args: tables: as in the id. num_envs: games. seed: unused. forfeit_illegal: see `step`.

        Raises:
          UnknownGameError: not a table.
        """
        if num_envs < 1:
            raise GameError(f"native:matrix needs num_envs ≥ 1, not {num_envs}")
        self._payoffs = parse_tables(tables)
        actions = self._payoffs.shape[1]
        box = spaces.Box(0, 1, (1,), np.uint8)
        seats = tuple(SeatSpec(f"seat_{i}", box, spaces.Discrete(actions), team=i) for i in range(2))
        zero_sum = bool(np.allclose(self._payoffs[0], -self._payoffs[1]))
        sizes = np.unique(np.abs(self._payoffs[self._payoffs != 0]))
        low, high = float(self._payoffs.min()), float(self._payoffs.max())
        self.spec = GameSpec(
            f"native:matrix({tables})",
            seats,
            False,
            2,
            (low, high),
            zero_sum,
            "win_draw_loss" if zero_sum and len(sizes) <= 1 else "score",
        )
        self.num_envs = num_envs
        self._forfeit = forfeit_illegal
        self._env = np.repeat(np.arange(num_envs, dtype=np.int32), 2)
        self._seat = np.tile(np.arange(2, dtype=np.int32), num_envs)
        self._obs = np.ones((2 * num_envs, 1), np.uint8)
        self._legal = np.ones((2 * num_envs, actions), np.bool_)
        self._ended = np.ones(num_envs, np.bool_)
        self._truncated = np.zeros(num_envs, np.bool_)
        self._rewards = np.zeros((num_envs, 2), np.float32)

    def turns(self) -> Turns:
        return Turns(self._env, self._seat, self._obs, self._legal)

    def step(self, actions: npt.NDArray[np.integer[Any]]) -> Step:
        count = self._payoffs.shape[1]
        wrong = (actions < 0) | (actions >= count)
        if wrong.any():
            if not self._forfeit:
                row = int(np.flatnonzero(wrong)[0])
                raise IllegalActionError(
                    self.spec.game_id, row // 2, row % 2, int(actions[row]), list(range(count))
                )
            actions = np.where(wrong, 0, actions)
        chosen = actions.reshape(self.num_envs, 2)
        for seat in range(2):
            self._rewards[:, seat] = self._payoffs[seat, chosen[:, 0], chosen[:, 1]]
        if wrong.any():  # the worst for whoever chose no row or column at all
            self._rewards[wrong.reshape(self.num_envs, 2)] = self._payoffs.min()
        return Step(self._rewards, self._ended, self._truncated, self._rewards)

    def histories(self, envs: npt.NDArray[np.integer[Any]]) -> list[list[int]]:
        return [[] for _ in envs]
