"""What the losses of algorithms are made of."""

from __future__ import annotations

from typing import NamedTuple

import torch

from agents.networks.distributions import ActionDistribution


class Loss(NamedTuple):
    """total: to minimise. The others, without gradient, tell how learning goes."""

    total: torch.Tensor
    policy: torch.Tensor
    value: torch.Tensor
    entropy: torch.Tensor
    approximate_kl: torch.Tensor
    clip_fraction: torch.Tensor
    explained_variance: torch.Tensor


def actor_critic_loss(
    policy_loss: torch.Tensor,
    policy: ActionDistribution,
    values: torch.Tensor,
    targets: torch.Tensor,
    log_ratio: torch.Tensor,
    clip_fraction: torch.Tensor,
    *,
    value_coefficient: float,
    entropy_coefficient: float,
    value_std: torch.Tensor | float = 1.0,
) -> Loss:
    """Returns the policy's loss with a value loss and an entropy bonus.

    L = L_policy + c_v E[(V − R)²]/2 − c_e E[H(π)]

    Args:
      policy_loss: a scalar. values, targets: V and R, alike in shape.
      log_ratio: log π − log μ of the actions taken, [M]. clip_fraction: of the ratios that were cut.
      value_std: what errors of the value are measured by.
    """
    entropy = policy.entropy()
    value_loss = 0.5 * ((values - targets) / value_std).square().mean()
    total = policy_loss + value_coefficient * value_loss - entropy_coefficient * entropy
    with torch.no_grad():
        return Loss(
            total,
            policy_loss.detach(),
            value_loss.detach(),
            entropy.detach(),
            approximate_kl(log_ratio),
            clip_fraction,
            explained_variance(values, targets),
        )


def standardised(advantages: torch.Tensor) -> torch.Tensor:
    """Returns advantages with mean 0 and standard deviation 1."""
    return (advantages - advantages.mean()) / (advantages.std(correction=0) + 1e-8)


def approximate_kl(log_ratio: torch.Tensor) -> torch.Tensor:
    """Returns the mean KL from the acting policy by samples of it, never negative.

    By the low-variance estimator k3 (J. Schulman, "Approximating KL divergence", 2020).

    Args:
      log_ratio: log π − log μ of the actions taken, [M].
    """
    return (log_ratio.exp() - 1.0 - log_ratio).mean()


def explained_variance(values: torch.Tensor, targets: torch.Tensor) -> torch.Tensor:
    """Returns 1 − Var(target − value) / Var(target): 1 is perfect, 0 as good as a constant; −1 at least."""
    explained = 1.0 - (targets - values).var(correction=0) / targets.var(correction=0).clamp(min=1e-8)
    return explained.clamp(min=-1.0)
