"""A member of the pool made to play: its bot, its checkpoint, or a learning one as it was last stored.

Besides the bots that `agents` knows, a bot's id may be `onnx:SHA256` or `torchscript:SHA256`, a model in the
checkpoint store, `search:N`, a network that looks ahead, or a URL, a policy that lives elsewhere.
"""

from __future__ import annotations

import torch
from torch import nn

from agents.acting.policy import NetworkPolicy, Policy
from agents.acting.search import SearchPolicy
from agents.errors import UnknownBotError, WeightsError
from agents.networks import weights
from agents.players.bots import make_bot
from agents.players.exported import ExportedPolicy, OnnxModel, TorchScriptModel
from agents.players.remote import RemotePolicy
from envs.spec import GameSpec
from league.errors import CheckpointError
from league.store.checkpoints import CheckpointStore

# `search:N` beside a checkpoint: its network looks at N positions before each move.
SEARCH, MOST_SIMULATIONS = "search", 4096
MODELS: dict[str, type[OnnxModel] | type[TorchScriptModel]] = {
    "onnx": OnnxModel,
    "torchscript": TorchScriptModel,
}


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
      bot: its id, for a bot, a model or a URL.
      checkpoint: sha256 of its weights or of its learning state, for a network; of `search:N` too.
      seed: of a bot that draws. dtype: of the network's arithmetic.

    Raises:
      CheckpointError: missing or damaged. WeightsError: not a player's. UnknownBotError: no such bot.
    """
    if bot is not None:
        kind, _, rest = bot.partition(":")
        if (kind in MODELS or kind in ("http", "https")) and (spec.observation_parts or spec.action_size):
            raise WeightsError(
                f"{kind} policies play games of one observation array and discrete actions; "
                f"{spec.game_id} has named arrays or continuous actions"
            )
        if kind in MODELS:
            return ExportedPolicy(MODELS[kind](store.get(rest)), spec.observation_size, spec.num_actions)
        if kind in ("http", "https"):
            return RemotePolicy(bot, spec.num_actions)
        if kind == SEARCH:
            if checkpoint is None or not rest.isdecimal() or not 1 <= int(rest) <= MOST_SIMULATIONS:
                raise UnknownBotError(
                    f"{bot}: search:N of a player with a network, N up to {MOST_SIMULATIONS}"
                )
            return SearchPolicy(NetworkPolicy(load_network(store, spec, checkpoint), dtype), spec, int(rest))
        return make_bot(bot, spec, seed)
    if checkpoint is None:
        raise CheckpointError("the weights of this player are lost")
    return NetworkPolicy(load_network(store, spec, checkpoint), dtype)


def load_network(store: CheckpointStore, spec: GameSpec, checkpoint: str) -> nn.Module:
    """Returns the network of a checkpoint. Raises: as `load_policy`."""
    network, network_spec = weights.load_network(store.get(checkpoint))
    sizes = (network_spec.observation_size, network_spec.num_actions)
    if sizes != (spec.observation_size, spec.policy_size):
        raise WeightsError(
            f"a network for {sizes[0]} numbers and {sizes[1]} actions; {spec.game_id} shows "
            f"{spec.observation_size} and takes {spec.policy_size}"
        )
    return network
