"""The game contract: a batch of independent games, driven by arrays.

`turns()` says who has to decide, `step(actions)` plays those decisions. That is all a league needs
to know of turn order, simultaneous moves, chance (resolved inside) and seats that come and go.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from envs.errors import GameError
from envs.spec import GameSpec


@dataclass(frozen=True)
class Turns:
    """Every decision due now, one row each. Valid until the next `step`; the game owns the memory.

    Attributes:
      env: which game of the batch, int32 [R].
      seat: which seat of it, int32 [R].
      obs: what that seat sees, [R, *observation_shape]; of named arrays a structured array [R], by the
        spec's `row_dtype`.
      legal: its legal actions, bool [R, A]; every row has at least one. Of actions with parts, the parts'
        columns side by side, each part with one at least. Of vectors, which are all legal, [R, 0].
    """

    env: npt.NDArray[np.int32]
    seat: npt.NDArray[np.int32]
    obs: npt.NDArray[Any]
    legal: npt.NDArray[np.bool_]


@dataclass(frozen=True)
class Step:
    """What one `step` brought. Valid until the next `step`; the game owns the memory.

    Attributes:
      rewards: since the last step, float32 [num_envs, seats].
      ended: the episode is over and the game has been reset, bool [num_envs].
      truncated: it was cut off rather than played out (implies ended), bool [num_envs].
      returns: rewards summed over the episode, float32 [num_envs, seats]; meaningful where ended.
      aborted: the game broke down and the episode does not count (implies truncated), bool [num_envs]; None
        where no game can.
    """

    rewards: npt.NDArray[np.float32]
    ended: npt.NDArray[np.bool_]
    truncated: npt.NDArray[np.bool_]
    returns: npt.NDArray[np.float32]
    aborted: npt.NDArray[np.bool_] | None = None


class VectorGame(ABC):
    """`num_envs` independent games of one kind. Ended games reset themselves."""

    spec: GameSpec
    num_envs: int

    @abstractmethod
    def turns(self) -> Turns:
        """Returns the decisions due; calling it again before `step` returns the same."""

    @abstractmethod
    def step(self, actions: npt.NDArray[np.integer[Any]]) -> Step:
        """Plays one action for each row of `turns()`, in its order.

        Args:
          actions: integers [R]; see `envs.actions` for those that have parts. Of vectors, float32 [R, D].

        Raises:
          IllegalActionError: an action is not legal. Nothing was played, unless the game was made
            with `forfeit_illegal=True`: then that seat loses its game instead.
        """

    @abstractmethod
    def histories(self, envs: npt.NDArray[np.integer[Any]]) -> list[list[int]]:
        """Returns the actions since the start of the current episode, chance included, of each named game."""

    def blank(self, num_envs: int) -> VectorGame:
        """Returns a batch of the same kind, to copy positions into.

        Raises:
          GameError: positions of this game cannot be copied, so that nobody can search in it.
        """
        raise GameError(f"positions of {self.spec.game_id} cannot be copied, so nobody can search in it")

    def copy_games(
        self,
        source: VectorGame,
        origins: npt.NDArray[np.integer[Any]],
        targets: npt.NDArray[np.integer[Any]],
    ) -> None:
        """Copies positions: game `origins[k]` of `source` becomes game `targets[k]` of this batch.

        Args:
          source: made by the same class for the same game, perhaps this batch. origins, targets: [K].
        """
        raise GameError(f"positions of {self.spec.game_id} cannot be copied, so nobody can search in it")

    def take_errors(self) -> list[str]:
        """Returns why episodes were aborted since the last call, a line each."""
        return []

    def close(self) -> None:  # noqa: B027  most games hold nothing
        """Ends whatever the games hold: processes, windows. Nothing by default."""
