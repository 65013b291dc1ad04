"""What every algorithm's loss is made of."""

from __future__ import annotations

from typing import NamedTuple

import torch


class Loss(NamedTuple):
    """total: to minimise. The others, without gradient, tell how learning goes."""

    total: torch.Tensor
    policy: torch.Tensor
    value: torch.Tensor
    entropy: torch.Tensor
    approximate_kl: torch.Tensor
    clip_fraction: torch.Tensor
    explained_variance: torch.Tensor


def masked(logits: torch.Tensor, legal: torch.Tensor) -> torch.Tensor:
    """Returns logits that give what is not legal no probability. Args: [M, A] both."""
    return logits.masked_fill(~legal, -1e9)


def log_prob_and_entropy(
    logits: torch.Tensor, actions: torch.Tensor, factors: tuple[int, ...] = ()
) -> tuple[torch.Tensor, torch.Tensor]:
    """Returns log π(a|x), [M], and the mean entropy; parts of an action are independent, so both add up.

    Args:
      logits: [M, A], masked. actions: int64 [M], see `envs.actions`.
      factors: choices of each part of an action, A in all; empty: it has one part.
    """
    if len(factors) <= 1:
        log_pi = torch.log_softmax(logits, dim=-1)
        return log_pi.gather(1, actions[:, None])[:, 0], -(log_pi.exp() * log_pi).sum(-1).mean()
    log_prob, entropy, left = torch.zeros_like(logits[:, 0]), torch.zeros(()), actions
    parts = list(zip(torch.split(logits, list(factors), dim=-1), factors, strict=True))
    for part, choices in reversed(parts):  # the last part is the lowest digit
        log_pi = torch.log_softmax(part, dim=-1)
        log_prob = log_prob + log_pi.gather(1, (left % choices)[:, None])[:, 0]
        entropy = entropy - (log_pi.exp() * log_pi).sum(-1).mean()
        left = left // choices
    return log_prob, entropy


def kl_to(logits: torch.Tensor, others: torch.Tensor, factors: tuple[int, ...] = ()) -> torch.Tensor:
    """Returns the mean of KL(π ‖ other), in nats; parts of an action add up.

    Args:
      logits, others: [M, A], masked alike. factors: see `log_prob_and_entropy`.
    """
    sizes = list(factors) or [logits.shape[-1]]
    total = torch.zeros(())
    for part, other in zip(torch.split(logits, sizes, -1), torch.split(others, sizes, -1), strict=True):
        log_pi, log_other = torch.log_softmax(part, -1), torch.log_softmax(other, -1)
        total = total + (log_pi.exp() * (log_pi - log_other)).sum(-1).mean()
    return total


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
