"""Proximal policy optimisation (Schulman et al. 2017), the loss over one minibatch."""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import torch


@dataclass(frozen=True)
class Schedule:
    """A number that moves in a straight line.

    Attributes:
      start, end: its values.
      steps: own learner steps from start to end since the last reset; None follows the run's progress
        towards its stop rule.
    """

    start: float
    end: float
    steps: int | None = None

    def at(self, steps: int, progress: float) -> float:
        """Args: steps: since the last reset. progress: of the run, in [0, 1]."""
        fraction = progress if self.steps is None else steps / self.steps
        return self.start + (self.end - self.start) * min(max(fraction, 0.0), 1.0)


@dataclass(frozen=True)
class PPOConfig:
    """PPO's numbers; defaults are those that make Connect Four strong in minutes."""

    learning_rate: Schedule = Schedule(1e-3, 1e-4)
    entropy: Schedule = Schedule(0.1, 0.01)
    clip: float = 0.2
    value_coefficient: float = 0.5
    discount: float = 1.0
    gae_lambda: float = 0.95
    epochs: int = 1
    minibatch: int = 4096
    max_grad_norm: float = 0.5
    target_kl: float = 0.1
    max_policy_lag: int = 200
    precision: str = "auto"


class PPOLoss(NamedTuple):
    """total: to minimise. The others, without gradient, tell how learning goes."""

    total: torch.Tensor
    policy: torch.Tensor
    value: torch.Tensor
    entropy: torch.Tensor
    approximate_kl: torch.Tensor
    clip_fraction: torch.Tensor


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
) -> PPOLoss:
    """The clipped surrogate with value loss and entropy bonus (eq. 7 and 9).

    L = −E[min(ρ A, clip(ρ, 1−ε, 1+ε) A)] + c_v E[(V − R)²]/2 − c_e E[H(π)],   ρ = π(a|x) / μ(a|x)

    Args:
      heads: logits and value, [M, A + 1]. legal: bool [M, A]. actions: int64 [M].
      behaviour_log_probs: log μ, [M]. advantages, returns: [M].
      factors: choices of each part of an action, A in all; empty: it has one part.
    """
    logits = heads[:, :-1].masked_fill(~legal, -1e9)
    values = heads[:, -1]
    log_probs, entropy = log_prob_and_entropy(logits, actions, factors)
    log_ratio = log_probs - behaviour_log_probs
    ratio = log_ratio.exp()
    clipped = ratio.clamp(1.0 - clip, 1.0 + clip)
    policy = -torch.minimum(ratio * advantages, clipped * advantages).mean()
    value = 0.5 * (values - returns).square().mean()
    total = policy + value_coefficient * value - entropy_coefficient * entropy
    with torch.no_grad():
        # The low-variance, never negative estimator k3 (J. Schulman, "Approximating KL divergence", 2020).
        approximate_kl = (ratio - 1.0 - log_ratio).mean()
        clip_fraction = (ratio != clipped).float().mean()
    return PPOLoss(total, policy.detach(), value.detach(), entropy.detach(), approximate_kl, clip_fraction)


def log_prob_and_entropy(
    logits: torch.Tensor, actions: torch.Tensor, factors: tuple[int, ...] = ()
) -> tuple[torch.Tensor, torch.Tensor]:
    """Returns log π(a|x), [M], and the mean entropy; parts of an action are independent, so both add up.

    Args:
      logits: [M, A], masked. actions: int64 [M], see `envs.actions`.
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
