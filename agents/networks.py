"""Networks that say how to move and how good the position is."""

from __future__ import annotations

import math
from dataclasses import asdict, dataclass
from itertools import pairwise
from typing import Any

import torch
from torch import nn

from agents.errors import AgentError


@dataclass(frozen=True)
class NetworkSpec:
    """Everything needed to build a network again; stored with its weights.

    Attributes:
      kind: `mlp`.
      observation_size: numbers in one observation, flattened.
      num_actions: logits: the size of the discrete action space, or of its parts together.
      hidden: width of each hidden layer.
      factors: choices of each part of an action; empty: it has one.
      scale: observations are multiplied by it first: 1/255 for images.
      normalise: they are then brought to mean 0 and variance 1 by what the player has seen so far, which is
        kept with the weights.
    """

    observation_size: int
    num_actions: int
    hidden: tuple[int, ...] = (128, 128)
    kind: str = "mlp"
    factors: tuple[int, ...] = ()
    scale: float = 1.0
    normalise: bool = False

    def to_json(self) -> dict[str, Any]:
        return asdict(self)

    @staticmethod
    def from_json(data: dict[str, Any]) -> NetworkSpec:
        factors = tuple(data.get("factors", ()))
        return NetworkSpec(**{**data, "hidden": tuple(data["hidden"]), "factors": factors})


class Normaliser(nn.Module):
    """Brings observations to mean 0 and variance 1, by running statistics that are saved with the weights."""

    mean: torch.Tensor
    variance: torch.Tensor
    count: torch.Tensor

    def __init__(self, size: int) -> None:
        super().__init__()
        self.register_buffer("mean", torch.zeros(size))
        self.register_buffer("variance", torch.ones(size))
        self.register_buffer("count", torch.zeros(()))

    def forward(self, obs: torch.Tensor) -> torch.Tensor:
        """Args: obs: [R, D]. Returns: [R, D], within ±10."""
        spread = torch.rsqrt(self.variance + 1e-4)
        centred: torch.Tensor = (obs - self.mean) * spread
        return centred.clamp(-10.0, 10.0)

    @torch.no_grad()
    def update(self, obs: torch.Tensor) -> None:
        """Takes in more observations, [R, D] (Chan, Golub & LeVeque 1983)."""
        n, total = float(len(obs)), float(self.count) + len(obs)
        delta = obs.mean(0) - self.mean
        spread = self.variance * self.count + obs.var(0, unbiased=False) * n
        spread += delta.square() * self.count * n / total
        self.mean += delta * n / total
        self.variance.copy_(spread / total)
        self.count.fill_(min(total, 1e7))  # what is seen tomorrow still counts


class MLP(nn.Module):
    """ReLU layers and one linear head for logits and value together.

    One head is one matrix product fewer a forward, which counts when sixteen opponents have 256 rows each.
    Initialised orthogonally with gain √2, logits 0.01, value 1 (Andrychowicz et al. 2021, "What matters
    in on-policy RL"): the first policy is near uniform.
    """

    def __init__(self, spec: NetworkSpec) -> None:
        super().__init__()
        sizes = (spec.observation_size, *spec.hidden)
        layers: list[nn.Module] = []
        if spec.normalise:
            layers.append(Normaliser(spec.observation_size))
        self._scale = spec.scale
        for fan_in, fan_out in pairwise(sizes):
            layer = nn.Linear(fan_in, fan_out)
            nn.init.orthogonal_(layer.weight, math.sqrt(2))
            nn.init.zeros_(layer.bias)
            layers += [layer, nn.ReLU(inplace=True)]
        self.trunk = nn.Sequential(*layers)
        self.head = nn.Linear(sizes[-1], spec.num_actions + 1)
        with torch.no_grad():
            nn.init.orthogonal_(self.head.weight[:-1], 0.01)
            nn.init.orthogonal_(self.head.weight[-1:], 1.0)
            nn.init.zeros_(self.head.bias)

    def forward(self, obs: torch.Tensor) -> torch.Tensor:
        """Args: obs: [R, D]. Returns: [R, A + 1], the logits of the A actions, then the value."""
        if self._scale != 1.0:
            obs = obs * self._scale
        out: torch.Tensor = self.head(self.trunk(obs))
        return out

    def observe(self, obs: torch.Tensor) -> None:
        """Lets the statistics of observations, if it keeps any, take in more of them, [R, D]."""
        first = self.trunk[0]
        if isinstance(first, Normaliser):
            first.update(obs * self._scale)


def build(spec: NetworkSpec, seed: int | None = None) -> nn.Module:
    """Builds a freshly initialised network; with a seed, always the same one.

    Raises:
      AgentError: unknown kind.
    """
    if spec.kind != "mlp":
        raise AgentError(f"unknown network kind {spec.kind!r}; known: mlp")
    if seed is None:
        return MLP(spec)
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(seed)
        return MLP(spec)
