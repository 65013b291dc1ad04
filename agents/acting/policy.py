"""What chooses actions: a network, or a bot, which needs none."""

from __future__ import annotations

import copy
from typing import Any

import numpy as np
import numpy.typing as npt
import torch
from torch import nn
from torch.nn import functional

from agents.acting.bot import Bot
from agents.networks.build import linear_layers


class NetworkPolicy:
    """A network, run for acting: no gradient, in the processor's best precision.

    The behaviour policy that importance ratios are taken against is the one that runs here, so a lower
    precision changes no formula.

    Attributes:
      dtype: what `heads_of` takes; None: only `heads` will do.
      input_size: of what a game shows the first so many numbers; None: all.
      memory_size: numbers it remembers of a seat, 0: none; then only `step` and `heads` will do.
    """

    dtype: torch.dtype | None = None
    input_size: int | None = None
    memory_size: int = 0

    def __init__(self, network: nn.Module, dtype: torch.dtype = torch.float32) -> None:
        self._network = copy.deepcopy(network).to(dtype).eval().requires_grad_(False)
        self._takes_bytes = bool(getattr(network, "takes_bytes", False))
        self._precision = dtype
        self.dtype = None if self._takes_bytes else dtype
        self.memory_size = int(getattr(network, "memory_size", 0))
        self._width: int | None = getattr(network, "acting_width", None)
        with torch.no_grad():
            self._layers = linear_layers(self._network)

    def heads(self, obs: npt.NDArray[Any]) -> npt.NDArray[np.float32]:
        """Args: obs: [R, D], any dtype. Returns: logits and value, float32 [R, A + 1].

        One that remembers answers as at an episode's begin.
        """
        if self.memory_size:
            return self.step(obs, np.zeros((len(obs), self.memory_size), np.float32))[0]
        with torch.inference_mode():
            out = self._forward(self._tensor(obs))
            array: npt.NDArray[np.float32] = out.float().numpy()
        return array

    def step(
        self, obs: npt.NDArray[Any], memory: npt.NDArray[np.float32]
    ) -> tuple[npt.NDArray[np.float32], npt.NDArray[np.float32]]:
        """Decides in the course of an episode.

        Args:
          obs: [R, D], any dtype. memory: what it returned at the seat's last decision, zeros at the first,
            float32 [R, memory_size].

        Returns:
          Logits and value, float32 [R, A + 1]; the next memory, float32 [R, memory_size].
        """
        if not self.memory_size:
            return self.heads(obs), memory
        with torch.inference_mode():
            heads, after = self._network(self._tensor(obs), torch.from_numpy(memory).to(self._precision))
        return heads[:, : self._width].float().numpy(), after.float().numpy()

    def heads_of(self, obs: torch.Tensor, out: torch.Tensor) -> None:
        """The same without conversions, for who has many policies to ask; in inference mode.

        Args:
          obs: [R, D] of `dtype`. out: [R, A + 1], where logits and value are written.
        """
        # Other networks than ours may write into what they are given.
        out.copy_(self._forward(obs if self._layers is not None else obs.clone()))

    def _tensor(self, obs: npt.NDArray[Any]) -> torch.Tensor:
        tensor = torch.from_numpy(obs)
        return tensor if self._takes_bytes else tensor.to(self._precision)

    def _forward(self, obs: torch.Tensor) -> torch.Tensor:
        if self._layers is None:
            out: torch.Tensor = self._network(obs)
            return out[:, : self._width]
        # The same products without the modules around them, which cost as much as 100 rows.
        *hidden, head = self._layers
        for weight, bias in hidden:
            obs = functional.linear(obs, weight, bias).relu_()
        return functional.linear(obs, *head)


def probabilities(
    logits: npt.NDArray[np.float32], legal: npt.NDArray[np.bool_], temperature: float = 1.0
) -> npt.NDArray[np.float64]:
    """What a network plays, over the actions it may: a softmax, or at temperature 0 its best action.

    Args:
      logits: [R, A]. legal: [R, A], with one action at least in each row.

    Returns:
      [R, A], rows summing to 1.
    """
    masked = np.where(legal, logits.astype(np.float64), -np.inf)
    if temperature <= 0.0:
        best = np.zeros(masked.shape)
        best[np.arange(len(masked)), masked.argmax(axis=1)] = 1.0
        return best
    shifted = np.exp((masked - masked.max(axis=1, keepdims=True)) / temperature)
    chances: npt.NDArray[np.float64] = shifted / shifted.sum(axis=1, keepdims=True)
    return chances


Policy = NetworkPolicy | Bot
