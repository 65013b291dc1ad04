"""Networks in one place that many collectors ask: for large ones, or a GPU (Espeholt et al. 2020, SEED RL).

A collector whose players are `CentralPolicy` sends their rows, all in one request a tick, and goes on when
the answer is there. The server puts the rows of one network from several requests together.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np
import numpy.typing as npt
import torch
from torch import nn

from agents.acting.policy import NetworkPolicy
from agents.networks.build import build
from agents.networks.spec import NetworkSpec
from agents.processor import moved

# Networks of players that do not learn, kept until so many others have been asked for.
KEPT = 1024
Tensors = dict[str, npt.NDArray[np.float32]]


@dataclass(frozen=True)
class Request:
    """Rows for networks.

    Attributes:
      parts: (network's key, rows begin, rows end), one at least.
      obs: [R, D], any dtype.
    """

    parts: tuple[tuple[str, int, int], ...]
    obs: npt.NDArray[Any]


class Centre(Protocol):
    """Where networks are asked, in this process or in another one."""

    def ask(self, request: Request) -> Callable[[], npt.NDArray[np.float32]]:
        """Sends a request. Returns: what waits for its answer, logits and value, float32 [R, A + 1]."""

    def hold(self, key: str) -> None:
        """Fetches a network by its checkpoint's key. Raises: what the loader raises when it cannot be had."""

    def put(self, key: str, version: tuple[int, int], spec: NetworkSpec, tensors: Tensors) -> None:
        """Plays a learning player with these weights, of a generation and version, from now on."""


class CentralPolicy(NetworkPolicy):
    """A network that runs elsewhere."""

    def __init__(self, key: str, centre: Centre) -> None:
        self.key, self.centre = key, centre

    def heads(self, obs: npt.NDArray[Any]) -> npt.NDArray[np.float32]:
        return self.centre.ask(Request(((self.key, 0, len(obs)),), obs))()


class InferenceServer:
    """Answers requests; asked directly it is a `Centre` of this process."""

    def __init__(
        self,
        load: Callable[[str], nn.Module],
        device: torch.device,
        dtype: torch.dtype,
    ) -> None:
        """Args: load: the network of a checkpoint's key."""
        self._load, self._device, self._dtype = load, device, dtype
        self._learning: dict[str, nn.Module] = {}
        self._versions: dict[str, tuple[int, int]] = {}
        self._frozen: OrderedDict[str, nn.Module] = OrderedDict()

    def ask(self, request: Request) -> Callable[[], npt.NDArray[np.float32]]:
        answer = self.answer([request])[0]
        return lambda: answer

    def hold(self, key: str) -> None:
        self._network(key)

    def has(self, key: str, version: tuple[int, int]) -> bool:
        """Whether a learning player's weights are these, or newer."""
        return self._versions.get(key, (-1, -1)) >= version

    def put(self, key: str, version: tuple[int, int], spec: NetworkSpec, tensors: Tensors) -> None:
        if self.has(key, version):
            return
        if key not in self._learning:
            self._learning[key] = self._prepared(build(spec, 0))
        self._learning[key].load_state_dict({k: torch.tensor(v) for k, v in tensors.items()})
        self._versions[key] = version

    def answer(self, requests: Sequence[Request]) -> list[npt.NDArray[np.float32]]:
        """Asks each network once for all its rows. Returns: the requests' answers, in order."""
        wanted: dict[str, list[tuple[int, int, int]]] = {}
        for number, request in enumerate(requests):
            for key, begin, end in request.parts:
                wanted.setdefault(key, []).append((number, begin, end))
        answers: dict[int, npt.NDArray[np.float32]] = {}
        with torch.inference_mode():
            # All are sent off before the first is waited for: a GPU works on meanwhile.
            heads = {
                key: _asked(self._network(key), self._rows(requests, parts), self._dtype)
                for key, parts in wanted.items()
            }
            for key, parts in wanted.items():
                array, done = heads[key].cpu().numpy(), 0
                for number, begin, end in parts:
                    if number not in answers:
                        shape = len(requests[number].obs), array.shape[1]
                        answers[number] = np.empty(shape, np.float32)
                    answers[number][begin:end] = array[done : done + end - begin]
                    done += end - begin
        return [answers[number] for number in range(len(requests))]

    def _rows(self, requests: Sequence[Request], parts: list[tuple[int, int, int]]) -> torch.Tensor:
        slices = [requests[number].obs[begin:end] for number, begin, end in parts]
        return moved(slices[0] if len(slices) == 1 else np.concatenate(slices), self._device)

    def _network(self, key: str) -> nn.Module:
        if key in self._learning:
            return self._learning[key]
        if key not in self._frozen:
            self._frozen[key] = self._prepared(self._load(key))
            if len(self._frozen) > KEPT:
                self._frozen.popitem(last=False)
        self._frozen.move_to_end(key)
        return self._frozen[key]

    def _prepared(self, network: nn.Module) -> nn.Module:
        return network.to(self._device, self._dtype).eval().requires_grad_(False)


def _asked(network: nn.Module, rows: torch.Tensor, dtype: torch.dtype) -> torch.Tensor:
    """Returns what acting needs of a network's output, [R, A + 1]."""
    out: torch.Tensor = network(rows if getattr(network, "takes_bytes", False) else rows.to(dtype))
    return out[:, : getattr(network, "acting_width", None)].float()
