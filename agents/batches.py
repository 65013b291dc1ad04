"""What a learner makes of a fragment before it learns: rows for PPO, lanes for the off-policy algorithms."""

from __future__ import annotations

from collections.abc import Iterator

import torch

from agents.algorithms.config import LearningConfig
from agents.algorithms.off_policy import Lanes
from agents.returns import GAEReturns, gae
from agents.staged import Staged


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


def lanes_of(fragment: Staged, config: LearningConfig) -> Lanes:
    """Returns a fragment for the algorithms that look at whole trajectories."""
    return Lanes(
        fragment.obs,
        fragment.legal,
        fragment.actions,
        fragment.log_probs,
        fragment.rewards,
        _discounts(fragment, config),
    )


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
