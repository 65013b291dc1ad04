"""Behaviour cloning: a network that plays as recorded games were played (Pomerleau 1989)."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
import torch
from torch import nn

from agents.errors import AgentError
from agents.networks import build as networks
from agents.networks import weights
from agents.networks.distributions import mask_logits
from agents.networks.spec import NetworkSpec

HELD_OUT = 0.1


@dataclass(frozen=True)
class Demonstrations:
    """Decisions of recorded games.

    Attributes:
      obs: float32 [N, D]. legal: bool [N, A]. actions: int64 [N].
      outcomes: what the one who decided got in the end, [N].
      game: which game each is of, [N]; whole games are held out.
    """

    obs: npt.NDArray[np.float32]
    legal: npt.NDArray[np.bool_]
    actions: npt.NDArray[np.int64]
    outcomes: npt.NDArray[np.float32]
    game: npt.NDArray[np.int64]

    @classmethod
    def of(
        cls,
        episodes: Iterable[dict[str, Any]],
        spec: NetworkSpec,
        *,
        players: Sequence[str] = (),
        winners: bool = False,
    ) -> Demonstrations:
        """Reads games as the API and `league matches replay --json` give them.

        Args:
          episodes: each with `returns` by seat and `moves`: seat, player, action, legal, observation.
          players: whose decisions; of everybody without. winners: only of seats that got the most.

        Raises:
          AgentError: a move does not fit the network, or no decision is left.
        """
        rows: list[tuple[list[float], list[int], int, float, int]] = []
        for number, episode in enumerate(episodes):
            returns = episode["returns"]
            for move in episode["moves"]:
                if (players and move.get("player") not in players) or "observation" not in move:
                    continue
                outcome = float(returns[move["seat"]])
                if winners and outcome < max(returns):
                    continue
                legal = move.get("legal") or list(range(spec.num_actions))
                observation, action = move["observation"], move["action"]
                fits = (
                    len(observation) == spec.observation_size
                    and max(legal) < spec.num_actions
                    and action in legal
                )
                if not fits:
                    raise AgentError(
                        f"game {number}: a move of {len(observation)} numbers and action {action} out of "
                        f"{legal[:20]}; the network takes {spec.observation_size} numbers and "
                        f"{spec.num_actions} actions"
                    )
                rows.append((observation, legal, action, outcome, number))
        if not rows:
            raise AgentError("no decision to learn from: the games hold no observations of these players")
        allowed = np.zeros((len(rows), spec.num_actions), np.bool_)
        for k, (_, legal, *_) in enumerate(rows):
            allowed[k, legal] = True
        return cls(
            np.array([row[0] for row in rows], np.float32),
            allowed,
            np.array([row[2] for row in rows], np.int64),
            np.array([row[3] for row in rows], np.float32),
            np.array([row[4] for row in rows], np.int64),
        )


@dataclass(frozen=True)
class Imitation:
    """What came of it.

    `accuracy`, `log_loss`: on games held out, how often the likeliest action is the one that was played, and
    −log π of it, in nats; `uniform_log_loss`: that of knowing nothing.
    """

    checkpoint: bytes
    decisions: int
    games: int
    accuracy: float
    log_loss: float
    uniform_log_loss: float


def imitate(
    demonstrations: Demonstrations,
    spec: NetworkSpec,
    *,
    epochs: int = 20,
    learning_rate: float = 1e-3,
    minibatch: int = 1024,
    seed: int = 0,
) -> Imitation:
    """Trains a network to play as it was played and to expect what came of it.

    The weights kept are those of the epoch with the smallest loss on the games held out.

    Raises:
      AgentError: the network remembers; decisions are learnt one by one.
    """
    if spec.memory:
        raise AgentError("imitation supports only networks without memory (network.memory)")
    d = demonstrations
    rng = torch.Generator().manual_seed(seed)
    games = np.unique(d.game)
    order = np.random.default_rng(seed).permutation(games)
    held = (
        set(order[: max(1, round(HELD_OUT * len(games)))].tolist()) if len(games) > 1 else set(games.tolist())
    )
    test = np.isin(d.game, list(held))
    train = ~test if len(games) > 1 else test
    tensors = [torch.tensor(x) for x in (d.obs, d.legal, d.actions, d.outcomes)]
    learn, check = ([t[torch.tensor(part)] for t in tensors] for part in (train, test))
    network = networks.build(spec, seed)
    if spec.normalise:
        network.observe(learn[0])  # type: ignore[operator]
    optimiser = torch.optim.Adam(network.parameters(), lr=learning_rate)
    best, kept, accuracy = np.inf, weights.dump_network(network, spec), 0.0
    for _ in range(epochs):
        for rows in torch.split(torch.randperm(len(learn[0]), generator=rng), minibatch):
            policy, value, _ = _losses(network, [t[rows] for t in learn])
            optimiser.zero_grad(set_to_none=True)
            (policy + 0.5 * value).backward()  # type: ignore[no-untyped-call]
            nn.utils.clip_grad_norm_(network.parameters(), 1.0)
            optimiser.step()
        with torch.no_grad():
            policy, _, right = _losses(network, check)
        if float(policy) < best:
            best, kept, accuracy = float(policy), weights.dump_network(network, spec), float(right)
    choices = check[1].sum(-1).float()
    return Imitation(kept, len(d.actions), len(games), accuracy, float(best), float(choices.log().mean()))


def _losses(network: nn.Module, rows: list[torch.Tensor]) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor]:
    """Returns (−log π of what was played, value loss, share of likeliest actions that were played)."""
    obs, legal, actions, outcomes = rows
    heads = network(obs)
    logits = mask_logits(heads[:, : legal.shape[1]], legal)
    policy = nn.functional.cross_entropy(logits, actions)
    value = 0.5 * (heads[:, legal.shape[1]] - outcomes).square().mean()
    return policy, value, (logits.argmax(-1) == actions).float().mean()
