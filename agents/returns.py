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
    _require_shapes("gae", rewards, discounts, values, bootstrap_value)
    with torch.no_grad():
        next_values = torch.cat([values[1:], bootstrap_value[None]])
        deltas = rewards + discounts * next_values - values
        decay = discounts * lambda_
        advantages = torch.empty_like(values)
        running = torch.zeros_like(bootstrap_value)
        for t in range(len(values) - 1, -1, -1):
            running = deltas[t] + decay[t] * running
            advantages[t] = running
        return GAEReturns(advantages, advantages + values)


class VTraceReturns(NamedTuple):
    """targets: of the value function, [T, B]. advantages: of the policy, clipped ρ included, [T, B]."""

    targets: torch.Tensor
    advantages: torch.Tensor


def vtrace(
    rewards: torch.Tensor,
    discounts: torch.Tensor,
    values: torch.Tensor,
    bootstrap_value: torch.Tensor,
    ratios: torch.Tensor,
    *,
    lambda_: float = 1.0,
    clip_rho: float = 1.0,
    clip_c: float = 1.0,
    clip_pg_rho: float = 1.0,
) -> VTraceReturns:
    """V-trace targets and advantages for decisions taken by another policy (Espeholt et al. 2018, eq. 1).

    v_t − V_t = δ_t + γ_t c_t (v_{t+1} − V_{t+1}),   δ_t = min(ρ̄, ρ_t) (r_t + γ_t V_{t+1} − V_t),
    c_t = λ min(c̄, ρ_t);   A_t = min(ρ̄_pg, ρ_t) (r_t + γ_t [λ v_{t+1} + (1 − λ) V_{t+1}] − V_t)

    Args:
      rewards, discounts, values, bootstrap_value: as for `gae`; values are the learner's own now.
      ratios: ρ_t = π(a_t|x_t) / μ(a_t|x_t), [T, B].
      lambda_: λ in [0, 1]. clip_rho, clip_c, clip_pg_rho: ρ̄, c̄, ρ̄_pg.

    Returns:
      VTraceReturns, no gradient.

    Raises:
      ShapeError: when the inputs' [T, B] differ.
    """
    _require_shapes("vtrace", rewards, discounts, values, bootstrap_value, ratios)
    with torch.no_grad():
        next_values = torch.cat([values[1:], bootstrap_value[None]])
        deltas = ratios.clamp(max=clip_rho) * (rewards + discounts * next_values - values)
        decay = discounts * lambda_ * ratios.clamp(max=clip_c)
        errors = torch.empty_like(values)
        running = torch.zeros_like(bootstrap_value)
        for t in range(len(values) - 1, -1, -1):
            running = deltas[t] + decay[t] * running
            errors[t] = running
        targets = errors + values
        next_targets = torch.cat([targets[1:], bootstrap_value[None]])
        ahead = lambda_ * next_targets + (1.0 - lambda_) * next_values
        return VTraceReturns(targets, ratios.clamp(max=clip_pg_rho) * (rewards + discounts * ahead - values))


def td_lambda(
    rewards: torch.Tensor,
    discounts: torch.Tensor,
    values: torch.Tensor,
    bootstrap_value: torch.Tensor,
    *,
    lambda_: float = 0.8,
) -> torch.Tensor:
    """λ-returns (Sutton & Barto 2018, eq. 12.2, in its recursive form).

    G_t = r_t + γ_t [(1 − λ) V_{t+1} + λ G_{t+1}],   G_T = V_T

    Args:
      as for `gae`.

    Returns:
      G, [T, B], no gradient.

    Raises:
      ShapeError: when the inputs' [T, B] differ.
    """
    _require_shapes("td_lambda", rewards, discounts, values, bootstrap_value)
    with torch.no_grad():
        following = torch.full_like(values, lambda_)
        return _mixed_returns(rewards, discounts, values, bootstrap_value, following)


def upgo(
    rewards: torch.Tensor,
    discounts: torch.Tensor,
    values: torch.Tensor,
    bootstrap_value: torch.Tensor,
) -> torch.Tensor:
    """Upgoing returns (Vinyals et al. 2019, supplement): what was played is followed while it went well.

    G_t = r_t + γ_t (G_{t+1} if r_{t+1} + γ_{t+1} V_{t+2} ≥ V_{t+1} else V_{t+1}),   G_T = V_T

    Args:
      as for `gae`.

    Returns:
      G, [T, B], no gradient. The policy gradient's advantage is min(1, ρ_t) (G_t − V_t).

    Raises:
      ShapeError: when the inputs' [T, B] differ.
    """
    _require_shapes("upgo", rewards, discounts, values, bootstrap_value)
    with torch.no_grad():
        next_values = torch.cat([values[1:], bootstrap_value[None]])
        went_well = rewards + discounts * next_values >= values
        following = torch.cat([went_well[1:], torch.ones_like(went_well[:1])]).to(values.dtype)
        return _mixed_returns(rewards, discounts, values, bootstrap_value, following)


def _mixed_returns(
    rewards: torch.Tensor,
    discounts: torch.Tensor,
    values: torch.Tensor,
    bootstrap_value: torch.Tensor,
    following: torch.Tensor,
) -> torch.Tensor:
    """G_t = r_t + γ_t [(1 − f_t) V_{t+1} + f_t G_{t+1}]."""
    next_values = torch.cat([values[1:], bootstrap_value[None]])
    result = torch.empty_like(values)
    running = bootstrap_value
    for t in range(len(values) - 1, -1, -1):
        running = rewards[t] + discounts[t] * torch.lerp(next_values[t], running, following[t])
        result[t] = running
    return result


def _require_shapes(
    name: str,
    rewards: torch.Tensor,
    discounts: torch.Tensor,
    values: torch.Tensor,
    bootstrap_value: torch.Tensor,
    ratios: torch.Tensor | None = None,
) -> None:
    shape = rewards.shape
    others = [discounts, values] if ratios is None else [discounts, values, ratios]
    fits = all(t.shape == shape for t in others) and bootstrap_value.shape == shape[1:]
    if rewards.ndim != 2 or not fits:
        given = ", ".join(str(tuple(t.shape)) for t in (rewards, *others, bootstrap_value))
        raise ShapeError(f"{name} needs [T, B] throughout and bootstrap_value [B], got {given}")
