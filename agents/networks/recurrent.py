"""Networks that remember."""

from __future__ import annotations

from typing import Any

import torch
from torch import nn

from agents.networks.layers import Headed
from agents.networks.spec import NetworkSpec


class Recurrent(Headed):
    """An MLP or CNN, an LSTM or GRU behind its hidden layers, and the head behind that.

    What it remembers is one row of numbers a seat, zeros when an episode begins: the memory's own state, of
    an LSTM (Hochreiter & Schmidhuber 1997) its output and its cell side by side.
    """

    def __init__(self, spec: NetworkSpec, body: Any) -> None:
        """Args: body: of the same spec without memory, from which the hidden layers are taken."""
        super().__init__()
        self.body = body
        self.takes_bytes = bool(getattr(body, "takes_bytes", False))
        del self.body.head
        cell = nn.LSTMCell if spec.memory == "lstm" else nn.GRUCell
        self.cell = cell(spec.hidden[-1], spec.units)
        self.end_with_head(spec.units, spec)
        self.memory_size = spec.memory_size
        self._is_lstm = spec.memory == "lstm"
        nn.init.orthogonal_(self.cell.weight_hh)
        nn.init.zeros_(self.cell.bias_ih)
        nn.init.zeros_(self.cell.bias_hh)
        if self._is_lstm:
            # It begins by keeping what it has (Jozefowicz et al. 2015).
            nn.init.ones_(self.cell.bias_ih[spec.units : 2 * spec.units])

    def forward(self, obs: torch.Tensor, memory: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
        """Args: obs: [R, D]. memory: [R, M]. Returns: logits and value, [R, A + 1]; the next memory."""
        output, memory = self._step_cell(self.body.features(obs), memory)
        return self.heads(output), memory

    def unroll(self, obs: torch.Tensor, memory: torch.Tensor, begins: torch.Tensor) -> torch.Tensor:
        """Goes through sequences of decisions.

        Args:
          obs: [T, B, D]. memory: before the first decision, [B, M].
          begins: where an episode begins and what was before is forgotten, bool [T, B].

        Returns:
          [T, B, A + 1].
        """
        return self.unrolled(obs, memory, begins)[0]

    def unrolled(
        self, obs: torch.Tensor, memory: torch.Tensor, begins: torch.Tensor
    ) -> tuple[torch.Tensor, torch.Tensor]:
        """The same; returns the memory after the last decision too, [B, M]."""
        features = self.body.features(obs.flatten(0, 1)).reshape(*obs.shape[:2], -1)
        kept = (~begins).to(memory.dtype)
        outputs = []
        for t in range(len(obs)):
            out, memory = self._step_cell(features[t], memory * kept[t, :, None])
            outputs.append(out)
        return self.heads(torch.stack(outputs)), memory

    def observe(self, obs: torch.Tensor) -> None:
        """Lets the statistics of observations, if it keeps any, take in more of them, [R, D]."""
        self.body.observe(obs)

    def _step_cell(self, features: torch.Tensor, memory: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
        if self._is_lstm:
            out, cell = self.cell(features, memory.chunk(2, dim=-1))
            return out, torch.cat([out, cell], dim=-1)
        out = self.cell(features, memory)
        return out, out
