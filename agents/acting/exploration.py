"""Learners that play anything now and then: ε-greedy, every game of a worker with its own ε."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

# The games have ε^(1 + 7 k / (N − 1)), k = 0 … N − 1: some explore much, most hardly (Horgan et al. 2018).
LADDER = 7.0


class Exploration:
    """The ε of each learner in each game.

    Attributes:
      needed: whether anybody explores.
    """

    def __init__(self, num_envs: int, epsilons: Sequence[float]) -> None:
        """Args: epsilons: of each learner, 0: it does not explore."""
        self._powers = 1.0 + LADDER * np.arange(num_envs) / max(num_envs - 1, 1)
        self._epsilons = np.array(epsilons, np.float64)
        self.needed = bool(self._epsilons.any())

    def add(self, epsilon: float) -> None:
        """Adds a learner."""
        self._epsilons = np.append(self._epsilons, epsilon)
        self.needed = bool(self._epsilons.any())

    def apply(
        self,
        heads: npt.NDArray[np.float32],
        owners: npt.NDArray[np.int32],
        env: npt.NDArray[np.int32],
        rng: np.random.Generator,
    ) -> None:
        """Has some rows play any legal action alike.

        Args:
          heads: logits and value, [R, A + 1], changed. owners: who learns from each row, [R], -1: nobody.
          env: the game of each row, [R].
        """
        epsilons = np.where(owners >= 0, self._epsilons[owners], 0.0) ** self._powers[env]
        heads[rng.random(len(heads)) < epsilons, :-1] = 0.0
