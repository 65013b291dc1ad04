"""Named observations to named encoders: an image to convolutions, a list of entities to attention, …"""

from __future__ import annotations

import numpy as np
import torch
from torch import nn

from agents.networks.attention import EntityPool
from agents.networks.convolutional import residual_tower
from agents.networks.layers import FeedForward, hidden_layers
from agents.networks.spec import NetworkSpec, PartSpec

_DTYPES = {np.dtype(np.uint8).str: torch.uint8, np.dtype(np.float32).str: torch.float32}


class NamedEncoders(FeedForward):
    """An encoder for each named array, their outputs side by side, then hidden layers and the heads.

    It takes observations as bytes, [R, D], as fragments hold them, and takes them apart itself.

    Attributes:
      takes_bytes: observations must not be converted on the way.
    """

    takes_bytes = True

    def __init__(self, spec: NetworkSpec) -> None:
        super().__init__()
        self._parts = spec.parts
        self.encoders = nn.ModuleList()
        width = 0
        for part in spec.parts:
            encoder, size = _encoder(part, spec)
            self.encoders.append(encoder)
            width += size
        self.trunk = nn.Sequential(*hidden_layers(width, spec.hidden))
        self.end_with_head(spec.hidden[-1], spec)

    def features(self, obs: torch.Tensor) -> torch.Tensor:
        encoded, begin, dtype = [], 0, next(self.trunk.parameters()).dtype
        for part, encoder in zip(self._parts, self.encoders, strict=True):
            size = part.size * np.dtype(part.dtype).itemsize
            array = obs[:, begin : begin + size].contiguous().view(_DTYPES[part.dtype])
            begin += size
            encoded.append(encoder(array.reshape(-1, *part.shape).to(dtype) * (1.0 / part.high)))
        out: torch.Tensor = self.trunk(torch.cat(encoded, dim=1))
        return out


def _encoder(part: PartSpec, spec: NetworkSpec) -> tuple[nn.Module, int]:
    """Returns the encoder of a named array and how many numbers it makes."""
    if part.encoder == "cnn":
        tower, size = residual_tower(part.shape, spec.channels, spec.blocks)
        return nn.Sequential(tower, nn.Flatten()), size
    if part.encoder == "set":
        return EntityPool(part.shape[1], spec.channels, spec.blocks), 2 * spec.channels
    if part.encoder == "flat":
        return nn.Flatten(), part.size
    return nn.Sequential(nn.Flatten(), *hidden_layers(part.size, (spec.hidden[0],))), spec.hidden[0]
