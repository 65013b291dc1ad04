"""What native games of turns have in common: the batch's memory, illegal actions, the record of moves.

A game says how a batch is observed and advanced; both are compiled loops over the games.
"""

from __future__ import annotations

from abc import abstractmethod
from typing import Any, ClassVar

import numba
import numpy as np
import numpy.typing as npt

from envs.errors import GameError, IllegalActionError
from envs.native.copying import copy_state
from envs.spec import GameSpec
from envs.vector_game import Step, Turns, VectorGame

U64 = npt.NDArray[np.uint64]


@numba.njit(cache=True)
def draw(state: U64, e: int, n: int) -> int:
    """Returns a number in [0, n) from game e's own generator (SplitMix64; Steele, Lea & Flood 2014)."""
    state[e] += np.uint64(0x9E3779B97F4A7C15)
    z = state[e]
    z = (z ^ (z >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    z = (z ^ (z >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    z = z ^ (z >> np.uint64(31))
    return int(z % np.uint64(n))


class NativeTurns(VectorGame):
    """A batch of games in which one seat moves at a time.

    A subclass keeps its own state, writes `_obs`, `_legal` and `_seat` in `_observe`, plays in `_advance`,
    where it writes `_rewards` and `_ended`, keeps `_history` and `_ply` and resets what has ended.
    """

    # The arrays of a subclass that make a position, for `copy_games`; it offers `blank`, too, if it has any.
    position_arrays: ClassVar[tuple[str, ...]] = ()

    def __init__(
        self, spec: GameSpec, num_envs: int, seed: int | None, longest: int, *, forfeit_illegal: bool
    ) -> None:
        """Args: longest: actions in a record of moves, chance included.

        Raises:
          GameError: num_envs is below 1.
        """
        if num_envs < 1:
            raise GameError(f"{spec.game_id} needs num_envs ≥ 1, not {num_envs}")
        self.spec, self.num_envs, self._forfeit = spec, num_envs, forfeit_illegal
        seats = spec.num_seats
        self._random = np.random.SeedSequence(seed).generate_state(num_envs, np.uint64)
        self._history = np.zeros((num_envs, longest), np.int32)
        self._ply = np.zeros(num_envs, np.int32)
        self._rewards = np.zeros((num_envs, seats), np.float32)
        self._ended = np.zeros(num_envs, np.bool_)
        self._truncated = np.zeros(num_envs, np.bool_)
        self._obs = np.zeros((num_envs, *spec.observation_shape), spec.observation_dtype)
        self._legal = np.zeros((num_envs, spec.num_actions), np.bool_)
        self._env = np.arange(num_envs, dtype=np.int32)
        self._seat = np.zeros(num_envs, np.int32)

    def turns(self) -> Turns:
        self._observe()
        return Turns(self._env, self._seat, self._obs, self._legal)

    def step(self, actions: npt.NDArray[np.integer[Any]]) -> Step:
        chosen = actions.astype(np.int64, copy=False)
        self._observe()
        in_range = (chosen >= 0) & (chosen < self._legal.shape[1])
        allowed = in_range & self._legal[self._env, np.where(in_range, chosen, 0)]
        if not self._forfeit and not allowed.all():
            bad = int(np.flatnonzero(~allowed)[0])
            legal = np.flatnonzero(self._legal[bad]).tolist()
            raise IllegalActionError(self.spec.game_id, bad, int(self._seat[bad]), int(chosen[bad]), legal)
        self._advance(chosen, allowed)
        # The only rewards come with the end, so an ended game's return is its last reward.
        return Step(self._rewards, self._ended, self._truncated, self._rewards)

    def copy_games(
        self,
        source: VectorGame,
        origins: npt.NDArray[np.integer[Any]],
        targets: npt.NDArray[np.integer[Any]],
    ) -> None:
        copy_state(self, source, (*self.position_arrays, "_ply", "_history", "_random"), origins, targets)

    def histories(self, envs: npt.NDArray[np.integer[Any]]) -> list[list[int]]:
        return [self._history[e, : self._ply[e]].tolist() for e in envs]

    @abstractmethod
    def _observe(self) -> None:
        """Writes what the seats to move see and may do. Called again before a move it changes nothing."""

    @abstractmethod
    def _advance(self, actions: npt.NDArray[np.int64], allowed: npt.NDArray[np.bool_]) -> None:
        """Plays a move in every game; whose move is not allowed loses the game by as much as can be lost."""
