"""What a network says, by name, out of the one matrix product that says it all.

A network's last layer is one product, whatever it says: more products cost more than their sizes when sixteen
opponents have 256 rows each. Which columns are whose is written here and nowhere else.
"""

from __future__ import annotations

from itertools import accumulate
from typing import NamedTuple

import torch

from agents.networks.spec import NetworkSpec


class Heads(NamedTuple):
    """A network's output.

    Attributes:
      policy: parameters of the distribution of actions (logits of a categorical one), [..., A].
      value: what the position is worth, [...].
      others: the heads that a spec adds, [..., size] each, by name.
    """

    policy: torch.Tensor
    value: torch.Tensor
    others: dict[str, torch.Tensor]

    def rows(self, count: int) -> Heads:
        """Returns the first `count` rows."""
        others = {name: head[:count] for name, head in self.others.items()}
        return Heads(self.policy[:count], self.value[:count], others)

    def reshape(self, *shape: int) -> Heads:
        """Returns the same rows laid out as `shape`."""
        others = {name: head.reshape(*shape, head.shape[-1]) for name, head in self.others.items()}
        return Heads(self.policy.reshape(*shape, -1), self.value.reshape(shape), others)


def head_width(spec: NetworkSpec) -> int:
    """Returns how many numbers all heads are together."""
    return spec.num_actions + 1 + sum(size for _, size in spec.extra_heads)


def split_heads(output: torch.Tensor, spec: NetworkSpec) -> Heads:
    """Names the parts of a network's output: policy, value, then the spec's own in their order.

    Args:
      output: [..., W], W as `head_width` says.
    """
    a = spec.num_actions
    sizes = [size for _, size in spec.extra_heads]
    ends = list(accumulate(sizes, initial=a + 1))
    others = {
        name: output[..., begin : begin + size]
        for (name, size), begin in zip(spec.extra_heads, ends, strict=False)
    }
    return Heads(output[..., :a], output[..., a], others)
