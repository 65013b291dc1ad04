"""The network that fits a game."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from agents.errors import AgentError
from agents.networks.spec import ENCODERS, NetworkSpec, PartSpec
from envs.spec import GameSpec


def spec_for(
    game: GameSpec, *, kind: str = "mlp", encoders: Mapping[str, str] | None = None, **numbers: Any
) -> NetworkSpec:
    """Returns the spec of a network for a game.

    Args:
      kind: of a game that shows named arrays an mlp means `encoders`, one for each.
      encoders: of named arrays, where it is not to be the one that its shape suggests.
      **numbers: the spec's other fields.

    Raises:
      AgentError: an encoder for an array that the game does not show, or of another shape.
    """
    parts: tuple[PartSpec, ...] = ()
    if game.observation_parts:
        kind = "encoders" if kind == "mlp" else kind
        if kind == "encoders":
            parts = _parts(game, encoders or {})
        elif kind in ("cnn", "attention"):
            raise AgentError(f"{kind} needs one array; {game.game_id} shows named ones; use encoders")
    elif kind == "encoders" or encoders:
        raise AgentError(
            f"encoders need named arrays; {game.game_id} shows one; of an environment with dictionaries "
            "add the parameter observations=named to its id"
        )
    highest = 1.0
    if not parts and game.observation_dtype == np.uint8:
        highest = max(float(np.max(getattr(s.observation_space, "high", 1.0))) for s in game.seats)
    return NetworkSpec(
        game.observation_size,
        game.policy_size,
        kind=kind,
        factors=game.action_factors if len(game.action_factors) > 1 else (),
        scale=1.0 / max(1.0, highest),
        observation_shape=game.observation_shape if kind in ("cnn", "attention") else (),
        distribution="gaussian" if game.action_size else "",
        parts=parts,
        **numbers,
    )


def _parts(game: GameSpec, encoders: Mapping[str, str]) -> tuple[PartSpec, ...]:
    known = [part.name for part in game.observation_parts]
    for name, encoder in encoders.items():
        if name not in known:
            raise AgentError(f"encoders.{name}: {game.game_id} shows {', '.join(known)}")
        if encoder not in ENCODERS:
            raise AgentError(f"encoders.{name}: {encoder!r}; allowed: {', '.join(ENCODERS)}")
    result = []
    for part in game.observation_parts:
        encoder = encoders.get(part.name) or {3: "cnn", 2: "set"}.get(len(part.shape), "mlp")
        needed = {"cnn": 3, "set": 2}.get(encoder)
        if needed is not None and len(part.shape) != needed:
            what = "planes, rows and columns" if needed == 3 else "rows, an entity each"
            raise AgentError(f"encoders.{part.name}: {encoder} needs {what}; it is {list(part.shape)}")
        result.append(PartSpec(part.name, part.dtype, part.shape, part.high, encoder))
    return tuple(result)
