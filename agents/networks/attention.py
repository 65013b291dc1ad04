"""Self-attention over a list of entities, of which there may be more or fewer."""

from __future__ import annotations

import torch
from torch import nn

from agents.networks.layers import FeedForward, Normaliser, hidden_layers
from agents.networks.spec import NetworkSpec


class SetAttention(FeedForward):
    """Transformer layers over the rows of an observation [N, F], then hidden layers and the head.

    A row of zeros is an entity that is not there. What comes out is the mean and the maximum over those that
    are, so that their order does not matter (Vaswani et al. 2017; Zaheer et al. 2017, "Deep sets"). The
    layers normalise first, which needs no warm-up (Xiong et al. 2020).
    """

    def __init__(self, spec: NetworkSpec) -> None:
        super().__init__()
        rows, features = spec.observation_shape
        self._shape, self._scale = (rows, features), spec.scale
        self.normaliser = Normaliser(spec.observation_size) if spec.normalise else None
        self.embedding = nn.Linear(features, spec.channels)
        self.layers = nn.ModuleList(
            nn.TransformerEncoderLayer(
                spec.channels,
                spec.attention_heads,
                2 * spec.channels,
                dropout=0.0,
                batch_first=True,
                norm_first=True,
            )
            for _ in range(spec.blocks)
        )
        self.trunk = nn.Sequential(*hidden_layers(2 * spec.channels, spec.hidden))
        self.end_with_head(spec.hidden[-1], spec)

    def features(self, obs: torch.Tensor) -> torch.Tensor:
        entities = obs.reshape(-1, *self._shape)
        absent = (entities == 0).all(-1)
        absent[:, 0] &= ~absent.all(-1)  # where there is none at all, the first stands for nothing
        obs = obs * self._scale
        if self.normaliser is not None:
            obs = self.normaliser(obs)
        x = self.embedding(obs.reshape(-1, *self._shape))
        for layer in self.layers:
            x = layer(x, src_key_padding_mask=absent)
        there = (~absent)[..., None].to(x.dtype)
        mean = (x * there).sum(1) / there.sum(1)
        most = x.masked_fill(absent[..., None], -torch.inf).amax(1)
        out: torch.Tensor = self.trunk(torch.cat([mean, most], dim=-1))
        return out

    def observe(self, obs: torch.Tensor) -> None:
        """Lets the statistics of observations, if it keeps any, take in more of them, [R, D]."""
        if self.normaliser is not None:
            self.normaliser.update(obs * self._scale)
