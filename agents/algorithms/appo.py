"""APPO, as IMPACT has it (Luo et al. 2020): V-trace, and PPO's clip against a target network.

The target network is a copy of the learner's that is renewed every `target_updates` updates, so the surrogate
stays steady however old the fragments are and however often each is gone over.
"""

from __future__ import annotations

from collections.abc import Iterator

import torch

from agents.algorithms.algorithm import Algorithm, Needs, Update
from agents.algorithms.config import LearningConfig
from agents.algorithms.impala import vtrace_of
from agents.algorithms.lanes import Lanes, lane_minibatches
from agents.algorithms.loss import Loss, actor_critic_loss, standardised
from agents.networks.distributions import ActionDistribution
from agents.prefetch import PrefetchedFragment


class APPO(Algorithm):
    """−E[min(ρ A, clip(ρ, 1−ε, 1+ε) A)], ρ = π / π_target, V-trace by π_target / μ."""

    @classmethod
    def needs(cls, config: LearningConfig) -> Needs:
        return Needs(references=("target",))

    def passes(self, config: LearningConfig) -> int:
        return config.epochs

    def batch(self, fragment: PrefetchedFragment, update: Update) -> Lanes:
        return Lanes.of(fragment, update.config)

    def losses(self, batch: Lanes, update: Update) -> Iterator[Loss]:
        for inputs, lanes in lane_minibatches(batch, update.config, remembers=bool(update.spec.memory)):
            legal = lanes.legal.flatten(0, 1)
            heads = update.heads(inputs, legal)
            target = update.reference_heads("target", inputs)
            yield appo_loss(
                update.policy(heads, legal),
                update.policy(target, legal),
                heads.value.reshape(lanes.steps + 1, lanes.count),
                lanes,
                update.config,
                entropy_coefficient=update.entropy_coefficient,
                value_std=update.value_std,
            )


def appo_loss(
    policy: ActionDistribution,
    target_policy: ActionDistribution,
    values: torch.Tensor,
    lanes: Lanes,
    config: LearningConfig,
    *,
    entropy_coefficient: float,
    value_std: torch.Tensor | float = 1.0,
) -> Loss:
    """The loss over some columns.

    Args:
      policy, target_policy: of their T·B decisions as rows. values: V of all that was observed, [T + 1, B].
      value_std: what errors of the value are measured by.
    """
    actions = lanes.actions.flatten(0, 1)
    log_probs = policy.log_prob(actions).reshape(lanes.log_probs.shape)
    with torch.no_grad():
        target_log_probs = target_policy.log_prob(actions).reshape(lanes.log_probs.shape)
        trace = vtrace_of(lanes, values, (target_log_probs - lanes.log_probs).exp(), config)
        advantages = standardised(trace.advantages)  # they hold min(1, π_target / μ) already
    ratio = (log_probs - target_log_probs).exp()
    clipped = ratio.clamp(1.0 - config.clip, 1.0 + config.clip)
    return actor_critic_loss(
        -torch.minimum(ratio * advantages, clipped * advantages).mean(),
        policy,
        values[:-1],
        trace.targets,
        (log_probs - lanes.log_probs).flatten(),
        (ratio != clipped).float().mean(),
        value_coefficient=config.value_coefficient,
        entropy_coefficient=entropy_coefficient,
        value_std=value_std,
    )
