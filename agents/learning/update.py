"""One update of a learner, as its algorithm sees it (`agents.algorithms.algorithm.Update`)."""

from __future__ import annotations

from typing import Protocol

import torch

from agents.algorithms.config import LearningConfig
from agents.algorithms.loss import Loss
from agents.networks.distributions import ActionDistribution, Maker
from agents.networks.heads import Heads, split_heads
from agents.networks.inputs import NetworkInputs
from agents.networks.spec import NetworkSpec


class Asked(Protocol):
    """The learner that is updated; see `agents.learning.learner`."""

    spec: NetworkSpec
    version: int

    @property
    def config(self) -> LearningConfig: ...

    @property
    def rng(self) -> torch.Generator: ...

    @property
    def distribution(self) -> Maker: ...

    @property
    def value_std(self) -> torch.Tensor | float: ...

    def heads(self, inputs: NetworkInputs) -> torch.Tensor: ...

    def reference_heads(self, name: str, inputs: NetworkInputs) -> torch.Tensor: ...

    def has_reference(self, name: str) -> bool: ...

    def autocast(self) -> torch.autocast: ...


class LearnerUpdate:
    """Answers an algorithm, and remembers what it asked the network for, to pull that policy elsewhere.

    Attributes:
      decisions: how many the algorithm has learnt from, each as often as it came.
    """

    def __init__(self, learner: Asked, entropy_coefficient: float, pulls: dict[str, float]) -> None:
        """Args: pulls: coefficients of KL(π ‖ reference), by the reference's name."""
        self._learner = learner
        self.config, self.spec, self.rng = learner.config, learner.spec, learner.rng
        self.version, self.value_std = learner.version, learner.value_std
        self.entropy_coefficient = entropy_coefficient
        self.decisions = 0
        self._pulls = {n: c for n, c in pulls.items() if c > 0.0 and learner.has_reference(n)}
        self._asked: tuple[NetworkInputs, torch.Tensor, Heads] | None = None

    def heads(self, inputs: NetworkInputs, legal: torch.Tensor) -> Heads:
        heads = split_heads(self._learner.heads(inputs), self.spec)
        self.decisions += len(legal)
        self._asked = inputs, legal, heads
        return heads

    def reference_heads(self, name: str, inputs: NetworkInputs) -> Heads:
        return split_heads(self._learner.reference_heads(name, inputs), self.spec)

    def policy(self, heads: Heads, legal: torch.Tensor) -> ActionDistribution:
        # What was observed after the last decision is none.
        return self._learner.distribution(heads.policy[: len(legal)], legal)

    def pulled(self, loss: Loss) -> Loss:
        """Adds c KL(π ‖ other) for the magnet (Sokota et al. 2023) and the teacher (Vinyals et al. 2019)."""
        if not self._pulls or self._asked is None:
            return loss
        inputs, legal, heads = self._asked
        policy, total = self.policy(heads, legal), loss.total
        for name, coefficient in self._pulls.items():
            with self._learner.autocast():
                others = self.reference_heads(name, inputs)
            total = total + coefficient * policy.kl_to(self.policy(others, legal))
        return loss._replace(total=total)
