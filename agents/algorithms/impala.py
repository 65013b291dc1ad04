"""IMPALA (Espeholt et al. 2018): policy gradients corrected for who acted, by V-trace.

The targets come from the network as it is now, not from the values noted while acting.
"""

from __future__ import annotations

from collections.abc import Iterator

import torch

from agents.algorithms.algorithm import Algorithm, Update
from agents.algorithms.config import LearningConfig
from agents.algorithms.lanes import Lanes, lane_minibatches
from agents.algorithms.loss import Loss, actor_critic_loss, standardised
from agents.networks.distributions import ActionDistribution
from agents.prefetch import PrefetchedFragment
from agents.returns import VTraceReturns, vtrace


class Impala(Algorithm):
    """−E[A log π], with V-trace's advantages and value targets."""

    def batch(self, fragment: PrefetchedFragment, update: Update) -> Lanes:
        return Lanes.of(fragment, update.config)

    def losses(self, batch: Lanes, update: Update) -> Iterator[Loss]:
        for inputs, lanes in lane_minibatches(batch, update.config, remembers=bool(update.spec.memory)):
            legal = lanes.legal.flatten(0, 1)
            heads = update.heads(inputs, legal)
            values = heads.value.reshape(lanes.steps + 1, lanes.count)
            yield self.loss(update.policy(heads, legal), values, lanes, update)

    def loss(self, policy: ActionDistribution, values: torch.Tensor, lanes: Lanes, update: Update) -> Loss:
        """Returns the loss over some columns; algorithms of the same trajectories put theirs here."""
        return impala_loss(
            policy,
            values,
            lanes,
            update.config,
            entropy_coefficient=update.entropy_coefficient,
            value_std=update.value_std,
        )


def impala_loss(
    policy: ActionDistribution,
    values: torch.Tensor,
    lanes: Lanes,
    config: LearningConfig,
    *,
    entropy_coefficient: float,
    value_std: torch.Tensor | float = 1.0,
) -> Loss:
    """The loss over some columns.

    Args:
      policy: of their T·B decisions as rows. values: V of all that was observed, [T + 1, B].
      value_std: what errors of the value are measured by.
    """
    log_probs = policy.log_prob(lanes.actions.flatten(0, 1)).reshape(lanes.log_probs.shape)
    with torch.no_grad():
        ratios = (log_probs - lanes.log_probs).exp()
        trace = vtrace_of(lanes, values, ratios, config)
    return actor_critic_loss(
        -(standardised(trace.advantages) * log_probs).mean(),
        policy,
        values[:-1],
        trace.targets,
        (log_probs - lanes.log_probs).flatten(),
        (ratios > config.clip_rho).float().mean(),
        value_coefficient=config.value_coefficient,
        entropy_coefficient=entropy_coefficient,
        value_std=value_std,
    )


def vtrace_of(
    lanes: Lanes, values: torch.Tensor, ratios: torch.Tensor, config: LearningConfig
) -> VTraceReturns:
    """Returns V-trace of some columns. Args: values: [T + 1, B]. ratios: π / μ of the actions, [T, B]."""
    values = values.detach()
    return vtrace(
        lanes.rewards,
        lanes.discounts,
        values[:-1],
        values[-1],
        ratios,
        lambda_=config.gae_lambda,
        clip_rho=config.clip_rho,
        clip_c=config.clip_c,
    )
