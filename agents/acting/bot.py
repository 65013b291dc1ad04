"""What chooses actions without a network, as the collector asks it. Needs no torch."""

from __future__ import annotations

from typing import Protocol, runtime_checkable

import numpy as np
import numpy.typing as npt

from envs.actions import Actions
from envs.vector_game import VectorGame


@runtime_checkable
class Bot(Protocol):
    """A player of fixed strength without a network."""

    def act(
        self,
        game: VectorGame,
        env: npt.NDArray[np.int32],
        legal: npt.NDArray[np.bool_],
        rng: np.random.Generator,
    ) -> Actions:
        """Chooses an action for each row.

        Args:
          game: the batch, for bots that look at the position itself.
          env: whose turn it is in which game, [R].
          legal: bool [R, A].
          rng: the only source of chance.
        """
