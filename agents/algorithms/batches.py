"""What a learner makes of a fragment before it learns: rows for PPO, lanes for the off-policy algorithms."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, fields

import torch

from agents.algorithms.config import LearningConfig
from agents.algorithms.off_policy import Lanes
from agents.prefetch import Staged
from agents.returns import GAEReturns, gae


@dataclass(frozen=True)
class Columns:
    """Some columns of a fragment, for PPO: [T, B] each, obs [T, B, D], legal [T, B, A].

    `begins`: an episode begins with this decision, bool. `memory`: before the first decision, [B, M].
    """

    obs: torch.Tensor
    legal: torch.Tensor
    actions: torch.Tensor
    log_probs: torch.Tensor
    advantages: torch.Tensor
    returns: torch.Tensor
    begins: torch.Tensor
    memory: torch.Tensor

    def part(self, chosen: torch.Tensor) -> Columns:
        """Returns some of the columns."""
        parts = {f.name: getattr(self, f.name)[:, chosen] for f in fields(self) if f.name != "memory"}
        return Columns(**parts, memory=self.memory[chosen])

    def rows(self, first: int) -> list[torch.Tensor]:
        """Returns obs, legal, actions, log μ, advantages, returns from decision `first` on, as rows."""
        kept = (self.obs, self.legal, self.actions, self.log_probs, self.advantages, self.returns)
        return [t[first:].flatten(0, 1) for t in kept]


def gae_of(fragment: Staged, config: LearningConfig) -> GAEReturns:
    """Returns advantages and returns by the values noted while acting, [T, B]."""
    return gae(
        fragment.rewards,
        _discounts(fragment, config),
        fragment.values[:-1],
        fragment.values[-1],
        lambda_=config.gae_lambda,
    )


def rows_of(fragment: Staged, config: LearningConfig) -> list[torch.Tensor]:
    """Returns obs, legal, actions, log μ, advantages (standardised), returns, each with T·B rows."""
    advantages, returns = gae_of(fragment, config)
    advantages = (advantages - advantages.mean()) / (advantages.std() + 1e-8)
    steps = fragment.steps
    return [
        fragment.obs[:-1].reshape(steps, -1),
        fragment.legal.reshape(steps, -1),
        fragment.actions.reshape(steps),
        fragment.log_probs.reshape(steps),
        advantages.reshape(steps),
        returns.reshape(steps),
    ]


def columns_of(fragment: Staged, config: LearningConfig) -> Columns:
    """Returns a fragment for PPO with a network that remembers: the same, decisions of a seat in order."""
    advantages, returns = gae_of(fragment, config)
    learnt = advantages[config.burn_in :]
    advantages = (advantages - learnt.mean()) / (learnt.std() + 1e-8)
    return Columns(
        fragment.obs[:-1],
        fragment.legal,
        fragment.actions,
        fragment.log_probs,
        advantages,
        returns,
        begins_of(fragment)[:-1],
        fragment.memory,
    )


def begins_of(fragment: Staged) -> torch.Tensor:
    """Returns where an episode begins within a column, bool [T + 1, B]; what is before, the memory says."""
    first = torch.zeros_like(fragment.terminal[:1])
    return torch.cat([first, fragment.terminal])


def lanes_of(fragment: Staged, config: LearningConfig) -> Lanes:
    """Returns a fragment for the algorithms that look at whole trajectories."""
    return Lanes(
        fragment.obs,
        fragment.legal,
        fragment.actions,
        fragment.log_probs,
        fragment.rewards,
        _discounts(fragment, config),
        begins_of(fragment),
        fragment.memory,
    )


def column_minibatches(columns: Columns, config: LearningConfig, rng: torch.Generator) -> Iterator[Columns]:
    """Yields some columns after the others, in a new order for each of several epochs."""
    steps, count = columns.actions.shape
    order = torch.arange(count) if config.epochs == 1 else torch.randperm(count, generator=rng)
    for chosen in torch.split(order.to(columns.actions.device), max(1, config.minibatch // steps)):
        yield columns.part(chosen)


def minibatches(
    rows: list[torch.Tensor], config: LearningConfig, rng: torch.Generator
) -> Iterator[list[torch.Tensor]]:
    """Yields parts of a batch: in a new order for each of several epochs, else as they lie.

    Neighbours in a fragment are decisions of different games, so a single pass has nothing to gain from
    mixing them, and gathering rows is a seventh of an update.
    """
    if config.epochs == 1:
        parts = zip(*(torch.split(t, config.minibatch) for t in rows), strict=True)
        yield from (list(part) for part in parts)
        return
    order = torch.randperm(len(rows[0]), generator=rng).to(rows[0].device)
    for chosen in torch.split(order, config.minibatch):
        yield [t[chosen] for t in rows]


def _discounts(fragment: Staged, config: LearningConfig) -> torch.Tensor:
    """γ, 0 after a terminal decision, [T, B]."""
    return config.discount * (~fragment.terminal).float()
