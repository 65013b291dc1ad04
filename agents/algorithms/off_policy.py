"""Policy gradients corrected for who acted: IMPALA, APPO (IMPACT) and AlphaStar's, over one minibatch.

Their targets come from the network as it is now, by V-trace, not from the values noted while acting.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, fields

import torch

from agents.algorithms.config import LearningConfig
from agents.algorithms.loss import Loss, approximate_kl, explained_variance, log_prob_and_entropy, masked
from agents.returns import td_lambda, upgo, vtrace


@dataclass(frozen=True)
class Lanes:
    """Some columns of a fragment: T decisions of each, and what was seen after the last.

    Attributes:
      obs: [T + 1, B, D]. legal: bool [T, B, A]. actions: int64 [T, B]. log_probs: log μ, [T, B].
      rewards: [T, B]. discounts: γ, 0 after a terminal decision, [T, B].
      begins: an episode begins with what is seen here, bool [T + 1, B].
      memory: of the acting network before the first decision, [B, M]; M 0: it has none.
    """

    obs: torch.Tensor
    legal: torch.Tensor
    actions: torch.Tensor
    log_probs: torch.Tensor
    rewards: torch.Tensor
    discounts: torch.Tensor
    begins: torch.Tensor
    memory: torch.Tensor

    def part(self, columns: slice | torch.Tensor) -> Lanes:
        """Returns some of the columns; copies, when they are named by number."""
        return self._like(lambda t: t[:, columns], self.memory[columns])

    def later(self, first: int) -> Lanes:
        """Returns the decisions from `first` on; the memory is still what was before them all."""
        return self._like(lambda t: t[first:], self.memory)

    def empty(self, columns: int) -> Lanes:
        """Returns room for so many columns like these."""
        return self._like(
            lambda t: t.new_zeros((len(t), columns, *t.shape[2:])),
            self.memory.new_zeros((columns, *self.memory.shape[1:])),
        )

    def put(self, columns: torch.Tensor, others: Lanes) -> None:
        """Writes others' columns in the place of these."""
        for field in fields(self):
            mine, theirs = getattr(self, field.name), getattr(others, field.name)
            if field.name == "memory":
                mine[columns] = theirs
            else:
                mine[:, columns] = theirs

    def _like(self, part: Callable[[torch.Tensor], torch.Tensor], memory: torch.Tensor) -> Lanes:
        parts = {f.name: part(getattr(self, f.name)) for f in fields(self) if f.name != "memory"}
        return Lanes(**parts, memory=memory)


def off_policy_loss(
    heads: torch.Tensor,
    lanes: Lanes,
    config: LearningConfig,
    *,
    entropy_coefficient: float,
    target_heads: torch.Tensor | None = None,
    factors: tuple[int, ...] = (),
    value_std: torch.Tensor | float = 1.0,
) -> Loss:
    """The loss of `config.algorithm`: impala, appo or alphastar.

    impala: −E[A log π] with V-trace's advantages and targets (Espeholt et al. 2018).
    appo: −E[min(ρ A, clip(ρ) A)], ρ = π / π_target, V-trace by π_target / μ (IMPACT, Luo et al. 2020).
    alphastar: impala's with λ < 1, plus c E[min(1, ρ) (G_upgo − V) log π], value targets by TD(λ)
      (Vinyals et al. 2019).

    Args:
      heads: logits and value of the network as it is, [T + 1, B, A + 1].
      target_heads: the same of the target network, for appo.
      factors: choices of each part of an action, A in all; empty: it has one part.
      value_std: what errors of the value are measured by.
    """
    steps = lanes.actions.numel()
    actions, legal = lanes.actions.reshape(steps), lanes.legal.reshape(steps, -1)
    logits = masked(heads[:-1, :, :-1].reshape(steps, -1), legal)
    values = heads[:-1, :, -1]
    log_probs, entropy = log_prob_and_entropy(logits, actions, factors)
    log_probs = log_probs.reshape(lanes.actions.shape)
    with torch.no_grad():
        reference = log_probs
        if target_heads is not None:
            of_target = masked(target_heads[:-1, :, :-1].reshape(steps, -1), legal)
            reference = log_prob_and_entropy(of_target, actions, factors)[0].reshape(log_probs.shape)
        ratios = (reference - lanes.log_probs).exp()
        trace = lanes.rewards, lanes.discounts, values.detach(), heads[-1, :, -1].detach()
        found = vtrace(
            *trace, ratios, lambda_=config.gae_lambda, clip_rho=config.clip_rho, clip_c=config.clip_c
        )
        advantages = _standardised(found.advantages)
    clip_fraction = (ratios > config.clip_rho).float().mean()
    targets = found.targets
    if config.algorithm == "appo":
        # V-trace's advantages hold min(1, π_target / μ) already; the surrogate is against the target network.
        ratio = (log_probs - reference).exp()
        clipped = ratio.clamp(1.0 - config.clip, 1.0 + config.clip)
        policy = -torch.minimum(ratio * advantages, clipped * advantages).mean()
        clip_fraction = (ratio != clipped).float().mean()
    else:
        policy = -(advantages * log_probs).mean()
    if config.algorithm == "alphastar":
        upgoing = ratios.clamp(max=1.0) * (upgo(*trace) - values.detach())
        policy = policy - config.upgo_coefficient * (_standardised(upgoing) * log_probs).mean()
        targets = td_lambda(*trace, lambda_=config.gae_lambda)
    value = 0.5 * ((values - targets) / value_std).square().mean()
    total = policy + config.value_coefficient * value - entropy_coefficient * entropy
    with torch.no_grad():
        return Loss(
            total,
            policy.detach(),
            value.detach(),
            entropy.detach(),
            approximate_kl((log_probs - lanes.log_probs).reshape(steps)),
            clip_fraction,
            explained_variance(values, targets),
        )


def _standardised(advantages: torch.Tensor) -> torch.Tensor:
    return (advantages - advantages.mean()) / (advantages.std(correction=0) + 1e-8)
