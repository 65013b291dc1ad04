"""Networks that say how to move and how good the position is, by their specs."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import replace
from typing import Any, Protocol

import torch
from torch import nn

from agents.errors import AgentError
from agents.networks.attention import SetAttention
from agents.networks.convolutional import ResidualCNN
from agents.networks.critics import SeparateCritic
from agents.networks.encoders import NamedEncoders
from agents.networks.heads import head_width
from agents.networks.layers import FeedForward, Normaliser, hidden_layers
from agents.networks.recurrent import Recurrent
from agents.networks.spec import CRITICS, MEMORIES, OWN, NetworkSpec
from envs.errors import GameError
from envs.ids import split_parameters
from envs.importing import imported


class MLP(FeedForward):
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
        self.trunk = nn.Sequential(*layers, *hidden_layers(spec.observation_size, spec.hidden))
        self.end_with_head(spec.hidden[-1], spec)

    def features(self, obs: torch.Tensor) -> torch.Tensor:
        if self._scale != 1.0:
            obs = obs * self._scale
        out: torch.Tensor = self.trunk(obs)
        return out

    def observe(self, obs: torch.Tensor) -> None:
        """Lets the statistics of observations, if it keeps any, take in more of them, [R, D]."""
        first = self.trunk[0]
        if isinstance(first, Normaliser):
            first.update(obs * self._scale)


def linear_layers(network: nn.Module) -> list[tuple[torch.Tensor, torch.Tensor]] | None:
    """Returns what acting needs of an MLP that is linear layers and ReLU between them, None of others.

    Weight and bias of each layer; of the last the rows of policy and value.
    """
    if type(network) is not MLP or network._scale != 1.0:
        return None
    if isinstance(network.trunk[0], Normaliser):
        return None
    layers = [layer for layer in (*network.trunk, network.head) if isinstance(layer, nn.Linear)]
    result: list[tuple[torch.Tensor, torch.Tensor]] = [(layer.weight, layer.bias) for layer in layers]
    width = network.acting_width
    weight, bias = (t[:width] for t in result[-1])
    if network.sharpness != 1.0:
        weight, bias = (torch.cat([t[:-1] * network.sharpness, t[-1:]]) for t in (weight, bias))
    result[-1] = (weight, bias) if network.value_scale is None else network.value_scale.folded(weight, bias)
    return result


_CLASSES: dict[str, type[MLP] | type[ResidualCNN] | type[SetAttention] | type[NamedEncoders]] = {
    "mlp": MLP,
    "cnn": ResidualCNN,
    "attention": SetAttention,
    "encoders": NamedEncoders,
}


def build(spec: NetworkSpec, seed: int | None = None) -> nn.Module:
    """Builds a freshly initialised network; with a seed, always the same one.

    Raises:
      AgentError: unknown kind, one for observations of another shape, or a factory that does not keep the
        contract.
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
    if spec.kind == "attention" and (
        len(spec.observation_shape) != 2 or math.prod(spec.observation_shape) != spec.observation_size
    ):
        raise AgentError(
            f"attention needs observations of rows, an entity each; these are {list(spec.observation_shape)}"
        )
    if spec.kind == "encoders" and (spec.critic or spec.normalise):
        raise AgentError(
            "a network of encoders has no critic apart and normalises nothing: use critic: shared and "
            "normalise: false"
        )
    if spec.memory and (own or spec.memory not in MEMORIES):
        raise AgentError(
            f"memory {spec.memory!r} of a network of kind {spec.kind}: {', '.join(MEMORIES)}, and only "
            "League's own kinds have one"
        )
    if spec.critic and (spec.memory or spec.critic not in CRITICS):
        raise AgentError(
            f"critic {spec.critic!r}: {', '.join(CRITICS)}, and only of networks that do not remember"
        )
    make: Callable[[NetworkSpec], nn.Module] = (
        _with_critic if spec.critic else (_own if own else _recurrent if spec.memory else _CLASSES[spec.kind])
    )
    if seed is None:
        return make(spec)
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(seed)
        return make(spec)


def _with_critic(spec: NetworkSpec) -> SeparateCritic:
    return SeparateCritic(spec, build(replace(spec, critic="", popart=False)))


def _recurrent(spec: NetworkSpec) -> Recurrent:
    return Recurrent(spec, _CLASSES[spec.kind](replace(spec, memory="", popart=False)))


class Factory(Protocol):
    """Makes a network of one's own.

    It takes the spec and the parameters of its id, and returns a module whose forward takes observations
    [R, D] (flattened, any R) and returns [R, A + 1]: logits of the A actions, then the value; behind it the
    numbers of the spec's `extra_heads`, if there are any. What `hidden`,
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
    if not isinstance(network, nn.Module) or shape != (3, head_width(spec)):
        raise AgentError(
            f"{spec.kind}: for 3 observations of {spec.observation_size} numbers it must return "
            f"(3, {head_width(spec)}), logits and value, not {shape}"
        )
    if spec.popart and not (hasattr(network, "value_scale") and hasattr(network, "head")):
        raise AgentError(f"{spec.kind}: popart needs a value_scale and a head, which it does not have")
    if spec.normalise and not hasattr(network, "observe"):
        raise AgentError(f"{spec.kind}: normalise needs a method observe(obs), which it does not have")
    return network.train()
