"""Networks whose value is judged apart from their policy, by more than the policy may see."""

from __future__ import annotations

from typing import Any

import torch
from torch import nn
from torch.nn import functional

from agents.networks.layers import Normaliser, ValueScale, hidden_layers
from agents.networks.spec import NetworkSpec


class SeparateCritic(nn.Module):
    """A policy of any kind, and hidden layers of the same widths for the value.

    With critic `team` the value is of what the whole team sees, the seat's own observation first
    (`envs.team_view`), as in MAPPO (Yu et al. 2022). The policy sees its own, and where nobody learns nothing
    more need be shown.

    Attributes:
      input_size: of what a game shows the first so many numbers.
    """

    def __init__(self, spec: NetworkSpec, policy: Any) -> None:
        """Args: policy: a network of the same spec without critic; its own value is left unused."""
        super().__init__()
        self.policy = policy
        self._own, self.input_size, self._scale = spec.observation_size, spec.input_size, spec.scale
        self.normaliser = Normaliser(spec.input_size) if spec.normalise else None
        self.trunk = nn.Sequential(*hidden_layers(spec.input_size, spec.hidden))
        self.head = nn.Linear(spec.hidden[-1], 1)
        nn.init.orthogonal_(self.head.weight, 1.0)
        nn.init.zeros_(self.head.bias)
        self.acting_width = spec.num_actions + 1
        self.value_scale = ValueScale(spec.num_actions) if spec.popart else None

    def forward(self, obs: torch.Tensor) -> torch.Tensor:
        """Args: obs: [R, D], own or the team's. Returns: [R, W], see `agents.networks.heads`."""
        own = self.policy(obs[:, : self._own])
        inputs = functional.pad(obs, (0, self.input_size - obs.shape[1])) * self._scale
        value = self.head(self.trunk(inputs if self.normaliser is None else self.normaliser(inputs)))
        a = self.acting_width - 1
        heads = torch.cat([own[:, :a], value, own[:, a + 1 :]], dim=1)
        return heads if self.value_scale is None else self.value_scale(heads)

    def observe(self, obs: torch.Tensor) -> None:
        """Lets the statistics of observations take in more of them, [R, D]."""
        self.policy.observe(obs[:, : self._own])
        if self.normaliser is not None:
            self.normaliser.update(obs * self._scale)
