"""Returns and advantages: pure functions of tensors [T, B], time first.

A turn-based player's trajectory is its own decisions; rewards between two of them belong to the first.
"""

from __future__ import annotations

from typing import NamedTuple

import torch

from agents.errors import ShapeError


class GAEReturns(NamedTuple):
    """advantages: [T, B]. returns: advantages + values, the value function's targets, [T, B]."""

    advantages: torch.Tensor
    returns: torch.Tensor


def gae(
    rewards: torch.Tensor,
    discounts: torch.Tensor,
    values: torch.Tensor,
    bootstrap_value: torch.Tensor,
    *,
    lambda_: float = 0.95,
) -> GAEReturns:
    """Generalised advantage estimation (Schulman et al. 2016, eq. 16).

    δ_t = r_t + γ_t V(x_{t+1}) − V(x_t),   A_t = δ_t + γ_t λ A_{t+1}

    Args:
      rewards: r_t, [T, B].
      discounts: γ_t, 0 after a terminal decision, [T, B].
      values: V(x_t), [T, B].
      bootstrap_value: V(x_T), [B].
      lambda_: λ in [0, 1]; 0 is one-step TD, 1 Monte Carlo.

    Returns:
      GAEReturns, no gradient.

    Raises:
      ShapeError: when the inputs' [T, B] differ.
    """
    shape = rewards.shape
    if not (
        rewards.ndim == 2 and discounts.shape == values.shape == shape and bootstrap_value.shape == shape[1:]
    ):
        raise ShapeError(
            f"gae needs rewards, discounts, values [T, B] and bootstrap_value [B], got {tuple(shape)}, "
            f"{tuple(discounts.shape)}, {tuple(values.shape)}, {tuple(bootstrap_value.shape)}"
        )
    with torch.no_grad():
        next_values = torch.cat([values[1:], bootstrap_value[None]])
        deltas = rewards + discounts * next_values - values
        decay = discounts * lambda_
        advantages = torch.empty_like(values)
        running = torch.zeros_like(bootstrap_value)
        for t in range(shape[0] - 1, -1, -1):
            running = deltas[t] + decay[t] * running
            advantages[t] = running
        return GAEReturns(advantages, advantages + values)
