"""Q-learning over sequences: double, dueling, n-step (Kapturowski et al. 2019, "R2D2").

A network's heads are read as a dueling pair (Wang et al. 2016, eq. 8): the value head is the value of the
best action, the logits say how much worse the others are, in units of a temperature τ:

    Q(x, a) = V(x) + τ (l_a − max_b l_b)

So the policy that its softmax plays, everywhere in a league, is proportional to exp(Q / τ).
"""

from __future__ import annotations

from collections.abc import Iterator

import torch
from torch.nn import functional

from agents.algorithms.algorithm import Algorithm, Needs, Update
from agents.algorithms.config import LearningConfig, QLearningConfig
from agents.algorithms.lanes import Lanes
from agents.algorithms.loss import Loss, explained_variance
from agents.algorithms.replay import Replay
from agents.networks.distributions import ILLEGAL, ActionDistribution
from agents.networks.heads import Heads
from agents.networks.inputs import NetworkInputs
from agents.prefetch import PrefetchedFragment


class R2D2(Algorithm):
    """Keeps columns of fragments in a prioritised replay and learns from each several times."""

    def __init__(self, config: LearningConfig) -> None:
        self._replay = Replay(config.q_learning)

    @classmethod
    def needs(cls, config: LearningConfig) -> Needs:
        q = config.q_learning
        return Needs(
            epsilon=q.epsilon,
            sharpness=1.0 / q.temperature,
            references=("target",),
            data_parallel=False,  # its minibatches depend on what one process has learnt
            action_parts=False,  # it learns a value of every action
            continuous_actions=False,
        )

    def batch(self, fragment: PrefetchedFragment, update: Update) -> Lanes:
        lanes = Lanes.of(fragment, update.config)
        self._replay.add(lanes, update.version)
        self._replay.forget_before(update.version - update.config.max_policy_lag)
        return lanes

    def losses(self, batch: Lanes, update: Update) -> Iterator[Loss]:
        config, remembers = update.config, bool(update.spec.memory)
        first = config.burn_in if remembers else 0
        columns = max(1, config.minibatch // batch.steps)
        due = config.q_learning.replay_ratio * batch.steps * batch.count / (columns * batch.steps)
        for _ in range(max(1, round(due))):
            drawn, importance, places = self._replay.draw(columns, update.rng)
            obs, begins = drawn.obs[:-1], drawn.begins[:-1]
            inputs = NetworkInputs(obs.flatten(0, 1))
            if remembers:
                inputs = NetworkInputs(obs, drawn.memory, begins, first)
            drawn = drawn.later(first)
            legal = drawn.legal.flatten(0, 1)
            heads = update.heads(inputs, legal)
            target = update.reference_heads("target", inputs)
            loss, priorities = r2d2_loss(
                update.policy(heads, legal),
                heads.reshape(drawn.steps, drawn.count),
                target.reshape(drawn.steps, drawn.count),
                drawn,
                importance.to(legal.device),
                config.q_learning,
            )
            self._replay.reconsider(places, priorities)
            yield loss

    def reset(self) -> None:
        self._replay.clear()  # it is not stored: it fills again in a moment


def q_values(heads: Heads, legal: torch.Tensor, temperature: float) -> torch.Tensor:
    """Returns Q, [..., A], a very low one of what is not legal. Args: legal: bool [..., A]."""
    logits = heads.policy.masked_fill(~legal, ILLEGAL)
    worse = (logits - logits.amax(-1, keepdim=True)) * temperature
    return (heads.value[..., None] + worse).masked_fill(~legal, ILLEGAL)


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
    policy: ActionDistribution,
    heads: Heads,
    target_heads: Heads,
    lanes: Lanes,
    importance: torch.Tensor,
    config: QLearningConfig,
) -> tuple[Loss, torch.Tensor]:
    """The loss of columns drawn from a replay, and their new priorities, [B].

    Double Q-learning (van Hasselt et al. 2016): the network as it is chooses, the target network says what
    that is worth. Priorities are η max|δ| + (1 − η) mean|δ| over a column (R2D2, section 2.3).

    Args:
      policy: what the network plays, of the T·B decisions as rows.
      heads, target_heads: of the network as it is and of the target network, [T, B].
      importance: how much each column counts, [B].
    """
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
        nothing = torch.zeros(())
        loss = Loss(
            total,
            nothing,
            (errors.sum() / known.sum().clamp(min=1.0)).detach(),
            policy.entropy().detach(),
            nothing,
            nothing,
            explained_variance(taken, targets),
        )
    return loss._replace(total=total), priorities
