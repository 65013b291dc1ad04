"""Networks of one's own, good and bad, for the tests to name."""

from __future__ import annotations

import torch
from torch import nn

from agents.networks.spec import NetworkSpec


def linear(spec: NetworkSpec, bias: bool = True) -> nn.Module:
    return nn.Linear(spec.observation_size, spec.num_actions + 1, bias=bias)


def narrow(spec: NetworkSpec) -> nn.Module:
    return nn.Linear(spec.observation_size, spec.num_actions)


def broken(spec: NetworkSpec) -> nn.Module:
    raise RuntimeError("no such luck")


def function(spec: NetworkSpec) -> object:
    return lambda obs: torch.zeros(len(obs), spec.num_actions + 1)
