"""What a network is shown to learn from: rows, or sequences where it remembers."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import torch
from torch import nn


@dataclass(frozen=True)
class NetworkInputs:
    """Observations as a network takes them.

    Attributes:
      obs: [R, D]; of sequences [T, B, D].
      memory: before the first decision of each sequence, [B, M]; None: rows.
      begins: where an episode begins within a sequence, bool [T, B].
      first: decisions at each sequence's begin from which nothing but the memory is wanted.
    """

    obs: torch.Tensor
    memory: torch.Tensor | None = None
    begins: torch.Tensor | None = None
    first: int = 0

    @property
    def count(self) -> int:
        """Rows, or sequences."""
        return len(self.obs) if self.memory is None else self.obs.shape[1]

    def part(self, first: int, count: int) -> NetworkInputs:
        """Returns some of the rows, or of the sequences."""
        if self.memory is None or self.begins is None:
            return NetworkInputs(self.obs[first : first + count])
        chosen = slice(first, first + count)
        return NetworkInputs(self.obs[:, chosen], self.memory[chosen], self.begins[:, chosen], self.first)

    def heads(
        self, network: nn.Module, forward: Callable[[torch.Tensor], torch.Tensor] | None = None
    ) -> torch.Tensor:
        """Returns logits and value, [R, A + 1]; of sequences those of all decisions but the `first`, as rows.

        Args: forward: of the network, where it is another than calling it (a compiled one).
        """
        obs = self.obs if getattr(network, "takes_bytes", False) else self.obs.float()
        if self.memory is None or self.begins is None:
            return (forward or network)(obs)
        recurrent: Any = network
        memory, k = self.memory, self.first
        if k:
            with torch.no_grad():
                _, memory = recurrent.unrolled(obs[:k], memory, self.begins[:k])
        out: torch.Tensor = recurrent.unroll(obs[k:], memory, self.begins[k:])
        return out.flatten(0, 1)
