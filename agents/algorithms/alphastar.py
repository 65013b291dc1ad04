"""AlphaStar's losses (Vinyals et al. 2019): V-trace, an upgoing policy gradient, value targets by TD(λ).

The pull towards a teacher, which belongs to them, is every algorithm's: `learner.teacher` of a config.
"""

from __future__ import annotations

import torch

from agents.algorithms.algorithm import Update
from agents.algorithms.config import LearningConfig
from agents.algorithms.impala import Impala, vtrace_of
from agents.algorithms.lanes import Lanes
from agents.algorithms.loss import Loss, actor_critic_loss, standardised
from agents.networks.distributions import ActionDistribution
from agents.returns import td_lambda, upgo


class AlphaStar(Impala):
    """−E[A log π] − c E[min(1, ρ) (G_upgo − V) log π]; trajectories are gone through as IMPALA's."""

    def loss(self, policy: ActionDistribution, values: torch.Tensor, lanes: Lanes, update: Update) -> Loss:
        return alphastar_loss(
            policy,
            values,
            lanes,
            update.config,
            entropy_coefficient=update.entropy_coefficient,
            value_std=update.value_std,
        )


def alphastar_loss(
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
        advantages = standardised(vtrace_of(lanes, values, ratios, config).advantages)
        now = values.detach()
        trace = lanes.rewards, lanes.discounts, now[:-1], now[-1]
        upgoing = standardised(ratios.clamp(max=1.0) * (upgo(*trace) - now[:-1]))
        targets = td_lambda(*trace, lambda_=config.gae_lambda)
    policy_loss = -(advantages * log_probs).mean() - config.upgo_coefficient * (upgoing * log_probs).mean()
    return actor_critic_loss(
        policy_loss,
        policy,
        values[:-1],
        targets,
        (log_probs - lanes.log_probs).flatten(),
        (ratios > config.clip_rho).float().mean(),
        value_coefficient=config.value_coefficient,
        entropy_coefficient=entropy_coefficient,
        value_std=value_std,
    )
