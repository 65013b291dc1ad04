"""Residual convolutions, for boards and images."""

from __future__ import annotations

import torch
from torch import nn

from agents.networks.layers import FeedForward, Normaliser, hidden_layers
from agents.networks.spec import NetworkSpec, halvings


class ResidualBlock(nn.Module):
    """Two 3×3 convolutions around a shortcut (He et al. 2016), without batch statistics, which play lacks.

    The second begins at zero, so that the tower begins as the identity (Zhang et al. 2019, "Fixup").
    """

    def __init__(self, channels: int) -> None:
        super().__init__()
        self.first, self.second = _convolution(channels, channels), _convolution(channels, channels)
        nn.init.zeros_(self.second.weight)

    def forward(self, planes: torch.Tensor) -> torch.Tensor:
        inner = self.second(torch.relu(self.first(planes)))
        out: torch.Tensor = torch.relu(planes + inner)
        return out


def residual_tower(shape: tuple[int, ...], channels: int, blocks: int) -> tuple[nn.Sequential, int]:
    """Returns convolutions over planes, rows and columns, and how many numbers they make of them.

    What is larger than a board is halved by pooling first, then after each block, until it is not.
    """
    planes, rows, columns = shape
    tower: list[nn.Module] = [_convolution(planes, channels), nn.ReLU(inplace=True)]
    left = halvings(shape)
    for k in range(max(blocks, left)):
        if left > 0:
            tower.append(nn.MaxPool2d(3, 2, 1))
            rows, columns, left = -(-rows // 2), -(-columns // 2), left - 1
        if k < blocks:
            tower.append(ResidualBlock(channels))
    return nn.Sequential(*tower), channels * rows * columns


class ResidualCNN(FeedForward):
    """Residual convolutions over boards or images, then hidden layers and the heads."""

    def __init__(self, spec: NetworkSpec) -> None:
        super().__init__()
        self._shape, self._scale = spec.observation_shape, spec.scale
        self.normaliser = Normaliser(spec.observation_size) if spec.normalise else None
        self.tower, features = residual_tower(spec.observation_shape, spec.channels, spec.blocks)
        self.trunk = nn.Sequential(*hidden_layers(features, spec.hidden))
        self.end_with_head(spec.hidden[-1], spec)
        self.to(memory_format=torch.channels_last)  # type: ignore[call-overload]

    def features(self, obs: torch.Tensor) -> torch.Tensor:
        if self._scale != 1.0:
            obs = obs * self._scale
        if self.normaliser is not None:
            obs = self.normaliser(obs)
        planes = obs.reshape(-1, *self._shape).contiguous(memory_format=torch.channels_last)
        out: torch.Tensor = self.trunk(self.tower(planes).flatten(1))
        return out

    def observe(self, obs: torch.Tensor) -> None:
        """Lets the statistics of observations, if it keeps any, take in more of them, [R, D]."""
        if self.normaliser is not None:
            self.normaliser.update(obs * self._scale)


def _convolution(planes: int, channels: int) -> nn.Conv2d:
    layer = nn.Conv2d(planes, channels, 3, padding=1)
    nn.init.kaiming_normal_(layer.weight, nonlinearity="relu")
    assert layer.bias is not None  # noqa: S101
    nn.init.zeros_(layer.bias)
    return layer
