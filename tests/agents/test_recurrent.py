"""Networks that remember: what they are learnt from is what they did, and they solve what others cannot."""

from __future__ import annotations

import dataclasses
from typing import Any

import numpy as np
import pytest
import torch
from gymnasium import spaces
from pettingzoo import ParallelEnv

import envs
from agents.acting.collector import Collector
from agents.acting.policy import NetworkPolicy
from agents.acting.seating import Series
from agents.algorithms.config import LearningConfig, Schedule
from agents.errors import AgentError
from agents.learning.learner import Learner
from agents.networks.build import build
from agents.networks.recurrent import Recurrent
from agents.networks.spec import MEMORIES, NetworkSpec
from agents.players.bots import RandomBot
from agents.prefetch import PrefetchedFragment
from envs.tables.batch import PettingZooGame

MLP = NetworkSpec(84, 7, (16,), memory="gru", memory_units=12)
CNN = NetworkSpec(84, 7, (16,), "cnn", observation_shape=(2, 6, 7), channels=4, blocks=1, memory="lstm")


@pytest.mark.parametrize("spec", [MLP, dataclasses.replace(MLP, memory="lstm"), CNN])
def test_the_network_that_acted_unrolled_over_a_fragment_gives_what_it_said(spec: NetworkSpec) -> None:
    game = envs.make("native:connect_four", 64, 0)
    c = Collector(game, ["main"], fragment_length=4, fragment_lanes=16, seed=0, memory_size=spec.memory_size)
    network: Any = build(spec, 0)
    with torch.no_grad():  # so that what it remembers counts
        network.head.weight *= 30.0
    c.update_learner("main", NetworkPolicy(network), version=0, generation=0)
    c.put_policy("random", RandomBot())
    c.put_policy("other", NetworkPolicy(build(dataclasses.replace(spec, memory="gru", memory_units=40), 1)))
    for k, other in enumerate(["random", "other", "main"] * 20):
        learners = (True, other == "main")
        c.add_series(Series(k, ("main", other), (0, 0), learners, 64, "training", "test"))
    begun = within = 0
    for _ in range(120):
        c.tick()
        while c.ready_fragments("main"):
            fragment = c.take_fragment("main")
            staged = PrefetchedFragment.of(fragment, torch.device("cpu"))
            begins = torch.cat([torch.zeros(1, 16, dtype=torch.bool), staged.terminal])
            with torch.no_grad():
                heads = network.unroll(staged.obs.float(), staged.memory, begins)
            log_pi = torch.log_softmax(heads[:-1, :, :-1].masked_fill(~staged.legal, -torch.inf), -1)
            taken = log_pi.gather(-1, staged.actions[..., None])[..., 0]
            torch.testing.assert_close(taken, staged.log_probs, atol=1e-3, rtol=1e-3)
            still = ~staged.terminal[-1]
            torch.testing.assert_close(heads[-1, still, -1], staged.values[-1, still], atol=1e-3, rtol=1e-3)
            remembered = (fragment.memory != 0).any(axis=1)
            within += int(remembered.sum())
            begun += int((~remembered).sum())
    assert within > 50, "many pages go on in the middle of an episode"
    assert begun > 20


class Recall(ParallelEnv):  # type: ignore[misc]
    """A cue is shown once; three decisions later it pays 1 to play it."""

    metadata = {"name": "recall"}  # noqa: RUF012

    def __init__(self) -> None:
        self.possible_agents = ["one"]
        self._rng = np.random.default_rng(0)

    def observation_space(self, agent: str) -> spaces.Space[Any]:
        return spaces.Box(0, 1, (3,), np.uint8)

    def action_space(self, agent: str) -> spaces.Space[Any]:
        return spaces.Discrete(2)

    def reset(self, seed: int | None = None, options: Any = None) -> tuple[Any, Any]:
        self.agents, self.clock, self.cue = ["one"], 0, int(self._rng.integers(2))
        return self._seen(), {"one": {}}

    def step(self, actions: dict[str, Any]) -> tuple[Any, Any, Any, Any, Any]:
        self.clock += 1
        over = self.clock == 4
        reward = float(over and actions["one"] == self.cue)
        self.agents = [] if over else ["one"]
        return self._seen(), {"one": reward}, {"one": over}, {"one": False}, {"one": {}}

    def _seen(self) -> dict[str, Any]:
        seen = np.zeros(3, np.uint8)
        seen[self.cue if self.clock == 0 else 2] = 1
        return {"one": seen}


