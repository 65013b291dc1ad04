"""Weights as bytes: safetensors with JSON in the header, never pickle."""

from __future__ import annotations

import json
import struct
from typing import Any

import torch
from safetensors import SafetensorError
from safetensors import torch as safetensors_torch
from torch import nn

from agents.errors import WeightsError
from agents.networks import build as networks
from agents.networks.spec import NetworkSpec

_KEY = "league"
# Where a learner's state keeps the network's weights.
STATE_PREFIX = "network/"


def dump(tensors: dict[str, torch.Tensor], metadata: dict[str, Any]) -> bytes:
    """Returns the safetensors bytes of tensors, with `metadata` (JSON) in their header."""
    contiguous = {name: t.detach().cpu().contiguous() for name, t in tensors.items()}
    data: bytes = safetensors_torch.save(contiguous, metadata={_KEY: json.dumps(metadata, sort_keys=True)})
    return data


def load(data: bytes) -> tuple[dict[str, torch.Tensor], dict[str, Any]]:
    """Returns the tensors and the metadata.

    Raises:
      WeightsError: not safetensors, truncated, or without the league's header.
    """
    try:
        tensors = safetensors_torch.load(data)
        (length,) = struct.unpack("<Q", data[:8])
        metadata = json.loads(json.loads(data[8 : 8 + length])["__metadata__"][_KEY])
    except (SafetensorError, struct.error, ValueError, KeyError) as error:
        raise WeightsError(f"not a league checkpoint: {error}") from error
    return tensors, metadata


def load_any(data: bytes) -> dict[str, torch.Tensor]:
    """Returns the tensors of any safetensors bytes. Raises: WeightsError: they are none, or cut off."""
    try:
        tensors: dict[str, torch.Tensor] = safetensors_torch.load(data)
    except (SafetensorError, ValueError, KeyError) as error:
        raise WeightsError(str(error)) from error
    return tensors


def checkpoint_of(tensors: dict[str, torch.Tensor], spec: NetworkSpec) -> bytes:
    """Returns a checkpoint of tensors from elsewhere.

    Raises:
      WeightsError: they do not fit the network, or are not finite.
    """
    network = networks.build(spec, seed=0)
    try:
        network.load_state_dict(of_network(tensors) or tensors)
    except RuntimeError as error:
        raise WeightsError(" ".join(str(error).split())[:1000]) from error
    bad = [name for name, t in network.state_dict().items() if not bool(torch.isfinite(t).all())]
    if bad:
        raise WeightsError(f"{', '.join(bad)} is not finite")
    return dump_network(network, spec)


def dump_network(network: nn.Module, spec: NetworkSpec) -> bytes:
    """Returns a checkpoint: the weights and the spec they belong to."""
    return dump(network.state_dict(), {"network": spec.to_json()})


def load_network(data: bytes) -> tuple[nn.Module, NetworkSpec]:
    """Builds the network that a checkpoint, or a learner's state, holds.

    Raises:
      WeightsError: the tensors do not fit the spec beside them.
    """
    tensors, metadata = load(data)
    try:
        spec = NetworkSpec.from_json(metadata["network"])
        network = networks.build(spec, seed=0)
        network.load_state_dict(of_network(tensors) or tensors)
    except (KeyError, TypeError, RuntimeError) as error:
        raise WeightsError(f"the checkpoint's weights do not fit its network: {error}") from error
    return network, spec


def of_network(state: dict[str, torch.Tensor]) -> dict[str, torch.Tensor]:
    """Returns the network's weights out of a learner's state; none out of anything else."""
    return {k.removeprefix(STATE_PREFIX): t for k, t in state.items() if k.startswith(STATE_PREFIX)}
