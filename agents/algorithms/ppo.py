"""Proximal policy optimisation (Schulman et al. 2017)."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, fields

import torch

from agents.algorithms.algorithm import Algorithm, Update
from agents.algorithms.config import LearningConfig
from agents.algorithms.lanes import begins_of, gae_of
from agents.algorithms.loss import Loss, actor_critic_loss
from agents.networks.distributions import ActionDistribution
from agents.networks.inputs import NetworkInputs
from agents.prefetch import PrefetchedFragment


@dataclass(frozen=True)
class Decisions:
    """Decisions to learn from, as rows: [M], obs [M, D], legal [M, A]."""

    obs: torch.Tensor
    legal: torch.Tensor
    actions: torch.Tensor
    log_probs: torch.Tensor
    advantages: torch.Tensor
    returns: torch.Tensor


@dataclass(frozen=True)
class Columns:
    """The same for a network with a memory: decisions of a seat in order, [T, B].

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

    def rows(self, first: int) -> Decisions:
        """Returns decision `first` and those after it, as rows."""
        return Decisions(*(getattr(self, f.name)[first:].flatten(0, 1) for f in fields(Decisions)))


class PPO(Algorithm):
    """Several passes over a fragment; advantages by GAE, from the values noted while acting."""

    def passes(self, config: LearningConfig) -> int:
        return config.epochs

    def batch(self, fragment: PrefetchedFragment, update: Update) -> Decisions | Columns:
        if update.spec.memory:
            return columns_of(fragment, update.config)
        return decisions_of(fragment, update.config)

    def losses(self, batch: Decisions | Columns, update: Update) -> Iterator[Loss]:
        config = update.config
        for inputs, rows in minibatches(batch, config, update.rng):
            heads = update.heads(inputs, rows.legal)
            yield ppo_loss(
                update.policy(heads, rows.legal),
                heads.value,
                rows,
                clip=config.clip,
                value_coefficient=config.value_coefficient,
                entropy_coefficient=update.entropy_coefficient,
                value_std=update.value_std,
            )


def ppo_loss(
    policy: ActionDistribution,
    values: torch.Tensor,
    rows: Decisions,
    *,
    clip: float,
    value_coefficient: float,
    entropy_coefficient: float,
    value_std: torch.Tensor | float = 1.0,
) -> Loss:
    """The clipped surrogate with value loss and entropy bonus (eq. 7 and 9) over one minibatch.

    L = −E[min(ρ A, clip(ρ, 1−ε, 1+ε) A)] + c_v E[(V − R)²]/2 − c_e E[H(π)],   ρ = π(a|x) / μ(a|x)

    Args:
      policy: of the rows. values: V, [M].
      value_std: what errors of the value are measured by.
    """
    log_ratio = policy.log_prob(rows.actions) - rows.log_probs
    ratio = log_ratio.exp()
    clipped = ratio.clamp(1.0 - clip, 1.0 + clip)
    return actor_critic_loss(
        -torch.minimum(ratio * rows.advantages, clipped * rows.advantages).mean(),
        policy,
        values,
        rows.returns,
        log_ratio.detach(),
        (ratio != clipped).float().mean(),
        value_coefficient=value_coefficient,
        entropy_coefficient=entropy_coefficient,
        value_std=value_std,
    )


def decisions_of(fragment: PrefetchedFragment, config: LearningConfig) -> Decisions:
    """Returns a fragment as T·B rows, advantages standardised."""
    advantages, returns = gae_of(fragment, config)
    advantages = (advantages - advantages.mean()) / (advantages.std() + 1e-8)
    return Decisions(
        fragment.obs[:-1].flatten(0, 1),
        fragment.legal.flatten(0, 1),
        fragment.actions.flatten(0, 1),
        fragment.log_probs.flatten(),
        advantages.flatten(),
        returns.flatten(),
    )


def columns_of(fragment: PrefetchedFragment, config: LearningConfig) -> Columns:
    """Returns a fragment for a network with a memory, advantages of what is learnt from standardised."""
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


def minibatches(
    batch: Decisions | Columns, config: LearningConfig, rng: torch.Generator
) -> Iterator[tuple[NetworkInputs, Decisions]]:
    """Yields parts of a batch: in a new order for each of several epochs, else as they lie.

    Neighbours in a fragment are decisions of different games, so a single pass has nothing to gain from
    mixing them, and gathering rows is a seventh of an update.
    """
    if isinstance(batch, Columns):
        steps, count = batch.advantages.shape
        for chosen in torch.split(_order(count, config, rng, batch), max(1, config.minibatch // steps)):
            part = batch.part(chosen)
            yield NetworkInputs(part.obs, part.memory, part.begins, config.burn_in), part.rows(config.burn_in)
        return
    tensors = [getattr(batch, f.name) for f in fields(batch)]
    if config.epochs == 1:
        for parts in zip(*(torch.split(t, config.minibatch) for t in tensors), strict=True):
            rows = Decisions(*parts)
            yield NetworkInputs(rows.obs), rows
        return
    for chosen in torch.split(_order(len(batch.advantages), config, rng, batch), config.minibatch):
        rows = Decisions(*(t[chosen] for t in tensors))
        yield NetworkInputs(rows.obs), rows


def _order(
    count: int, config: LearningConfig, rng: torch.Generator, batch: Decisions | Columns
) -> torch.Tensor:
    order = torch.arange(count) if config.epochs == 1 else torch.randperm(count, generator=rng)
    return order.to(batch.advantages.device)
