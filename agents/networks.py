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
      num_actions: size of the discrete action space.
      hidden: width of each hidden layer.
    """

    observation_size: int
    num_actions: int
    hidden: tuple[int, ...] = (128, 128)
    kind: str = "mlp"

    def to_json(self) -> dict[str, Any]:
        return asdict(self)

    @staticmethod
    def from_json(data: dict[str, Any]) -> NetworkSpec:
        return NetworkSpec(**{**data, "hidden": tuple(data["hidden"])})


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
        out: torch.Tensor = self.head(self.trunk(obs))
        return out


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
