"""What a network does to observations before it looks at them, and what it keeps of them."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
import torch

from agents.acting.policy import NetworkPolicy
from agents.acting.trajectories import Trajectories
from agents.algorithms.config import LearningConfig
from agents.errors import AgentError
from agents.learning.learner import Learner
from agents.networks import weights
from agents.networks.build import MLP, build, linear_layers
from agents.networks.layers import Normaliser
from agents.networks.spec import NetworkSpec
from envs.native.connect_four import ConnectFour
from envs.vector_game import Step


def test_the_statistics_are_those_of_everything_seen_in_whatever_parts_it_came() -> None:
    seen = torch.tensor(
        np.random.default_rng(0).normal([3.0, -2.0], [5.0, 0.1], (900, 2)), dtype=torch.float32
    )
    normaliser = Normaliser(2)
    for part in torch.split(seen, [100, 1, 799]):
        normaliser.update(part)
    assert normaliser.mean.tolist() == pytest.approx(seen.mean(0).tolist(), rel=1e-4)
    assert normaliser.variance.tolist() == pytest.approx(seen.var(0, unbiased=False).tolist(), rel=1e-3)
    shown = normaliser(seen)
    assert shown.mean(0).tolist() == pytest.approx([0.0, 0.0], abs=1e-3)
    assert shown.std(0).tolist() == pytest.approx([1.0, 1.0], abs=0.01)


def test_they_are_saved_with_the_weights_and_go_with_a_learners_state() -> None:
    spec = NetworkSpec(4, 3, (8,), normalise=True)
    learner = Learner(spec, LearningConfig(precision="float32"), seed=0)
    assert isinstance(learner.network, MLP)
    learner.network.observe(torch.randn(50, 4) * 7.0 + 3.0)
    obs = torch.randn(5, 4)
    for data in (learner.checkpoint(), learner.state()):
        network, restored = weights.load_network(data)
        assert restored == spec
        assert torch.equal(network(obs), learner.network(obs))
    assert not torch.equal(build(spec, 0)(obs), learner.network(obs))


def test_a_policy_forwards_as_its_network_does() -> None:
    obs = np.random.default_rng(0).random((64, 12), np.float32)
    for spec in (NetworkSpec(12, 3), NetworkSpec(12, 3, normalise=True), NetworkSpec(12, 3, scale=0.5)):
        network = build(spec, 0)
        policy = NetworkPolicy(network)
        assert (linear_layers(network) is None) == (spec != NetworkSpec(12, 3))
        out = torch.zeros(64, 4)
        with torch.inference_mode():
            expected = network(torch.from_numpy(obs))
            policy.heads_of(torch.from_numpy(obs), out)
        assert torch.equal(out, expected)
        assert np.array_equal(policy.heads(obs), expected.numpy())


def test_images_are_scaled() -> None:
    plain, scaled = build(NetworkSpec(4, 3, (8,)), 0), build(NetworkSpec(4, 3, (8,), scale=1.0 / 255.0), 0)
    image = torch.tensor([[0.0, 255.0, 51.0, 102.0]])
    assert torch.allclose(scaled(image), plain(image / 255.0))


def test_a_truncated_episode_brings_what_its_last_decision_was_worth_and_rewards_are_scaled() -> None:
    spec = ConnectFour(2).spec
    pages = Trajectories(
        spec, 2, ["a"], fragment_length=1, fragment_lanes=2, discounts=[0.9], reward_scales=[0.5]
    )
    env, seat = np.arange(2, dtype=np.int32), np.zeros(2, np.int32)
    owners = np.array([[0, -1], [0, -1]], np.int32)
    obs, legal = np.zeros((2, 84), np.uint8), np.ones((2, 7), np.bool_)
    values = np.array([10.0, 10.0], np.float32)
    actions, log_probs, memory = np.zeros(2, np.int64), np.zeros(2, np.float32), np.zeros((2, 0), np.float32)
    pages.record_decisions(env, seat, owners, obs, legal, actions, log_probs, values, memory)
    rewards = np.array([[4.0, 0.0], [4.0, 0.0]], np.float32)
    ended, truncated = np.array([True, True]), np.array([False, True])
    pages.record_rewards(Step(rewards, ended, truncated, rewards))
    fragment = pages.take(0)
    assert sorted(fragment.rewards[0].tolist()) == [2.0, 2.0 + 0.9 * 10.0]
    assert fragment.terminal.all()


BOARD = NetworkSpec(126, 7, (64,), kind="cnn", observation_shape=(3, 6, 7), channels=16, blocks=2)


@pytest.mark.parametrize(
    "spec",
    [
        BOARD,
        replace(BOARD, blocks=0, normalise=True),
        NetworkSpec(3 * 84 * 84, 5, (32,), kind="cnn", observation_shape=(3, 84, 84), channels=8, blocks=1),
        NetworkSpec(10, 4, (8, 6)),
        NetworkSpec(10, 4, (8, 6), normalise=True),
    ],
)
def test_networks_are_as_large_as_they_say_and_come_back_as_they_were(spec: NetworkSpec) -> None:
    network = build(spec, 3)
    assert sum(p.numel() for p in network.parameters()) == spec.num_parameters
    obs = torch.rand(5, spec.observation_size)
    out = network(obs)
    assert out.shape == (5, spec.num_actions + 1)
    assert float(out[:, :-1].abs().max()) < 0.2, "the first policy is near uniform"
    again, known = weights.load_network(weights.dump_network(network, spec))
    assert known == spec
    assert torch.equal(again(obs), out)


def test_a_cnn_sees_where_things_are_and_needs_planes() -> None:
    obs = torch.zeros(2, 126)
    obs[0, 0] = obs[1, 41] = 1.0
    one, other = build(BOARD, 0)(obs)
    assert not torch.allclose(one, other)
    with pytest.raises(AgentError, match="planes, rows and columns"):
        build(replace(BOARD, observation_shape=(126,)), 0)


@pytest.mark.parametrize("kind", ["mlp", "cnn"])
def test_the_value_stays_what_it_was_when_its_scale_follows_the_returns(kind: str) -> None:
    spec = NetworkSpec(84, 7, (16,), kind, observation_shape=(2, 6, 7), channels=4, blocks=1, popart=True)
    network = build(spec, 0)
    obs = torch.rand(50, 84)
    before = network(obs)
    returns = 1000.0 + 50.0 * torch.randn(4096)
    for _ in range(200):
        network.value_scale.update(returns, network.head)
        torch.testing.assert_close(network(obs), before, rtol=1e-3, atol=1e-2)
    scale = network.value_scale
    assert float(scale.mean) == pytest.approx(1000.0, rel=0.01)
    assert float(scale.std) == pytest.approx(50.0, rel=0.1)
    acting = NetworkPolicy(network).heads(obs.numpy())
    np.testing.assert_allclose(acting, before.detach().numpy(), rtol=1e-3, atol=1e-2)


def test_large_pictures_are_halved_until_they_are_as_small_as_boards() -> None:
    assert BOARD.halvings == 0
    assert [replace(BOARD, observation_shape=(3, n, 10)).halvings for n in (24, 25, 48, 49, 457)] == [
        0,
        1,
        1,
        2,
        5,
    ]


def test_a_network_of_ones_own_is_built_by_its_name_with_its_parameters() -> None:
    spec = NetworkSpec(4, 3, kind="python:tests.agents.own_networks:linear(bias=false)")
    network = build(spec, 1)
    assert [p.shape for p in network.parameters()] == [torch.Size([4, 4])]
    again, known = weights.load_network(weights.dump_network(network, spec))
    assert known == spec
    assert torch.equal(again(torch.ones(2, 4)), network(torch.ones(2, 4)))
    assert torch.equal(next(build(spec, 1).parameters()), next(network.parameters()))


@pytest.mark.parametrize(
    ("name", "why"),
    [
        ("narrow", "must return"),
        ("broken", "RuntimeError: no such luck"),
        ("function", "AttributeError|must return"),
        ("nothing", "has no nothing; it has"),
        ("linear(width=3)", "TypeError"),
        ("linear(", "bracket is not closed"),
    ],
)
def test_one_that_does_not_keep_the_contract_is_told_why(name: str, why: str) -> None:
    with pytest.raises(AgentError, match=why):
        build(NetworkSpec(4, 3, kind=f"python:tests.agents.own_networks:{name}"), 0)
    with pytest.raises(AgentError, match="needs a method observe"):
        build(NetworkSpec(4, 3, kind="python:tests.agents.own_networks:linear", normalise=True), 0)


ENTITIES = NetworkSpec(
    30, 4, (16,), kind="attention", observation_shape=(6, 5), channels=8, blocks=2, popart=True
)


def test_attention_sees_a_set_of_those_that_are_there() -> None:
    network = build(ENTITIES, 0).eval()
    assert sum(p.numel() for p in network.parameters()) == ENTITIES.num_parameters
    obs = torch.rand(32, 6, 5)
    obs[:, 4:] = 0.0
    heads = network(obs.flatten(1))
    turned = obs[:, torch.tensor([2, 5, 0, 3, 1, 4])]
    torch.testing.assert_close(network(turned.flatten(1)), heads, atol=1e-5, rtol=1e-4)
    fewer = obs.clone()
    fewer[:, 3] = 0.0
    assert not torch.allclose(network(fewer.flatten(1)), heads, atol=1e-4)
    shorter = build(replace(ENTITIES, observation_size=20, observation_shape=(4, 5)), 0).eval()
    shorter.load_state_dict(network.state_dict())
    torch.testing.assert_close(shorter(obs[:, :4].flatten(1)), heads, atol=1e-5, rtol=1e-4)
    assert torch.isfinite(network(torch.zeros(2, 30))).all(), "nobody is there"
    acting = NetworkPolicy(network, torch.bfloat16).heads(obs.flatten(1).numpy())
    assert np.abs(acting - heads.detach().numpy()).max() < 0.1
    with pytest.raises(AgentError, match=r"rows, an entity each; these are \[2, 3, 5\]"):
        build(replace(ENTITIES, observation_shape=(2, 3, 5)))


def test_attention_learns_which_of_many_counts() -> None:
    """Action 1 pays when the entity that is marked carries a 1: a mean of features could not say."""
    torch.manual_seed(0)
    spec = NetworkSpec(12, 2, (16,), kind="attention", observation_shape=(4, 3), channels=16, blocks=1)
    network = build(spec, 0)
    optimiser = torch.optim.Adam(network.parameters(), 3e-3)
    for _ in range(400):
        carried, marked = torch.randint(0, 2, (256, 4)), torch.randint(0, 4, (256,))
        obs = torch.zeros(256, 4, 3)
        obs[..., 0], obs[torch.arange(256), marked, 1], obs[..., 2] = carried.float(), 1.0, 1.0
        wanted = carried[torch.arange(256), marked]
        loss = torch.nn.functional.cross_entropy(network(obs.flatten(1))[:, :2], wanted)
        optimiser.zero_grad()
        loss.backward()
        optimiser.step()
    assert float(loss.detach()) < 0.1
