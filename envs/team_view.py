"""A game in which everybody is also shown what its teammates see, for critics to learn from."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import numpy.typing as npt
from gymnasium import spaces

from envs.spec import GameSpec
from envs.vector_game import Step, Turns, VectorGame


def team_size(spec: GameSpec) -> int:
    """Returns how many seats the largest team has."""
    return max(len(side) for side in spec.sides)


class TeamView(VectorGame):
    """The same games; an observation is the seat's own, flat, then those of its teammates in their order.

    A teammate who has nothing to decide now is shown as it last saw things in this episode, zeros before.
    """

    def __init__(self, game: VectorGame) -> None:
        self._game = game
        spec, self.num_envs = game.spec, game.num_envs
        size, mates = spec.observation_size, team_size(spec) - 1
        is_bytes = spec.observation_dtype == np.uint8
        low, high = (0.0, 255.0) if is_bytes else (-np.inf, np.inf)
        dtype: Any = np.uint8 if is_bytes else np.float32
        wide = spaces.Box(low, high, (size * (mates + 1),), dtype=dtype)
        self.spec = replace(spec, seats=tuple(replace(s, observation_space=wide) for s in spec.seats))
        # The last column is of seats that are none.
        self._observed = np.zeros((game.num_envs, spec.num_seats + 1, size), wide.dtype)
        self._mates = np.full((spec.num_seats, mates), spec.num_seats, np.int64)
        for side in spec.sides:
            for seat in side:
                others = [s for s in side if s != seat]
                self._mates[seat, : len(others)] = others

    def turns(self) -> Turns:
        turns = self._game.turns()
        rows = len(turns.env)
        own = turns.obs.reshape(rows, -1)
        self._observed[turns.env, turns.seat] = own
        others = self._observed[turns.env[:, None], self._mates[turns.seat]].reshape(rows, -1)
        return replace(turns, obs=np.concatenate([own.astype(others.dtype, copy=False), others], axis=1))

    def step(self, actions: npt.NDArray[np.integer[Any]]) -> Step:
        step = self._game.step(actions)
        self._observed[step.ended] = 0
        return step

    def histories(self, envs: npt.NDArray[np.integer[Any]]) -> list[list[int]]:
        return self._game.histories(envs)

    def take_errors(self) -> list[str]:
        return self._game.take_errors()

    def close(self) -> None:
        self._game.close()
