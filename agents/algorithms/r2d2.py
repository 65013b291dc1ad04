"""Q-learning over sequences: double, dueling, n-step (Kapturowski et al. 2019, "R2D2").

A network's heads are read as a dueling pair (Wang et al. 2016, eq. 8): the value head is the value of the
best action, the logits say how much worse the others are, in units of a temperature τ:

    Q(x, a) = V(x) + τ (l_a − max_b l_b)

So the policy that its softmax plays, everywhere in a league, is proportional to exp(Q / τ).
"""

from __future__ import annotations

import torch
from torch.nn import functional

from agents.algorithms.config import QLearningConfig
from agents.algorithms.loss import Loss, explained_variance, log_prob_and_entropy, masked
from agents.algorithms.off_policy import Lanes


def q_values(heads: torch.Tensor, legal: torch.Tensor, temperature: float) -> torch.Tensor:
    """Returns Q, [..., A], −1e9 of what is not legal. Args: heads: [..., A + 1]. legal: bool [..., A]."""
    logits = heads[..., :-1].masked_fill(~legal, -1e9)
    worse = (logits - logits.amax(-1, keepdim=True)) * temperature
    return (heads[..., -1:] + worse).masked_fill(~legal, -1e9)


def n_step_targets(
    rewards: torch.Tensor, discounts: torch.Tensor, bootstrap: torch.Tensor, n: int
) -> torch.Tensor:
    """Returns r_t + γ r_{t+1} + … + γⁿ V(x_{t+n}) for every decision, [T, B], n fewer at the end.

    The last decision of a column that does not end an episode has no successor here: its target is its own
    bootstrap value, and is not to be learnt from.

    Args:
      rewards, discounts: [T, B]; γ is 0 after a terminal decision. bootstrap: V(x_t), [T, B].
    """
    targets = bootstrap
    ends = discounts[-1] == 0.0
    for _ in range(n):
        later = torch.cat([targets[1:], torch.zeros_like(targets[:1])])
        targets = rewards + discounts * later
        last = torch.where(ends, targets[-1], bootstrap[-1])
        targets = torch.cat([targets[:-1], last[None]])
    return targets


def r2d2_loss(
    heads: torch.Tensor,
    target_heads: torch.Tensor,
    lanes: Lanes,
    importance: torch.Tensor,
    config: QLearningConfig,
    factors: tuple[int, ...] = (),
) -> tuple[Loss, torch.Tensor]:
    """The loss of columns drawn from a replay, and their new priorities, [B].

    Double Q-learning (van Hasselt et al. 2016): the network as it is chooses, the target network says what
    that is worth. Priorities are η max|δ| + (1 − η) mean|δ| over a column (R2D2, section 2.3).

    Args:
      heads, target_heads: of the network as it is and of the target network, [T, B, A + 1].
      importance: how much each column counts, [B].
    """
    steps = lanes.actions.numel()
    q = q_values(heads, lanes.legal, config.temperature)
    taken = q.gather(-1, lanes.actions[..., None])[..., 0]
    with torch.no_grad():
        best = q.argmax(-1, keepdim=True)
        worth = q_values(target_heads, lanes.legal, config.temperature).gather(-1, best)[..., 0]
        targets = n_step_targets(lanes.rewards, lanes.discounts, worth, config.n_step)
        known = torch.ones_like(targets)
        known[-1] = (lanes.discounts[-1] == 0.0).float()
    errors = functional.smooth_l1_loss(taken, targets, reduction="none") * known
    total = (errors * importance).sum() / known.sum().clamp(min=1.0)
    with torch.no_grad():
        gaps = (taken - targets).abs() * known
        mean = gaps.sum(0) / known.sum(0).clamp(min=1.0)
        priorities = config.eta * gaps.amax(0) + (1.0 - config.eta) * mean
        flat = masked(heads[..., :-1].reshape(steps, -1), lanes.legal.reshape(steps, -1))
        _, entropy = log_prob_and_entropy(flat, lanes.actions.reshape(steps), factors)
        nothing = torch.zeros(())
        loss = Loss(
            total,
            nothing,
            (errors.sum() / known.sum().clamp(min=1.0)).detach(),
            entropy,
            nothing,
            nothing,
            explained_variance(taken, targets),
        )
    return loss._replace(total=total), priorities
