"""Whole trajectories of a fragment, for algorithms that look along them."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, fields

import torch

from agents.algorithms.config import LearningConfig
from agents.networks.inputs import NetworkInputs
from agents.prefetch import PrefetchedFragment
from agents.returns import GAEReturns, gae


@dataclass(frozen=True)
class Lanes:
    """Some columns of a fragment: T decisions of each, and what was observed after the last.

    Attributes:
      obs: [T + 1, B, D]. legal: bool [T, B, A]. actions: int64 [T, B]. log_probs: log μ, [T, B].
      rewards: [T, B]. discounts: γ, 0 after a terminal decision, [T, B].
      begins: an episode begins with this observation, bool [T + 1, B].
      memory: of the acting network before the first decision, [B, M]; M 0: it has none.
    """

    obs: torch.Tensor
    legal: torch.Tensor
    actions: torch.Tensor
    log_probs: torch.Tensor
    rewards: torch.Tensor
    discounts: torch.Tensor
    begins: torch.Tensor
    memory: torch.Tensor

    @classmethod
    def of(cls, fragment: PrefetchedFragment, config: LearningConfig) -> Lanes:
        """Returns all the columns of a fragment."""
        return cls(
            fragment.obs,
            fragment.legal,
            fragment.actions,
            fragment.log_probs,
            fragment.rewards,
            discounts_of(fragment, config),
            begins_of(fragment),
            fragment.memory,
        )

    @property
    def steps(self) -> int:
        """T."""
        return len(self.rewards)

    @property
    def count(self) -> int:
        """B."""
        return self.rewards.shape[1]

    def part(self, columns: slice | torch.Tensor) -> Lanes:
        """Returns some of the columns; copies, when they are named by number."""
        return self._like(lambda t: t[:, columns], self.memory[columns])

    def later(self, first: int) -> Lanes:
        """Returns the decisions from `first` on; the memory is still what was before them all."""
        return self._like(lambda t: t[first:], self.memory)

    def empty(self, columns: int) -> Lanes:
        """Returns room for so many columns like these."""
        return self._like(
            lambda t: t.new_zeros((len(t), columns, *t.shape[2:])),
            self.memory.new_zeros((columns, *self.memory.shape[1:])),
        )

    def put(self, columns: torch.Tensor, others: Lanes) -> None:
        """Writes others' columns in the place of these."""
        for field in fields(self):
            mine, theirs = getattr(self, field.name), getattr(others, field.name)
            if field.name == "memory":
                mine[columns] = theirs
            else:
                mine[:, columns] = theirs

    def _like(self, part: Callable[[torch.Tensor], torch.Tensor], memory: torch.Tensor) -> Lanes:
        parts = {f.name: part(getattr(self, f.name)) for f in fields(self) if f.name != "memory"}
        return Lanes(**parts, memory=memory)


def lane_minibatches(
    lanes: Lanes, config: LearningConfig, *, remembers: bool
) -> Iterator[tuple[NetworkInputs, Lanes]]:
    """Yields some columns after the others, and what the network is to look at for them.

    Args:
      remembers: the network has a memory: it looks at sequences, the first `burn_in` decisions of which only
        bring it up to date and are not among the columns' any more.
    """
    for first in range(0, lanes.count, max(1, config.minibatch // lanes.steps)):
        part = lanes.part(slice(first, first + max(1, config.minibatch // lanes.steps)))
        if remembers:
            inputs = NetworkInputs(part.obs, part.memory, part.begins, config.burn_in)
            yield inputs, part.later(config.burn_in)
        else:
            yield NetworkInputs(part.obs.flatten(0, 1)), part


def begins_of(fragment: PrefetchedFragment) -> torch.Tensor:
    """Returns where an episode begins within a column, bool [T + 1, B]; what is before, the memory says."""
    first = torch.zeros_like(fragment.terminal[:1])
    return torch.cat([first, fragment.terminal])


def discounts_of(fragment: PrefetchedFragment, config: LearningConfig) -> torch.Tensor:
    """Returns γ, 0 after a terminal decision, [T, B]."""
    return config.discount * (~fragment.terminal).float()


def gae_of(fragment: PrefetchedFragment, config: LearningConfig) -> GAEReturns:
    """Returns advantages and returns by the values noted while acting, [T, B]."""
    return gae(
        fragment.rewards,
        discounts_of(fragment, config),
        fragment.values[:-1],
        fragment.values[-1],
        lambda_=config.gae_lambda,
    )
