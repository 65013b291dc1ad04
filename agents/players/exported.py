"""Networks made elsewhere: ONNX and TorchScript models as policies."""

from __future__ import annotations

import io
from typing import Any

import numpy as np
import numpy.typing as npt
import torch

from agents.acting.policy import NetworkPolicy
from agents.errors import WeightsError

PROBE_ROWS = 2


def joined(outputs: list[npt.NDArray[Any]], rows: int, num_actions: int) -> npt.NDArray[np.float32]:
    """Returns logits and value as `NetworkPolicy.heads` does, out of what a model gives.

    Args:
      outputs: [R, A + 1]; or logits [R, A], then perhaps a value of R numbers.

    Raises:
      WeightsError: they are neither.
    """
    heads = np.zeros((rows, num_actions + 1), np.float32)
    first = np.asarray(outputs[0], np.float32).reshape(rows, -1) if outputs else heads[:, :0]
    if first.shape[1] not in (num_actions, num_actions + 1):
        raise WeightsError(
            f"the model answers {first.shape[1]} numbers a row; {num_actions} logits are needed "
            "and perhaps a value"
        )
    heads[:, : first.shape[1]] = first
    if first.shape[1] == num_actions and len(outputs) > 1 and np.size(outputs[1]) == rows:
        heads[:, -1] = np.asarray(outputs[1], np.float32).reshape(rows)
    return heads


class OnnxModel:
    """An ONNX graph of one input, [R, D] float32, run on the processor.

    Attributes:
      observation_size: D, None where the graph takes any.
      outputs: names.
    """

    def __init__(self, data: bytes) -> None:
        """Raises: WeightsError: no ONNX model, with files of its own, or of several inputs."""
        try:
            import onnxruntime
        except ImportError as error:
            raise WeightsError("ONNX needs onnxruntime; pip install 'selfplay-league[exported]'") from error
        options = onnxruntime.SessionOptions()
        options.intra_op_num_threads = options.inter_op_num_threads = 1
        options.log_severity_level = 4
        try:
            self._session = onnxruntime.InferenceSession(data, options, providers=["CPUExecutionProvider"])
        except Exception as error:  # onnxruntime has a class of its own for every way to fail
            raise WeightsError(f"not an ONNX model: {str(error).splitlines()[0][:300]}") from error
        inputs = self._session.get_inputs()
        if len(inputs) != 1 or inputs[0].type != "tensor(float)" or len(inputs[0].shape) != 2:
            result = ", ".join(f"{i.name}: {i.type}{i.shape}" for i in inputs)
            raise WeightsError(f"an ONNX policy has one input [rows, numbers] of float32, this has {result}")
        self._input = inputs[0].name
        size = inputs[0].shape[1]
        self.observation_size = size if isinstance(size, int) else None
        self.outputs = [o.name for o in self._session.get_outputs()]

    def __call__(self, obs: npt.NDArray[np.float32]) -> list[npt.NDArray[Any]]:
        return list(self._session.run(None, {self._input: obs}))


class TorchScriptModel:
    """A TorchScript module of one input, [R, D] float32. Its code may do whatever TorchScript can."""

    def __init__(self, data: bytes) -> None:
        """Raises: WeightsError: no TorchScript."""
        try:
            self._module = torch.jit.load(io.BytesIO(data), map_location="cpu").eval()  # type: ignore[no-untyped-call]
        except Exception as error:  # torch has no class for it
            raise WeightsError(f"not TorchScript: {str(error).splitlines()[0][:300]}") from error

    def __call__(self, obs: npt.NDArray[np.float32]) -> list[npt.NDArray[Any]]:
        with torch.inference_mode():
            out = self._module(torch.from_numpy(obs))
        return [t.float().numpy() for t in (out if isinstance(out, tuple | list) else (out,))]


class ExportedPolicy(NetworkPolicy):
    """An exported model as it chooses actions in a game."""

    def __init__(self, model: OnnxModel | TorchScriptModel, observation_size: int, num_actions: int) -> None:
        """Raises: WeightsError: it does not fit the game."""
        self._model, self._num_actions = model, num_actions
        wanted = getattr(model, "observation_size", None)
        if wanted is not None and wanted != observation_size:
            raise WeightsError(f"the model sees {wanted} numbers, the game shows {observation_size}")
        try:
            self.heads(np.zeros((PROBE_ROWS, observation_size), np.float32))
        except WeightsError:
            raise
        except Exception as error:  # whatever a model from elsewhere does with the game's observations
            raise WeightsError(
                f"the model fails on the game's observations: {str(error).splitlines()[0][:300]}"
            ) from error

    def heads(self, obs: npt.NDArray[Any]) -> npt.NDArray[np.float32]:
        outputs = self._model(np.ascontiguousarray(obs, np.float32))
        return joined(outputs, len(obs), self._num_actions)
