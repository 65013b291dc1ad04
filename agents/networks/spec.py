"""What a network is, as configs and checkpoints say it. `agents.networks` builds it, which needs torch."""

from __future__ import annotations

import math
from dataclasses import asdict, dataclass
from itertools import pairwise
from typing import Any

# How the id of a network of one's own begins.
OWN = "python:"
# Those that League brings.
KINDS = ("mlp", "cnn", "attention", "encoders")
# Of `encoders`: what can be made of one named array.
ENCODERS = ("mlp", "cnn", "set", "flat")
# Kinds of memory that such a network can have behind its hidden layers.
MEMORIES = ("lstm", "gru")
# Whose hidden layers and observations the value has, where it does not share the policy's.
CRITICS = ("separate", "team")
# A cnn halves what is larger, rows and columns, until it is not.
LARGEST_MAP = 24


@dataclass(frozen=True)
class PartSpec:
    """A named array of what is observed, and what encodes it; see `envs.spec.ObservationPart`.

    `encoder`: one of `ENCODERS`.
    """

    name: str
    dtype: str
    shape: tuple[int, ...]
    high: float
    encoder: str

    @property
    def size(self) -> int:
        """Numbers in it."""
        return math.prod(self.shape)


@dataclass(frozen=True)
class NetworkSpec:
    """Everything needed to build a network again; stored with its weights.

    Attributes:
      kind: `mlp`; `cnn`: residual convolutions over planes, then `hidden` layers; `attention`: over rows of
        entities, then the same; `encoders`: one for each of the named arrays
        `parts`, then the same; or one's own by
        `python:package.module:factory(parameters)`: see `Factory`.
      observation_size: numbers in one observation, flattened; bytes of one of named arrays.
      num_actions: logits: the size of the discrete action space, or of its parts together.
      hidden: width of each hidden layer.
      factors: choices of each part of an action; empty: it has one.
      scale: observations are multiplied by it first: one by the highest byte, 1/255 for images.
      observation_shape: planes, rows and columns, for a cnn; entities and features, for attention.
      channels, blocks: of the residual tower; width and layers of attention.
      popart: the value's scale is the network's own and follows the returns, see
        `agents.networks.layers.ValueScale`.
      normalise: they are then brought to mean 0 and variance 1 by what the player has seen so far, which is
        kept with the weights.
      memory: `lstm` or `gru` between hidden layers and head; empty: it sees the present only.
      memory_units: of the memory; 0: as wide as the last hidden layer.
      sharpness: logits are multiplied by it last: 1/τ where they are differences of values, see
        `agents.algorithms.r2d2`.
      critic: `separate`: the value has hidden layers of its own; `team`: these, over what the whole team
        sees; empty: it shares the policy's. teammates: of a seat, whom a critic sees.
      distribution: of actions: `gaussian`, num_actions being two for each number of an action; empty: a
        categorical one. extra_heads: (name, numbers) of what a network says beside policy and value.
    """

    observation_size: int
    num_actions: int
    hidden: tuple[int, ...] = (128, 128)
    kind: str = "mlp"
    factors: tuple[int, ...] = ()
    scale: float = 1.0
    normalise: bool = False
    observation_shape: tuple[int, ...] = ()
    channels: int = 32
    blocks: int = 2
    popart: bool = False
    memory: str = ""
    memory_units: int = 0
    sharpness: float = 1.0
    critic: str = ""
    teammates: int = 0
    distribution: str = ""
    extra_heads: tuple[tuple[str, int], ...] = ()
    parts: tuple[PartSpec, ...] = ()

    def to_json(self) -> dict[str, Any]:
        return asdict(self)

    @staticmethod
    def from_json(data: dict[str, Any]) -> NetworkSpec:
        listed: dict[str, Any] = {
            name: tuple(data.get(name, ())) for name in ("factors", "observation_shape")
        }
        listed["parts"] = tuple(
            PartSpec(**{**part, "shape": tuple(part["shape"])}) for part in data.get("parts", ())
        )
        listed["extra_heads"] = tuple((name, size) for name, size in data.get("extra_heads", ()))
        return NetworkSpec(**{**data, "hidden": tuple(data["hidden"]), **listed})

    @property
    def input_size(self) -> int:
        """Numbers that learning needs to be shown: a critic's of the team are more than one observation."""
        return self.observation_size * (1 + self.teammates if self.critic == "team" else 1)

    @property
    def num_parameters(self) -> int:
        """Weights and biases, without the statistics of observations."""
        features, tower = self.observation_size, 0
        if self.kind == "cnn":
            tower, features = _tower_size(self.observation_shape, self.channels, self.blocks)
        if self.kind == "attention":
            tower, features = _pool_size(self.observation_shape[1], self.channels, self.blocks)
        if self.kind == "encoders":
            sizes = [self._encoder_size(part) for part in self.parts]
            tower, features = sum(s[0] for s in sizes), sum(s[1] for s in sizes)
        widths = (features, *self.hidden)
        layers = tower + sum((a + 1) * b for a, b in pairwise(widths))
        gates = {"": 0, "gru": 3, "lstm": 4}[self.memory]
        cell = gates * self.units * (self.hidden[-1] + self.units + 2)
        critic, extra = 0, sum(size for _, size in self.extra_heads)
        if self.critic:
            own = (self.input_size, *self.hidden, 1)
            critic = sum((a + 1) * b for a, b in pairwise(own))
        return layers + cell + (self.units + 1) * (self.num_actions + 1 + extra) + critic

    def _encoder_size(self, part: PartSpec) -> tuple[int, int]:
        """Returns weights and biases of one encoder, and how many numbers it makes."""
        if part.encoder == "cnn":
            return _tower_size(part.shape, self.channels, self.blocks)
        if part.encoder == "set":
            return _pool_size(part.shape[1], self.channels, self.blocks)
        if part.encoder == "flat":
            return 0, part.size
        return (part.size + 1) * self.hidden[0], self.hidden[0]

    @property
    def units(self) -> int:
        """Numbers that the head sees."""
        return self.memory_units or self.hidden[-1] if self.memory else self.hidden[-1]

    @property
    def memory_size(self) -> int:
        """Numbers that one seat's memory holds between two decisions."""
        return {"": 0, "gru": self.units, "lstm": 2 * self.units}[self.memory]

    @property
    def halvings(self) -> int:
        """How often a cnn halves rows and columns on the way, so that large pictures become small ones."""
        return halvings(self.observation_shape)


def halvings(shape: tuple[int, ...]) -> int:
    """Returns how often a cnn halves rows and columns of [C, H, W]."""
    longest = max(shape[1:], default=0)
    return max(0, math.ceil(math.log2(longest / LARGEST_MAP))) if longest > LARGEST_MAP else 0


def _tower_size(shape: tuple[int, ...], channels: int, blocks: int) -> tuple[int, int]:
    planes, rows, columns = shape
    between = 9 * channels * channels + channels
    for _ in range(halvings(shape)):
        rows, columns = -(-rows // 2), -(-columns // 2)
    return 9 * planes * channels + channels + 2 * blocks * between, channels * rows * columns


def _pool_size(features: int, width: int, blocks: int) -> tuple[int, int]:
    layer = 4 * (width + 1) * width + (width + 1) * 2 * width + (2 * width + 1) * width + 4 * width
    return (features + 1) * width + blocks * layer, 2 * width