@pytest.mark.parametrize(
    ("memory", "algorithm", "burn_in"),
    [("", "ppo", 0), ("gru", "ppo", 0), ("lstm", "ppo", 0), ("gru", "impala", 2), ("lstm", "appo", 2)],
)
def test_what_was_seen_three_decisions_ago_is_remembered(memory: str, algorithm: str, burn_in: int) -> None:
    torch.manual_seed(0)
    config = LearningConfig(
        algorithm,  # type: ignore[arg-type]
        learning_rate=Schedule(5e-3, 5e-3),
        entropy=Schedule(0.01, 0.01),
        minibatch=256,
        precision="float32",
        burn_in=burn_in,
    )
    spec = NetworkSpec(3, 2, (16,), memory=memory)
    learner = Learner(spec, config, 0)
    game = PettingZooGame("python:tests:recall", Recall, 64, 0, teams="all")
    c = Collector(game, ["main"], fragment_length=8, fragment_lanes=64, seed=0, memory_size=spec.memory_size)
    c.update_learner("main", NetworkPolicy(learner.network), 0, 0)
    rewards: list[float] = []
    number = 0
    while len(rewards) < 80:
        if c.queued_episodes < 64:
            c.add_series(Series(number, ("main",), (0,), (True,), 64, "training", "test"))
            number += 1
        c.tick()
        while c.ready_fragments("main"):
            fragment = c.take_fragment("main")
            rewards.append(float(fragment.rewards.sum() / fragment.terminal.sum()))
            learner.update(fragment, 0.0)
            c.update_learner("main", NetworkPolicy(learner.network), learner.version, 0)
    last = float(np.mean(rewards[-5:]))
    if memory:
        assert last > 0.95
    else:
        assert last == pytest.approx(0.5, abs=0.1)


@pytest.mark.parametrize("memory", MEMORIES)
def test_burning_in_changes_no_heads_and_resuming_changes_nothing(memory: str) -> None:
    spec = dataclasses.replace(MLP, memory=memory, normalise=True, popart=True)
    network = build(spec, 3)
    assert isinstance(network, Recurrent)
    assert sum(p.numel() for p in network.parameters()) == spec.num_parameters
    obs, begins = torch.rand(6, 5, 84), torch.rand(6, 5) < 0.3
    start = torch.randn(5, spec.memory_size)
    whole = network.unroll(obs, start, begins)
    _, after = network.unrolled(obs[:2], start, begins[:2])
    torch.testing.assert_close(network.unroll(obs[2:], after, begins[2:]), whole[2:])
    one_by_one, memory_now = [], start
    for t in range(6):
        heads, memory_now = network(obs[t], memory_now * (~begins[t, :, None]))
        one_by_one.append(heads)
    torch.testing.assert_close(torch.stack(one_by_one), whole)
    learner, other = Learner(spec, LearningConfig(), 0), Learner(spec, LearningConfig(), 1)
    other.restore(learner.state())
    torch.testing.assert_close(
        other.network.unroll(obs, start, begins),  # type: ignore[operator]
        learner.network.unroll(obs, start, begins),  # type: ignore[operator]
    )


def test_a_memory_that_is_none_is_refused() -> None:
    with pytest.raises(AgentError, match="memory 'elephant' of a network of kind mlp: lstm, gru"):
        build(dataclasses.replace(MLP, memory="elephant"))
