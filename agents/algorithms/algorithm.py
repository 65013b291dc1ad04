"""The contract of a learning algorithm: everything that one of them knows and the learner does not.

An algorithm is one file with one class. An object of it belongs to one learner and lives as long: what it
must keep between updates (a replay) is its own. `docs/your-algorithm.md` walks through a whole one.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, ClassVar, Protocol

import torch

from agents.algorithms.config import LearningConfig
from agents.algorithms.loss import Loss
from agents.networks.distributions import ActionDistribution
from agents.networks.heads import Heads
from agents.networks.inputs import NetworkInputs
from agents.networks.spec import NetworkSpec
from agents.prefetch import PrefetchedFragment


@dataclass(frozen=True)
class Needs:
    """What an algorithm asks of the rest of the house.

    Attributes:
      epsilon: of exploration while its fragments are played; see `agents.acting.exploration`.
      sharpness: what the network's logits are multiplied by.
      references: older copies of the network that it compares with, by name, such as `target`; each is
        renewed every `target_updates` updates.
      data_parallel: several processes can share each of its minibatches.
      action_parts: it can learn actions of several parts.
      continuous_actions: it can learn distributions other than categorical ones.
    """

    epsilon: float = 0.0
    sharpness: float = 1.0
    references: tuple[str, ...] = ()
    data_parallel: bool = True
    action_parts: bool = True
    continuous_actions: bool = True


@dataclass(frozen=True)
class NoOptions:
    """Of an algorithm without numbers of its own."""


class Update(Protocol):
    """One update, as the learner offers it to an algorithm.

    Attributes:
      config: the player's numbers. spec: of its network.
      entropy_coefficient: as scheduled, steered towards its target.
      value_std: what errors of the value are measured by, where its scale follows the returns; else 1.
      rng: the learner's own, saved with its state.
      version: updates since the last reset.
    """

    config: LearningConfig
    spec: NetworkSpec
    entropy_coefficient: float
    value_std: torch.Tensor | float
    rng: torch.Generator
    version: int

    def heads(self, inputs: NetworkInputs, legal: torch.Tensor) -> Heads:
        """Asks the network, with gradient.

        The policy of the first `len(legal)` rows is what the loss is to be of: pulls towards a magnet or a
        teacher are added to it.

        Args:
          legal: bool [M, A]. inputs: of M rows or more.

        Returns:
          As rows.
        """

    def reference_heads(self, name: str, inputs: NetworkInputs) -> Heads:
        """Asks one of the `references`, without gradient. Returns: as rows."""

    def policy(self, heads: Heads, legal: torch.Tensor) -> ActionDistribution:
        """Returns the distribution of actions of the first `len(legal)` rows."""


class Algorithm(Protocol):
    """How one player learns.

    Attributes:
      Options: a frozen dataclass of numbers that are its own: `learner.options` of a config.
    """

    Options: ClassVar[type] = NoOptions

    def __init__(self, config: LearningConfig) -> None: ...

    @classmethod
    def needs(cls, config: LearningConfig) -> Needs:
        """Returns what it asks of collectors, networks and the learner. By default nothing."""
        return Needs()

    def passes(self, config: LearningConfig) -> int:
        """Returns how often `losses` goes over a batch. By default once."""
        return 1

    def batch(self, fragment: PrefetchedFragment, update: Update) -> Any:
        """Returns what `losses` is given: what a fragment holds, prepared once an update."""
        ...

    def losses(self, batch: Any, update: Update) -> Iterator[Loss]:
        """Yields the loss of one minibatch after the other; the learner descends each before the next.

        None at all is fine: an algorithm may wait until it has collected enough.
        """
        ...

    def reset(self) -> None:
        """Forgets what it keeps: the learner starts over, or goes on from stored weights."""
