"""Distributions of actions: what a policy head's numbers mean.

A distribution is made of a batch of policy heads and says the log-probability of actions, its entropy and its
divergence from another; losses ask it and know no kind. Which kind a network has is said by its spec.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Protocol

import torch

from agents.networks.spec import NetworkSpec

# A Gaussian narrower or wider than this is a rounding error or noise.
LOG_STD_RANGE = (-5.0, 2.0)
# What is less likely is as unlikely: exp of a difference of two log-probabilities must stay a number.
LEAST_LOG_PROB = -60.0
# What no legal action has: the logit of one that is not.
ILLEGAL = -1e9


class ActionDistribution(Protocol):
    """One distribution a row, [M] rows."""

    def log_prob(self, actions: torch.Tensor) -> torch.Tensor:
        """Returns log π(a|x), [M]. Args: actions: [M], or [M, D] where they are vectors."""

    def entropy(self) -> torch.Tensor:
        """Returns the mean entropy, in nats, a scalar."""

    def kl_to(self, other: ActionDistribution) -> torch.Tensor:
        """Returns the mean of KL(π ‖ other), in nats, a scalar. Args: other: of the same kind."""


class Categorical:
    """A choice among A actions, or independent choices of an action's parts (see `envs.actions`)."""

    def __init__(self, logits: torch.Tensor, legal: torch.Tensor, factors: Sequence[int] = ()) -> None:
        """Args:
        logits: [M, A]. legal: bool [M, A]; what is not gets no probability.
        factors: choices of each part of an action, A in all; empty: it has one part.
        """
        masked = mask_logits(logits, legal)
        self._factors = tuple(factors) if len(factors) > 1 else (masked.shape[-1],)
        parts = (masked,) if len(self._factors) == 1 else torch.split(masked, list(self._factors), dim=-1)
        self._log_pi = [torch.log_softmax(part, dim=-1) for part in parts]

    def log_prob(self, actions: torch.Tensor) -> torch.Tensor:
        if len(self._log_pi) == 1:
            return self._log_pi[0].gather(1, actions[:, None])[:, 0]
        total, left = torch.zeros_like(self._log_pi[0][:, 0]), actions
        for log_pi, choices in zip(reversed(self._log_pi), reversed(self._factors), strict=True):
            total = total + log_pi.gather(1, (left % choices)[:, None])[:, 0]  # the last is the lowest digit
            left = left // choices
        return total

    def entropy(self) -> torch.Tensor:
        first, *others = (-(log_pi.exp() * log_pi).sum(-1).mean() for log_pi in self._log_pi)
        return sum(others, first)

    def kl_to(self, other: ActionDistribution) -> torch.Tensor:
        if not isinstance(other, Categorical):
            raise TypeError(f"KL of a categorical distribution to a {type(other).__name__}")
        pairs = zip(self._log_pi, other._log_pi, strict=True)
        first, *others = ((mine.exp() * (mine - theirs)).sum(-1).mean() for mine, theirs in pairs)
        return sum(others, first)


class Gaussian:
    """A vector of D numbers, each normal and independent of the others; the game clips it to its bounds."""

    def __init__(self, parameters: torch.Tensor) -> None:
        """Args: parameters: means, then logarithms of standard deviations, [M, 2 D]."""
        self.mean, log_std = parameters.chunk(2, dim=-1)
        self.log_std = log_std.clamp(*LOG_STD_RANGE)

    def log_prob(self, actions: torch.Tensor) -> torch.Tensor:
        z = (actions - self.mean) * (-self.log_std).exp()
        log_prob = -(0.5 * z.square() + self.log_std + 0.5 * math.log(2.0 * math.pi)).sum(-1)
        return log_prob.clamp(min=LEAST_LOG_PROB)

    def entropy(self) -> torch.Tensor:
        return (self.log_std + 0.5 * math.log(2.0 * math.pi * math.e)).sum(-1).mean()

    def kl_to(self, other: ActionDistribution) -> torch.Tensor:
        if not isinstance(other, Gaussian):
            raise TypeError(f"KL of a Gaussian distribution to a {type(other).__name__}")
        wide = (2.0 * (self.log_std - other.log_std)).exp()
        far = ((self.mean - other.mean) * (-other.log_std).exp()).square()
        return (other.log_std - self.log_std + 0.5 * (wide + far - 1.0)).sum(-1).mean()


Maker = Callable[[torch.Tensor, torch.Tensor], ActionDistribution]


def distribution_of(spec: NetworkSpec) -> Maker:
    """Returns what makes a network's distribution out of its policy head and the legal actions."""
    if spec.distribution == "gaussian":
        return lambda policy, legal: Gaussian(policy)
    return lambda policy, legal: Categorical(policy, legal, spec.factors)


def mask_logits(logits: torch.Tensor, legal: torch.Tensor) -> torch.Tensor:
    """Returns logits that give what is not legal no probability. Args: [M, A] both."""
    return logits.masked_fill(~legal, ILLEGAL)
