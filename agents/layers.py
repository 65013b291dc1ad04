"""What networks of every kind are made of."""

from __future__ import annotations

import math
from itertools import pairwise

import torch
from torch import nn

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

    def __init__(self) -> None:
        super().__init__()
        self.register_buffer("mean", torch.zeros(()))
        self.register_buffer("std", torch.ones(()))
        self.register_buffer("updates", torch.zeros(()))

    def forward(self, heads: torch.Tensor) -> torch.Tensor:
        """Args: heads: [R, A + 1]. Returns: the same with the value as it is meant."""
        value = heads[..., -1:] * self.std + self.mean
        return torch.cat([heads[..., :-1], value], dim=-1)

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
        head.weight[-1] *= old_std / self.std
        head.bias[-1] = (old_std * head.bias[-1] + old_mean - self.mean) / self.std

    def folded(self, weight: torch.Tensor, bias: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
        """Returns a head's weight and bias that need no scale behind them."""
        weight, bias = weight.clone(), bias.clone()
        weight[-1] *= self.std
        bias[-1] = bias[-1] * self.std + self.mean
        return weight, bias


def hidden_layers(features: int, hidden: tuple[int, ...]) -> list[nn.Module]:
    layers: list[nn.Module] = []
    for fan_in, fan_out in pairwise((features, *hidden)):
        layer = nn.Linear(fan_in, fan_out)
        nn.init.orthogonal_(layer.weight, math.sqrt(2))
        nn.init.zeros_(layer.bias)
        layers += [layer, nn.ReLU(inplace=True)]
    return layers


def head_layer(features: int, num_actions: int) -> nn.Linear:
    head = nn.Linear(features, num_actions + 1)
    with torch.no_grad():
        nn.init.orthogonal_(head.weight[:-1], 0.01)
        nn.init.orthogonal_(head.weight[-1:], 1.0)
        nn.init.zeros_(head.bias)
    return head


def finished(heads: torch.Tensor, sharpness: float, value_scale: ValueScale | None) -> torch.Tensor:
    if sharpness != 1.0:
        heads = torch.cat([heads[..., :-1] * sharpness, heads[..., -1:]], dim=-1)
    out: torch.Tensor = heads if value_scale is None else value_scale(heads)
    return out
