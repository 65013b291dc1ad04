"""Other networks that a learner is compared with: older copies of itself (target, magnet), a teacher."""

from __future__ import annotations

import copy
from collections.abc import Iterable

import torch
from torch import nn

from agents.networks.inputs import NetworkInputs

_PREFIX = "reference/"


class References:
    """Copies by name, each renewed when it has become old enough.

    What they are at is part of the learner's state: a run that is resumed goes on against the same copies.
    """

    def __init__(self, network: nn.Module, names: tuple[str, ...]) -> None:
        self._copies: dict[str, nn.Module] = {}
        self.ages: dict[str, int] = {}
        self._fixed: set[str] = set()
        self.add(network, names)

    def __contains__(self, name: str) -> bool:
        return name in self._copies

    @torch.no_grad()
    def heads(self, name: str, inputs: NetworkInputs) -> torch.Tensor:
        """Returns a copy's logits and value, [R, A + 1]; it remembers what the acting network did."""
        return inputs.heads(self._copies[name]).float()

    def grow_older(self, name: str, by: int, limit: int, network: nn.Module) -> None:
        """Ages a copy; one that has reached the limit becomes a copy of the network as it is now."""
        self.ages[name] += by
        if self.ages[name] >= limit:
            self._copies[name].load_state_dict(network.state_dict())
            self.ages[name] = 0

    def add(self, network: nn.Module, names: Iterable[str]) -> None:
        """Adds copies of a network as it is now."""
        for name in names:
            self._copies[name], self.ages[name] = _frozen(network), 0

    def hold(self, name: str, network: nn.Module) -> None:
        """Adds a network that stays as it is, whatever becomes of the learner."""
        self._copies[name] = _frozen(network)
        self._fixed.add(name)
        self.ages[name] = 0

    def restart(self, network: nn.Module) -> None:
        """Every copy of the learner becomes one of this network."""
        for name, kept in self._copies.items():
            if name in self._fixed:
                continue
            kept.load_state_dict(network.state_dict())
            self.ages[name] = 0

    def tensors(self) -> dict[str, torch.Tensor]:
        """Returns the copies' weights, for `load`."""
        return {
            f"{_PREFIX}{name}/{key}": tensor
            for name, kept in self._copies.items()
            for key, tensor in kept.state_dict().items()
        }

    def load(self, tensors: dict[str, torch.Tensor], ages: dict[str, int]) -> None:
        """Takes stored copies over; one that is not among them stays. Raises: RuntimeError: no fit."""
        for name, kept in self._copies.items():
            prefix = f"{_PREFIX}{name}/"
            result = {k.removeprefix(prefix): t for k, t in tensors.items() if k.startswith(prefix)}
            if result:
                kept.load_state_dict(result)
                self.ages[name] = int(ages.get(name, 0))


def _frozen(network: nn.Module) -> nn.Module:
    return copy.deepcopy(network).requires_grad_(False).eval()
