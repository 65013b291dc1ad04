"""Policy distillation: many players made one, by what they would play (Rusu et al. 2016)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise

import numpy as np
import numpy.typing as npt
import torch
from torch import nn

from agents.acting.policy import NetworkPolicy
from agents.errors import AgentError
from agents.networks import build as networks
from agents.networks import weights
from agents.networks.distributions import distribution_of
from agents.networks.heads import split_heads
from agents.networks.spec import NetworkSpec
from envs.actions import compose
from envs.vector_game import VectorGame

# Of the decisions at the end, not learnt from but measured.
MEASURED = 0.1


@dataclass(frozen=True)
class Distilled:
    """What came of it.

    `kl`: KL(player ‖ student) in nats, the mean over the last tenth of the decisions, which it has not learnt
    from; `kl_before`: before it had learnt anything.
    """

    checkpoint: bytes
    decisions: int
    kl: float
    kl_before: float


def distil(
    game: VectorGame,
    players: Sequence[NetworkPolicy],
    shares: npt.ArrayLike,
    spec: NetworkSpec,
    *,
    decisions: int = 1_000_000,
    learning_rate: float = 1e-3,
    minibatch: int = 4096,
    seed: int = 0,
) -> Distilled:
    """Makes a network that plays as the players do, each sitting down for a whole game as often as its share.

    What it learns in a position is therefore what those play there who come there: their mixture, by their
    own chances of getting so far (Heinrich et al. 2015). Its value is the mean of what theirs say.

    Args:
      shares: of the players, [N], adding up to something above 0.
      decisions: played and learnt from.

    Raises:
      AgentError: somebody remembers, or nobody is there.
    """
    if spec.memory or any(p.memory_size for p in players):
        raise AgentError("distillation supports only networks without memory (network.memory)")
    if game.spec.observation_parts or game.spec.action_size:
        raise AgentError("distillation supports only games with one observation array and discrete actions")
    if not players:
        raise AgentError("nobody to distil: no player with a network")
    chances = np.asarray(shares, np.float64) / np.sum(shares)
    rng = np.random.default_rng(seed)
    student = networks.build(spec, seed)
    optimiser = torch.optim.Adam(student.parameters(), lr=learning_rate)
    sides = np.array(game.spec.side_of_seat)
    seated = rng.choice(len(players), (game.num_envs, len(game.spec.sides)), p=chances)
    batch: list[list[npt.NDArray[np.float32]]] = []
    waiting = played = 0
    before, measured = float("nan"), []
    while played < decisions:
        turns = game.turns()
        obs = turns.obs.reshape(len(turns.env), -1).astype(np.float32)
        who = seated[turns.env, sides[turns.seat]]
        heads = np.zeros((len(obs), spec.num_actions + 1), np.float32)
        for k in np.unique(who).tolist():
            heads[who == k] = players[k].heads(obs[who == k])
        actions = _drawn(heads[:, :-1], turns.legal, game.spec.action_factors, rng)
        batch.append([obs, turns.legal.astype(np.float32), heads])
        step = game.step(actions)
        over = np.flatnonzero(step.ended)
        seated[over] = rng.choice(len(players), (len(over), seated.shape[1]), p=chances)
        waiting += len(obs)
        if waiting < minibatch:
            continue
        rows = [torch.from_numpy(np.concatenate(column)) for column in zip(*batch, strict=True)]
        kl, value = _losses(student, rows, spec)
        played, waiting, batch = played + waiting, 0, []
        before = float(kl.detach()) if np.isnan(before) else before
        if played > (1.0 - MEASURED) * decisions:
            measured.append(float(kl.detach()))
            continue
        if spec.normalise:
            student.observe(rows[0])  # type: ignore[operator]
        for group in optimiser.param_groups:
            group["lr"] = learning_rate * max(0.02, 1.0 - played / decisions)
        optimiser.zero_grad(set_to_none=True)
        (kl + 0.5 * value).backward()  # type: ignore[no-untyped-call]
        nn.utils.clip_grad_norm_(student.parameters(), 1.0)
        optimiser.step()
    kl_after = float(np.mean(measured)) if measured else before
    return Distilled(weights.dump_network(student, spec), played, kl_after, before)


def _drawn(
    logits: npt.NDArray[np.float32],
    legal: npt.NDArray[np.bool_],
    factors: Sequence[int],
    rng: np.random.Generator,
) -> npt.NDArray[np.int64]:
    """Draws each part of an action by its softmax: the largest logit with Gumbel noise on it."""
    noisy = np.where(legal, logits + rng.gumbel(size=logits.shape), -np.inf)
    parts = [noisy[:, a:b].argmax(axis=1) for a, b in pairwise(np.cumsum([0, *factors]).tolist())]
    return compose(np.stack(parts, axis=1), factors)


def _losses(
    student: nn.Module, rows: list[torch.Tensor], spec: NetworkSpec
) -> tuple[torch.Tensor, torch.Tensor]:
    obs, legal, wanted = rows[0], rows[1] > 0, rows[2]
    make, heads, teachers = distribution_of(spec), split_heads(student(obs), spec), split_heads(wanted, spec)
    kl = make(teachers.policy, legal).kl_to(make(heads.policy, legal))
    return kl, (heads.value - teachers.value).square().mean()
