"""What networks of every kind are made of."""

from __future__ import annotations

import math
from itertools import pairwise

import torch
from torch import nn

from agents.networks.heads import head_width
from agents.networks.spec import NetworkSpec

# Of the running mean of returns, an update of 16,384 decisions: a twentieth of it is new.
VALUE_SCALE_RATE = 0.05


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


class ValueScale(nn.Module):
    """Lets the value head predict returns of mean 0 and variance 1, whatever theirs are ("PopArt").

    When the statistics change the head changes with them, so that the values it predicts stay what they were
    (van Hasselt et al. 2016, "Learning values across many orders of magnitude", eq. 9).
    """

    mean: torch.Tensor
    std: torch.Tensor
    updates: torch.Tensor

    def __init__(self, column: int) -> None:
        """Args: column: of a network's output, the value."""
        super().__init__()
        self._column = column
        self.register_buffer("mean", torch.zeros(()))
        self.register_buffer("std", torch.ones(()))
        self.register_buffer("updates", torch.zeros(()))

    def forward(self, heads: torch.Tensor) -> torch.Tensor:
        """Args: heads: [R, W]. Returns: the same with the value as it is meant."""
        k = self._column
        value = heads[..., k : k + 1] * self.std + self.mean
        return torch.cat([heads[..., :k], value, heads[..., k + 1 :]], dim=-1)

    @torch.no_grad()
    def update(self, returns: torch.Tensor, head: nn.Linear) -> None:
        """Takes in returns, any shape, and makes up for it in the head."""
        old_mean, old_std = self.mean.clone(), self.std.clone()
        self.updates += 1
        rate = (1.0 / self.updates).clamp(min=VALUE_SCALE_RATE)  # a plain mean at first
        square = old_std.square() + old_mean.square()
        square += rate * (returns.square().mean() - square)
        self.mean += rate * (returns.mean() - self.mean)
        self.std.copy_((square - self.mean.square()).clamp(min=1e-8).sqrt())
        row = self._column if len(head.weight) > 1 else 0  # a critic's head has no other
        head.weight[row] *= old_std / self.std
        head.bias[row] = (old_std * head.bias[row] + old_mean - self.mean) / self.std

    def folded(self, weight: torch.Tensor, bias: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
        """Returns a head's weight and bias that need no scale behind them."""
        weight, bias = weight.clone(), bias.clone()
        weight[self._column] *= self.std
        bias[self._column] = bias[self._column] * self.std + self.mean
        return weight, bias


def hidden_layers(features: int, hidden: tuple[int, ...]) -> list[nn.Module]:
    """Returns linear layers of these widths, each with a ReLU behind it."""
    layers: list[nn.Module] = []
    for fan_in, fan_out in pairwise((features, *hidden)):
        layer = nn.Linear(fan_in, fan_out)
        nn.init.orthogonal_(layer.weight, math.sqrt(2))
        nn.init.zeros_(layer.bias)
        layers += [layer, nn.ReLU(inplace=True)]
    return layers


def head_layer(features: int, spec: NetworkSpec) -> nn.Linear:
    """Returns a layer for all heads, whose first policy is near uniform; see `agents.networks.build.MLP`."""
    head = nn.Linear(features, head_width(spec))
    a = spec.num_actions
    with torch.no_grad():
        nn.init.orthogonal_(head.weight[:a], 0.01)
        nn.init.orthogonal_(head.weight[a : a + 1], 1.0)
        if spec.extra_heads:
            nn.init.orthogonal_(head.weight[a + 1 :], 1.0)
        nn.init.zeros_(head.bias)
    return head


class Headed(nn.Module):
    """One linear layer for all heads (`agents.networks.heads`); what comes before is the kind's own.

    Attributes:
      acting_width: of its output the first so many numbers are what acting needs: policy and value.
    """

    head: nn.Linear
    acting_width: int

    def end_with_head(self, features: int, spec: NetworkSpec) -> None:
        """Adds the head behind so many features; call it when everything before is there."""
        self.head = head_layer(features, spec)
        self.acting_width = spec.num_actions + 1
        self.value_scale = ValueScale(spec.num_actions) if spec.popart else None
        self.sharpness = spec.sharpness

    def heads(self, features: torch.Tensor) -> torch.Tensor:
        """Args: features: [..., H]. Returns: [..., W], see `agents.networks.heads`."""
        heads: torch.Tensor = self.head(features)
        if self.sharpness != 1.0:
            a = self.acting_width - 1
            heads = torch.cat([heads[..., :a] * self.sharpness, heads[..., a:]], dim=-1)
        return heads if self.value_scale is None else self.value_scale(heads)


class FeedForward(Headed):
    """What sees the present only. A kind says what its `features` are."""

    def features(self, obs: torch.Tensor) -> torch.Tensor:
        """Args: obs: [R, D]. Returns: what the last hidden layer makes of it, [R, H]."""
        raise NotImplementedError

    def forward(self, obs: torch.Tensor) -> torch.Tensor:
        """Args: obs: [R, D], flattened. Returns: [R, W], see `agents.networks.heads`."""
        return self.heads(self.features(obs))
