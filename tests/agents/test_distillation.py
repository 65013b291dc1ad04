"""Many players made one: it plays as they do, each as often as its share."""

from __future__ import annotations

import dataclasses
from typing import Any

import numpy as np
import pytest
import torch

import envs
from agents.acting.policy import NetworkPolicy, probabilities
from agents.errors import AgentError
from agents.networks.build import build
from agents.networks.spec import NetworkSpec
from agents.networks.weights import load_network
from agents.players.distillation import Distilled, distil

SPEC = NetworkSpec(84, 7, (64,))


def opinionated(seed: int, column: int) -> NetworkPolicy:
    """One that likes a column."""
    network: Any = build(SPEC, seed)
    with torch.no_grad():
        network.head.weight[:-1] *= 50.0
        network.head.bias[column] += 2.0
    return NetworkPolicy(network)


def made_of(players: list[NetworkPolicy], shares: list[float]) -> Distilled:
    game = envs.make("native:connect_four", 256, 0)
    return distil(game, players, shares, SPEC, decisions=1_000_000, learning_rate=3e-3)


def opening(policy: NetworkPolicy) -> Any:
    """What it plays on the empty board, [7]."""
    turns = envs.make("native:connect_four", 1, 0).turns()
    return probabilities(policy.heads(turns.obs.reshape(1, -1).astype(np.float32))[:, :-1], turns.legal)[0]


def student_of(made: Distilled) -> NetworkPolicy:
    network, spec = load_network(made.checkpoint)
    assert spec == SPEC
    return NetworkPolicy(network)


def test_a_player_is_learnt_by_heart() -> None:
    left, right = opinionated(1, 0), opinionated(2, 6)
    made = made_of([left, right], [1.0, 0.0])
    assert made.kl < 0.1 * made.kl_before
    np.testing.assert_allclose(opening(student_of(made)), opening(left), atol=0.05)


def test_players_that_disagree_are_mixed_by_their_shares() -> None:
    left, right = opinionated(1, 0), opinionated(2, 6)
    made = made_of([left, right], [3.0, 1.0])
    mixed = 0.75 * opening(left) + 0.25 * opening(right)
    np.testing.assert_allclose(opening(student_of(made)), mixed, atol=0.05)


def test_players_that_remember_are_refused() -> None:
    game = envs.make("native:connect_four", 4, 0)
    with pytest.raises(AgentError, match="networks without memory"):
        distil(game, [opinionated(1, 0)], [1.0], dataclasses.replace(SPEC, memory="gru"))
    with pytest.raises(AgentError, match="nobody to distil"):
        distil(game, [], [], SPEC)
