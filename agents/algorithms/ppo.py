"""Proximal policy optimisation (Schulman et al. 2017), the loss over one minibatch."""

from __future__ import annotations

import torch

from agents.algorithms.loss import Loss, approximate_kl, explained_variance, log_prob_and_entropy, masked


def ppo_loss(
    heads: torch.Tensor,
    legal: torch.Tensor,
    actions: torch.Tensor,
    behaviour_log_probs: torch.Tensor,
    advantages: torch.Tensor,
    returns: torch.Tensor,
    *,
    clip: float,
    value_coefficient: float,
    entropy_coefficient: float,
    factors: tuple[int, ...] = (),
    value_std: torch.Tensor | float = 1.0,
) -> Loss:
    """The clipped surrogate with value loss and entropy bonus (eq. 7 and 9).

    L = −E[min(ρ A, clip(ρ, 1−ε, 1+ε) A)] + c_v E[(V − R)²]/2 − c_e E[H(π)],   ρ = π(a|x) / μ(a|x)

    Args:
      heads: logits and value, [M, A + 1]. legal: bool [M, A]. actions: int64 [M].
      behaviour_log_probs: log μ, [M]. advantages, returns: [M].
      factors: choices of each part of an action, A in all; empty: it has one part.
      value_std: what errors of the value are measured by.
    """
    logits = masked(heads[:, :-1], legal)
    values = heads[:, -1]
    log_probs, entropy = log_prob_and_entropy(logits, actions, factors)
    log_ratio = log_probs - behaviour_log_probs
    ratio = log_ratio.exp()
    clipped = ratio.clamp(1.0 - clip, 1.0 + clip)
    policy = -torch.minimum(ratio * advantages, clipped * advantages).mean()
    value = 0.5 * ((values - returns) / value_std).square().mean()
    total = policy + value_coefficient * value - entropy_coefficient * entropy
    with torch.no_grad():
        return Loss(
            total,
            policy.detach(),
            value.detach(),
            entropy.detach(),
            approximate_kl(log_ratio),
            (ratio != clipped).float().mean(),
            explained_variance(values, returns),
        )
