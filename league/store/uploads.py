"""Weights from outside: looked at before anything is built of them, and never unpickled.

What is accepted is numbers with a shape: safetensors with a network's description, or a model in ONNX. A
TorchScript archive is taken too; its weights are read by torch's own restricted reader and its code can
compute tensors and nothing else, but it is a larger surface, so it asks for the admin scope.
"""

from __future__ import annotations

import io
import json
import math
import struct
import zipfile
from dataclasses import dataclass
from typing import Any

from league.errors import BadRequestError

SAFETENSORS, ONNX, TORCHSCRIPT = "safetensors", "onnx", "torchscript"
# A header says what is in the file; nobody's network needs a longer one.
MOST_HEADER_BYTES = 10_000_000
MOST_LAYERS, MOST_WIDTH, MOST_CHANNELS, MOST_BLOCKS = 16, 8192, 512, 64
MOST_UNPACKED = 1_000_000_000
MOST_RATIO = 100


@dataclass(frozen=True)
class Upload:
    """What has been looked at and found good. `data` is what is to be stored."""

    kind: str
    data: bytes
    summary: dict[str, Any]


def inspect(data: bytes, network: str | None = None) -> Upload:
    """Returns what an upload is.

    Args:
      network: its description as JSON (`{"observation_size": 126, "num_actions": 7, "hidden": [128, 128]}`),
        for safetensors that do not carry League's own.

    Raises:
      BadRequestError: it is none of the formats, damaged, a bomb, or its numbers are not finite.
    """
    if data[:4] == b"PK\x03\x04":
        return _torchscript(data)
    if len(data) > 8 and data[8:9] == b"{":
        return _safetensors(data, network)
    if data[:1] == b"\x80":
        raise BadRequestError("this is a pickle, which can run code when it is read; save it as safetensors")
    return _onnx(data)


def _safetensors(data: bytes, network: str | None) -> Upload:
    from agents.errors import AgentError
    from agents.networks import weights

    header = _header(data)
    if network is not None:
        described = _description(network)
    else:
        try:
            described = json.loads(header["__metadata__"]["league"])["network"]
        except (KeyError, TypeError, ValueError) as error:
            raise BadRequestError(
                "these weights do not say what network they are of; give it as ?network={JSON}"
            ) from error
    spec = _spec(described)
    # Compared before anything is built: a description may claim a network of any size.
    claimed = spec.num_parameters
    carried = sum(math.prod(t["shape"]) for name, t in header.items() if name != "__metadata__")
    if carried < claimed:
        raise BadRequestError(f"the network described has {claimed:,} numbers, the file {carried:,}")
    try:
        checkpoint = weights.checkpoint_of(weights.load_any(data), spec)
    except AgentError as error:
        raise BadRequestError(f"not a network's weights: {error}") from error
    return Upload(SAFETENSORS, checkpoint, {"network": spec.to_json()})


def _header(data: bytes) -> dict[str, Any]:
    """Returns a safetensors file's header, read by hand: its sizes are somebody's claim."""
    (length,) = struct.unpack("<Q", data[:8])
    if length > min(len(data) - 8, MOST_HEADER_BYTES):
        raise BadRequestError("not safetensors, or cut off: its header is longer than the file")
    try:
        header = json.loads(data[8 : 8 + length])
        body = len(data) - 8 - length
        for name, tensor in header.items():
            if name == "__metadata__":
                continue
            begin, end = tensor["data_offsets"]
            if not (
                0 <= begin <= end <= body and all(isinstance(n, int) and n >= 0 for n in tensor["shape"])
            ):
                raise BadRequestError(f"not safetensors, or cut off: tensor {name!r} lies outside the file")
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError) as error:
        raise BadRequestError("not safetensors: its header cannot be read") from error
    return dict(header)


def _description(network: str) -> Any:
    try:
        return json.loads(network)
    except (ValueError, RecursionError) as error:
        raise BadRequestError(f"network: not JSON: {error}") from error


