"""Self-attention over a list of entities, of which there may be more or fewer."""

from __future__ import annotations

import math

import torch
from torch import nn

from agents.networks.layers import FeedForward, Normaliser, hidden_layers
from agents.networks.spec import NetworkSpec


class EntityPool(nn.Module):
    """Transformer layers over rows of entities, and the mean and the maximum over those that are there.

    A row of zeros is an entity that is not there; the order of the others does not matter (Vaswani et al.
    2017; Zaheer et al. 2017, "Deep sets"). The layers normalise first, which needs no warm-up (Xiong et al.
    2020).
    """

    def __init__(self, features: int, width: int, blocks: int) -> None:
        super().__init__()
        self.embedding, self.layers = entity_layers(features, width, blocks)

    def forward(self, entities: torch.Tensor) -> torch.Tensor:
        """Args: entities: [R, N, F]. Returns: [R, 2 width]."""
        return pooled(self.embedding, self.layers, entities, absent_rows(entities))


def entity_layers(features: int, width: int, blocks: int) -> tuple[nn.Linear, nn.ModuleList]:
    """Returns what embeds an entity, and the layers in which entities look at each other."""
    layers = nn.ModuleList(
        nn.TransformerEncoderLayer(
            width, math.gcd(width, 4), 2 * width, dropout=0.0, batch_first=True, norm_first=True
        )
        for _ in range(blocks)
    )
    return nn.Linear(features, width), layers


def pooled(
    embedding: nn.Linear, layers: nn.ModuleList, entities: torch.Tensor, absent: torch.Tensor
) -> torch.Tensor:
    """Returns mean and maximum of what the layers make of the entities that are there, [R, 2 width].

    Args:
      entities: [R, N, F]. absent: bool [R, N], see `absent_rows`.
    """
    x = embedding(entities)
    for layer in layers:
        x = layer(x, src_key_padding_mask=absent)
    there = (~absent)[..., None].to(x.dtype)
    mean = (x * there).sum(1) / there.sum(1)
    most = x.masked_fill(absent[..., None], -torch.inf).amax(1)
    return torch.cat([mean, most], dim=-1)


def absent_rows(entities: torch.Tensor) -> torch.Tensor:
    """Returns which rows are entities that are not there, bool [R, N]; of none at all the first is."""
    absent = (entities == 0).all(-1)
    absent[:, 0] &= ~absent.all(-1)
    return absent


class SetAttention(FeedForward):
    """Attention over the rows of an observation [N, F], then hidden layers and the heads."""

    def __init__(self, spec: NetworkSpec) -> None:
        super().__init__()
        rows, features = spec.observation_shape
        self._shape, self._scale = (rows, features), spec.scale
        self.normaliser = Normaliser(spec.observation_size) if spec.normalise else None
        self.embedding, self.layers = entity_layers(features, spec.channels, spec.blocks)
        self.trunk = nn.Sequential(*hidden_layers(2 * spec.channels, spec.hidden))
        self.end_with_head(spec.hidden[-1], spec)

    def features(self, obs: torch.Tensor) -> torch.Tensor:
        absent = absent_rows(obs.reshape(-1, *self._shape))
        obs = obs * self._scale
        if self.normaliser is not None:
            obs = self.normaliser(obs)
        entities = obs.reshape(-1, *self._shape)
        out: torch.Tensor = self.trunk(pooled(self.embedding, self.layers, entities, absent))
        return out

    def observe(self, obs: torch.Tensor) -> None:
        """Lets the statistics of observations, if it keeps any, take in more of them, [R, D]."""
        if self.normaliser is not None:
            self.normaliser.update(obs * self._scale)
