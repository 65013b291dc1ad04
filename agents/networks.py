"""Networks that say how to move and how good the position is."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import replace
from itertools import pairwise
from typing import Any, Protocol

import torch
from torch import nn

from agents.errors import AgentError
from agents.network_spec import MEMORIES, OWN, NetworkSpec
from envs.errors import GameError
from envs.foreign import imported
from envs.ids import split_parameters


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


class MLP(nn.Module):
    """ReLU layers and one linear head for logits and value together.

    One head is one matrix product fewer a forward, which counts when sixteen opponents have 256 rows each.
    Initialised orthogonally with gain √2, logits 0.01, value 1 (Andrychowicz et al. 2021, "What matters
    in on-policy RL"): the first policy is near uniform.
    """

    def __init__(self, spec: NetworkSpec) -> None:
        super().__init__()
        layers: list[nn.Module] = []
        if spec.normalise:
            layers.append(Normaliser(spec.observation_size))
        self._scale = spec.scale
        self.trunk = nn.Sequential(*layers, *_hidden_layers(spec.observation_size, spec.hidden))
        self.head = _head(spec.hidden[-1], spec.num_actions)
        self.value_scale = ValueScale() if spec.popart else None
        self.sharpness = spec.sharpness

    def forward(self, obs: torch.Tensor) -> torch.Tensor:
        """Args: obs: [R, D]. Returns: [R, A + 1], the logits of the A actions, then the value."""
        return _finished(self.head(self.features(obs)), self.sharpness, self.value_scale)

    def features(self, obs: torch.Tensor) -> torch.Tensor:
        """Args: obs: [R, D]. Returns: what the last hidden layer makes of it, [R, H]."""
        if self._scale != 1.0:
            obs = obs * self._scale
        out: torch.Tensor = self.trunk(obs)
        return out

    def observe(self, obs: torch.Tensor) -> None:
        """Lets the statistics of observations, if it keeps any, take in more of them, [R, D]."""
        first = self.trunk[0]
        if isinstance(first, Normaliser):
            first.update(obs * self._scale)


# Of the running mean of returns, an update of 16,384 decisions: a twentieth of it is new.
VALUE_SCALE_RATE = 0.05


def linear_layers(network: nn.Module) -> list[tuple[torch.Tensor, torch.Tensor]] | None:
    """Returns weight and bias of each layer of an MLP that is these and ReLU between them, None of others."""
    if type(network) is not MLP or network._scale != 1.0:
        return None
    if isinstance(network.trunk[0], Normaliser):
        return None
    layers = [layer for layer in (*network.trunk, network.head) if isinstance(layer, nn.Linear)]
    found: list[tuple[torch.Tensor, torch.Tensor]] = [(layer.weight, layer.bias) for layer in layers]
    if network.sharpness != 1.0:
        found[-1] = tuple(torch.cat([t[:-1] * network.sharpness, t[-1:]]) for t in found[-1])  # type: ignore[assignment]
    if network.value_scale is not None:
        found[-1] = network.value_scale.folded(*found[-1])
    return found


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


class ResidualCNN(nn.Module):
    """Residual convolutions over boards or images, then hidden layers and one head for logits and value.

    What is larger than a board is halved by pooling first, then after each block, until it is not.
    """

    def __init__(self, spec: NetworkSpec) -> None:
        super().__init__()
        planes, rows, columns = spec.observation_shape
        self._shape, self._scale = spec.observation_shape, spec.scale
        tower: list[nn.Module] = [_convolution(planes, spec.channels), nn.ReLU(inplace=True)]
        left = spec.halvings
        for k in range(max(spec.blocks, left)):
            if left > 0:
                tower.append(nn.MaxPool2d(3, 2, 1))
                rows, columns, left = -(-rows // 2), -(-columns // 2), left - 1
            if k < spec.blocks:
                tower.append(ResidualBlock(spec.channels))
        self.normaliser = Normaliser(spec.observation_size) if spec.normalise else None
        self.tower = nn.Sequential(*tower)
        features = spec.channels * rows * columns
        self.trunk = nn.Sequential(*_hidden_layers(features, spec.hidden))
        self.head = _head(spec.hidden[-1], spec.num_actions)
        self.value_scale = ValueScale() if spec.popart else None
        self.sharpness = spec.sharpness
        self.to(memory_format=torch.channels_last)  # type: ignore[call-overload]

    def forward(self, obs: torch.Tensor) -> torch.Tensor:
        """Args: obs: [R, D], planes flattened. Returns: [R, A + 1], logits, then the value."""
        return _finished(self.head(self.features(obs)), self.sharpness, self.value_scale)

    def features(self, obs: torch.Tensor) -> torch.Tensor:
        """Args: obs: [R, D]. Returns: what the last hidden layer makes of it, [R, H]."""
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


def _finished(heads: torch.Tensor, sharpness: float, value_scale: ValueScale | None) -> torch.Tensor:
    if sharpness != 1.0:
        heads = torch.cat([heads[..., :-1] * sharpness, heads[..., -1:]], dim=-1)
    out: torch.Tensor = heads if value_scale is None else value_scale(heads)
    return out


def _convolution(planes: int, channels: int) -> nn.Conv2d:
    layer = nn.Conv2d(planes, channels, 3, padding=1)
    nn.init.kaiming_normal_(layer.weight, nonlinearity="relu")
    assert layer.bias is not None  # noqa: S101
    nn.init.zeros_(layer.bias)
    return layer


def _hidden_layers(features: int, hidden: tuple[int, ...]) -> list[nn.Module]:
    layers: list[nn.Module] = []
    for fan_in, fan_out in pairwise((features, *hidden)):
        layer = nn.Linear(fan_in, fan_out)
        nn.init.orthogonal_(layer.weight, math.sqrt(2))
        nn.init.zeros_(layer.bias)
        layers += [layer, nn.ReLU(inplace=True)]
    return layers


def _head(features: int, num_actions: int) -> nn.Linear:
    head = nn.Linear(features, num_actions + 1)
    with torch.no_grad():
        nn.init.orthogonal_(head.weight[:-1], 0.01)
        nn.init.orthogonal_(head.weight[-1:], 1.0)
        nn.init.zeros_(head.bias)
    return head


_CLASSES: dict[str, type[MLP] | type[ResidualCNN]] = {"mlp": MLP, "cnn": ResidualCNN}


class Recurrent(nn.Module):
    """An MLP or CNN, an LSTM or GRU behind its hidden layers, and the head behind that.

    What it remembers is one row of numbers a seat, zeros when an episode begins: the memory's own state, of
    an LSTM (Hochreiter & Schmidhuber 1997) its output and its cell side by side.
    """

    def __init__(self, spec: NetworkSpec) -> None:
        super().__init__()
        self.body = _CLASSES[spec.kind](replace(spec, popart=False))
        del self.body.head
        cell = nn.LSTMCell if spec.memory == "lstm" else nn.GRUCell
        self.cell = cell(spec.hidden[-1], spec.units)
        self.head = _head(spec.units, spec.num_actions)
        self.value_scale = ValueScale() if spec.popart else None
        self.sharpness = spec.sharpness
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
        seen, memory = self._remember(self.body.features(obs), memory)
        return self._heads(seen), memory

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
        seen = []
        for t in range(len(obs)):
            out, memory = self._remember(features[t], memory * kept[t, :, None])
            seen.append(out)
        return self._heads(torch.stack(seen)), memory

    def observe(self, obs: torch.Tensor) -> None:
        """Lets the statistics of observations, if it keeps any, take in more of them, [R, D]."""
        self.body.observe(obs)

    def _remember(self, features: torch.Tensor, memory: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
        if self._is_lstm:
            out, cell = self.cell(features, memory.chunk(2, dim=-1))
            return out, torch.cat([out, cell], dim=-1)
        out = self.cell(features, memory)
        return out, out

    def _heads(self, seen: torch.Tensor) -> torch.Tensor:
        return _finished(self.head(seen), self.sharpness, self.value_scale)


def build(spec: NetworkSpec, seed: int | None = None) -> nn.Module:
    """Builds a freshly initialised network; with a seed, always the same one.

    Raises:
      AgentError: unknown kind, a cnn without planes, or a factory that does not keep the contract.
    """
    own = spec.kind.startswith(OWN)
    if not own and spec.kind not in _CLASSES:
        raise AgentError(
            f"unknown network kind {spec.kind!r}; known: {', '.join(_CLASSES)}, python:MODULE:FACTORY"
        )
    if spec.kind == "cnn" and (
        len(spec.observation_shape) != 3 or math.prod(spec.observation_shape) != spec.observation_size
    ):
        raise AgentError(
            f"a cnn needs observations of planes, rows and columns; these are {list(spec.observation_shape)}"
        )
    if spec.memory and (own or spec.memory not in MEMORIES):
        raise AgentError(
            f"memory {spec.memory!r} of a network of kind {spec.kind}: {', '.join(MEMORIES)}, and only "
            "an mlp or a cnn has one"
        )
    make: Callable[[NetworkSpec], nn.Module] = (
        _own if own else Recurrent if spec.memory else _CLASSES[spec.kind]
    )
    if seed is None:
        return make(spec)
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(seed)
        return make(spec)


class Factory(Protocol):
    """Makes a network of one's own.

    It takes the spec and the parameters of its id, and returns a module whose forward takes observations
    [R, D] (flattened, any R) and returns [R, A + 1]: logits of the A actions, then the value. What `hidden`,
    `scale` and the rest mean is up to it. With `normalise` it needs a method `observe(obs)`, [R, D]; with
    `popart` a `ValueScale` named `value_scale` that it applies, and the linear layer before it, `head`.
    """

    def __call__(self, spec: NetworkSpec, **parameters: Any) -> nn.Module: ...


def _own(spec: NetworkSpec) -> nn.Module:
    try:
        path, parameters = split_parameters(spec.kind.removeprefix(OWN))
        factory: Factory = imported(spec.kind, path)
    except GameError as error:
        raise AgentError(str(error)) from error
    try:
        network = factory(spec, **parameters)
        out = network.eval()(torch.zeros(3, spec.observation_size))
        shape = tuple(out.shape)
    except Exception as error:
        raise AgentError(f"{spec.kind}: {type(error).__name__}: {error}") from error
    if not isinstance(network, nn.Module) or shape != (3, spec.num_actions + 1):
        raise AgentError(
            f"{spec.kind}: for 3 observations of {spec.observation_size} numbers it must return "
            f"(3, {spec.num_actions + 1}), logits and value, not {shape}"
        )
    if spec.popart and not (hasattr(network, "value_scale") and hasattr(network, "head")):
        raise AgentError(f"{spec.kind}: popart needs a value_scale and a head, which it does not have")
    if spec.normalise and not hasattr(network, "observe"):
        raise AgentError(f"{spec.kind}: normalise needs a method observe(obs), which it does not have")
    return network.train()