def _spec(described: Any) -> Any:
    from agents.networks.spec import KINDS, MEMORIES, NetworkSpec

    if not isinstance(described, dict):
        raise BadRequestError('network: an object such as {"observation_size": 126, "num_actions": 7}')
    known = set(NetworkSpec.__dataclass_fields__)
    if unknown := sorted(map(str, set(described) - known)):
        raise BadRequestError(
            f"network: unknown {', '.join(unknown)[:200]}; known: {', '.join(sorted(known))}"
        )
    hidden = described.get("hidden", [128, 128])
    whole = [described.get("observation_size"), described.get("num_actions")]
    if not (isinstance(hidden, list) and 1 <= len(hidden) <= MOST_LAYERS):
        raise BadRequestError(f"network.hidden: 1 to {MOST_LAYERS} widths")
    if not all(type(n) is int and 1 <= n <= MOST_WIDTH for n in hidden):
        raise BadRequestError(f"network.hidden: whole numbers from 1 to {MOST_WIDTH}")
    if not all(type(n) is int and 1 <= n <= 1_000_000 for n in whole):
        raise BadRequestError("network: observation_size and num_actions are whole numbers from 1")
    factors, scale = described.get("factors", []), described.get("scale", 1.0)
    if not (isinstance(factors, list) and all(type(n) is int and n > 0 for n in factors)):
        raise BadRequestError("network.factors: whole numbers from 1")
    for name, number in (("scale", scale), ("sharpness", described.get("sharpness", 1.0))):
        if type(number) not in (int, float) or not math.isfinite(number):
            raise BadRequestError(f"network.{name}: a number")
    kind = described.get("kind", "mlp")
    if kind not in KINDS or type(described.get("normalise", False)) is not bool:
        raise BadRequestError(f"network: kind is {', '.join(KINDS)}; normalise is true or false")
    shape = described.get("observation_shape", [])
    if not (isinstance(shape, list) and all(type(n) is int and 0 < n <= 100_000 for n in shape)):
        raise BadRequestError("network.observation_shape: whole numbers from 1")
    parts = {"cnn": ("planes", "rows", "columns"), "attention": ("entities", "features")}.get(kind)
    if parts and (len(shape) != len(parts) or math.prod(shape) != whole[0]):
        raise BadRequestError(
            f"network.observation_shape: of kind {kind} {', '.join(parts)}, observation_size in all"
        )
    bounds = (("channels", 1, MOST_CHANNELS), ("blocks", 0, MOST_BLOCKS), ("memory_units", 0, MOST_WIDTH))
    for name, least, most in bounds:
        if type(described.get(name, 1)) is not int or not least <= described.get(name, 1) <= most:
            raise BadRequestError(f"network.{name}: a whole number from {least} to {most}")
    if described.get("memory", "") not in ("", *MEMORIES):
        raise BadRequestError(f"network.memory: {', '.join(MEMORIES)}, or none")
    return NetworkSpec.from_json({**described, "hidden": hidden})


def _onnx(data: bytes) -> Upload:
    from agents.errors import AgentError
    from agents.players.exported import OnnxModel

    try:
        model = OnnxModel(data)
    except AgentError as error:
        raise BadRequestError(
            f"not weights that League can read (safetensors, ONNX, TorchScript): {error}"
        ) from error
    return Upload(ONNX, data, {"observation_size": model.observation_size, "outputs": model.outputs})


def _torchscript(data: bytes) -> Upload:
    from agents.errors import AgentError
    from agents.players.exported import TorchScriptModel

    try:
        with zipfile.ZipFile(io.BytesIO(data)) as archive:
            unpacked = sum(info.file_size for info in archive.infolist())
            names = [info.filename for info in archive.infolist()]
    except (zipfile.BadZipFile, ValueError, OSError) as error:
        raise BadRequestError(f"a zip archive that is damaged: {error}") from error
    if unpacked > MOST_UNPACKED or unpacked > MOST_RATIO * max(len(data), 1):
        raise BadRequestError(f"a zip archive that unpacks to {unpacked:,} bytes; refused")
    if not any(name.endswith("constants.pkl") or "/code/" in name for name in names):
        raise BadRequestError(
            "a zip archive that is no TorchScript (torch.save makes pickles, which can run code when they "
            "are read); save the weights as safetensors"
        )
    try:
        TorchScriptModel(data)
    except AgentError as error:
        raise BadRequestError(f"not a TorchScript model: {error}") from error
    return Upload(TORCHSCRIPT, data, {})
