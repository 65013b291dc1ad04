"""Population based training: players that fall behind go on as copies of better ones, with hyper-parameters
inherited and perturbed.

After Jaderberg et al. 2019 ("Human-level performance in 3D multiplayer games with population-based
reinforcement learning"), every number a field.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np


@dataclass(frozen=True)
class PopulationRule:
    """When a player gives up its weights for another's, and what becomes of its hyper-parameters.

    Hyper-parameters are factors on the config's own values, so that schedules keep their shape.

    Attributes:
      min_steps: learner steps a player has at least between two takeovers.
      inherit_below: expected score against a randomly chosen other below which it is taken over.
      perturb_probability: of each hyper-parameter at a takeover.
      perturb_factor: it is multiplied by this or its inverse.
      initial_spread: first factors are log-uniform between this and its inverse.
      hyperparameters: which.
    """

    min_steps: int
    inherit_below: float = 0.3
    perturb_probability: float = 0.5
    perturb_factor: float = 1.2
    initial_spread: float = 2.0
    hyperparameters: tuple[str, ...] = ("learning_rate", "entropy")

    def initial(self, rng: np.random.Generator) -> dict[str, float]:
        """Returns a first player's factors."""
        return {name: float(self.initial_spread ** rng.uniform(-1.0, 1.0)) for name in self.hyperparameters}

    def source(
        self,
        steps: int,
        others: Sequence[str],
        expected_score: Callable[[str], float],
        rng: np.random.Generator,
    ) -> str | None:
        """Returns whose copy a player shall go on as, None: as itself.

        Args:
          steps: since its last takeover, or since the start.
          others: the rest of its population. expected_score: the player's, against one of them.
        """
        if steps < self.min_steps or not others:
            return None
        other = others[int(rng.integers(len(others)))]
        return other if expected_score(other) < self.inherit_below else None

    def perturbed(self, inherited: Mapping[str, float], rng: np.random.Generator) -> dict[str, float]:
        """Returns the source's factors, each perhaps one step up or down."""
        return {
            name: factor * self.perturb_factor ** float(rng.choice((-1.0, 1.0)))
            if rng.random() < self.perturb_probability
            else factor
            for name, factor in inherited.items()
        }
