"""Critics of their own: the team's sees what the policy does not, and play needs neither."""

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
from agents.networks.spec import NetworkSpec
from agents.networks.weights import dump_network, load_network
from envs.tables.batch import PettingZooGame
from envs.team_view import TeamView
from league.config.run import RunConfig
from league.errors import ConfigError

SPEC = NetworkSpec(4, 3, (16,), normalise=True, popart=True, critic="team", teammates=2)


class Whispers(ParallelEnv):  # type: ignore[misc]
    """Each of a team of three sees a number of its own; all are paid the sum of all, whatever they do."""

    metadata = {"name": "whispers"}  # noqa: RUF012

    def __init__(self) -> None:
        self.possible_agents = ["a", "b", "c"]
        self._rng = np.random.default_rng(0)

    def observation_space(self, agent: str) -> spaces.Space[Any]:
        return spaces.Box(-1.0, 1.0, (1,), np.float32)

    def action_space(self, agent: str) -> spaces.Space[Any]:
        return spaces.Discrete(2)

    def _look(self) -> dict[str, Any]:
        self._numbers = self._rng.uniform(-1, 1, 3).astype(np.float32)
        return {a: self._numbers[k : k + 1] for k, a in enumerate(self.agents)}

    def reset(self, seed: int | None = None, options: Any = None) -> tuple[Any, Any]:
        if seed is not None:
            self._rng = np.random.default_rng(seed)
        self.agents = list(self.possible_agents)
        return self._look(), {a: {} for a in self.agents}

    def step(self, actions: Any) -> Any:
        rewards = dict.fromkeys(self.agents, float(self._numbers.sum()))
        over, info = dict.fromkeys(self.agents, True), {a: {} for a in self.agents}
        seen = self._look()
        self.agents = []
        return seen, rewards, over, dict.fromkeys(over, False), info


def whispers(count: int) -> PettingZooGame:
    return PettingZooGame("python:tests:whispers", Whispers, count, 0, teams="all")


def test_a_teams_view_is_ones_own_and_then_the_teammates() -> None:
    game = whispers(5)
    shown = TeamView(whispers(5))
    assert shown.spec.observation_size == 3
    for _ in range(3):
        alone, turns = game.turns(), shown.turns()
        own = alone.obs.reshape(5, 3)  # three seats of each game, in order
        wide = turns.obs.reshape(5, 3, 3)
        for seat, others in ((0, (1, 2)), (1, (0, 2)), (2, (0, 1))):
            np.testing.assert_array_equal(wide[:, seat, 0], own[:, seat])
            np.testing.assert_array_equal(wide[:, seat, 1:], own[:, list(others)])
        actions = np.zeros(15, np.int64)
        game.step(actions)
        shown.step(actions)


def test_sides_of_one_see_zeros_in_the_place_of_teammates() -> None:
    shown = TeamView(envs.make("pettingzoo:mpe2.simple_tag_v3", 2, 0))
    turns = shown.turns()
    size = turns.obs.shape[1] // 3
    assert (turns.obs[turns.seat == 3, size:] == 0).all()
    assert (turns.obs[turns.seat == 0, size:] != 0).any()


def test_the_policy_is_blind_to_what_only_the_critic_sees() -> None:
    network, rng = build(SPEC, 0), torch.Generator().manual_seed(0)
    obs, other = torch.rand(8, 12, generator=rng), torch.rand(8, 12, generator=rng)
    other[:, :4] = obs[:, :4]
    with torch.no_grad():
        one, two, own = network(obs), network(other), network(obs[:, :4])
    assert torch.equal(one[:, :-1], two[:, :-1])
    assert torch.equal(one[:, :-1], own[:, :-1])
    assert not torch.allclose(one[:, -1], two[:, -1])
    again, spec = load_network(dump_network(network, SPEC))
    assert spec == SPEC
    with torch.no_grad():
        assert torch.equal(again(obs), one)
    count = sum(p.numel() for p in network.parameters())
    assert SPEC.num_parameters == count
    with pytest.raises(AgentError, match="do not remember"):
        build(dataclasses.replace(SPEC, memory="gru"))


@pytest.mark.parametrize("critic", ["", "separate", "team"])
def test_only_a_teams_critic_knows_what_the_others_whisper(critic: str) -> None:
    """Of the variance of the returns a seat's own number explains a third."""
    torch.manual_seed(0)
    spec = NetworkSpec(1, 2, (32,), critic=critic, teammates=2, popart=bool(critic))
    rates = Schedule(5e-3, 5e-3)
    config = LearningConfig(learning_rate=rates, minibatch=256, max_grad_norm=5.0, precision="float32")
    learner = Learner(spec, config, 0)
    game = TeamView(whispers(64))
    c = Collector(game, ["main"], fragment_length=8, fragment_lanes=64, seed=0)

    def renew() -> None:
        policy = NetworkPolicy(learner.network)
        policy.input_size = spec.input_size
        c.update_learner("main", policy, learner.version, 0)

    renew()
    explained: list[float] = []
    while len(explained) < 120:
        if c.queued_episodes < 256:
            c.add_series(Series(len(explained), ("main",), (0,), (True,), 512, "training", "test"))
        c.tick()
        while c.ready_fragments("main"):
            metrics = learner.update(c.take_fragment("main"), 0.0)
            assert metrics is not None
            explained.append(metrics.explained_variance)
            renew()
    last = float(np.mean(explained[-20:]))
    assert last > 0.9 if critic == "team" else 0.2 < last < 0.45


def test_critics_that_cannot_be_are_refused() -> None:
    base = {"game": "native:connect_four", "players": [{"role": "main"}], "stop": {"moves": 1000}}
    for network, match in (
        ({"critic": "team"}, "nobody has any"),
        ({"critic": "separate", "memory": "gru"}, "without memory"),
        ({"critic": "teem"}, "did you mean team"),
    ):
        with pytest.raises(ConfigError, match=match):
            RunConfig.from_data({**base, "network": network})
