"""A member of the pool made to play: its bot, its checkpoint, or a learning one as it was last stored."""

from __future__ import annotations

import torch

from agents import weights
from agents.bots import make_bot
from agents.policy import NetworkPolicy, Policy
from envs.spec import GameSpec
from league.checkpoints import CheckpointStore


def load_policy(
    store: CheckpointStore,
    spec: GameSpec,
    *,
    bot: str | None,
    checkpoint: str | None,
    seed: int,
    dtype: torch.dtype,
) -> Policy:
    """Returns what chooses a player's actions.

    Args:
      bot: its id, for a bot. checkpoint: sha256 of its weights or of its learning state, for a network.
      seed: of a bot that draws. dtype: of the network's arithmetic.

    Raises:
      CheckpointError: missing or damaged. WeightsError: not a player's. UnknownBotError: no such bot.
    """
    if bot is not None:
        return make_bot(bot, spec, seed)
    assert checkpoint is not None  # noqa: S101  a player has one or the other
    network, _ = weights.load_network(store.get(checkpoint))
    return NetworkPolicy(network, dtype)
