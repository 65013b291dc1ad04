"""The learner learns, stops at nonsense, and goes on where it was."""

from __future__ import annotations

import dataclasses

import numpy as np
import pytest
import torch

from agents.algorithms.config import LearningConfig, Schedule
from agents.algorithms.ppo import Decisions, ppo_loss
from agents.errors import DivergenceError, WeightsError
from agents.fragment import Fragment
from agents.learning.learner import Learner
from agents.networks import weights
from agents.networks.distributions import Categorical
from agents.networks.spec import NetworkSpec

SPEC = NetworkSpec(6, 3, (32,))
CONFIG = LearningConfig(
    learning_rate=Schedule(3e-3, 3e-3), entropy=Schedule(0.0, 0.0), minibatch=256, precision="float32"
)


def bandit_fragment(learner: Learner, rng: np.random.Generator, generation: int = 0) -> Fragment:
    """One-step episodes: action 2 pays 1 when the first feature is set, action 0 when it is not."""
    t, b = 4, 64
    obs = (rng.random((t + 1, b, 6)) < 0.5).astype(np.uint8)
    legal = np.ones((t, b, 3), np.bool_)
    heads = learner.network(torch.tensor(obs[:-1]).float()).detach()
    log_pi = torch.log_softmax(heads[..., :-1], -1)
    actions = torch.distributions.Categorical(logits=log_pi).sample()
    best = np.where(obs[:-1, :, 0] == 1, 2, 0)
    return Fragment(
        "p",
        generation,
        learner.version,
        obs,
        legal,
        actions.numpy().astype(np.int32),
        log_pi.gather(-1, actions[..., None])[..., 0].numpy(),
        np.concatenate([heads[..., -1].numpy(), np.zeros((1, b), np.float32)]),
        (actions.numpy() == best).astype(np.float32),
        np.ones((t, b), np.bool_),
    )


def success(fragment: Fragment) -> float:
    return float(fragment.rewards.mean())


def test_ppo_solves_a_contextual_bandit() -> None:
    torch.manual_seed(0)
    learner, rng = Learner(SPEC, CONFIG, 0), np.random.default_rng(0)
    assert success(bandit_fragment(learner, rng)) < 0.5
    for _ in range(150):
        learner.update(bandit_fragment(learner, rng), 0.0)
    assert success(bandit_fragment(learner, rng)) > 0.9
    assert learner.steps == 150 * 256


@pytest.mark.parametrize("algorithm", ["ppo", "impala"])
def test_values_of_any_size_are_learnt_when_their_scale_follows_the_returns(algorithm: str) -> None:
    """Rewards of 500 and 1,500: the policy must not suffer from them, and the values must find them."""
    torch.manual_seed(0)
    config = dataclasses.replace(CONFIG, algorithm=algorithm)
    learner = Learner(dataclasses.replace(SPEC, popart=True), config, 0)
    rng = np.random.default_rng(0)
    for _ in range(200):
        fragment = bandit_fragment(learner, rng)
        large = dataclasses.replace(fragment, rewards=500.0 + 1000.0 * fragment.rewards)
        metrics = learner.update(large, 0.0)
    assert metrics is not None
    assert success(bandit_fragment(learner, rng)) > 0.9
    values = bandit_fragment(learner, rng).values[:-1]
    assert float(values.mean()) == pytest.approx(1450.0, abs=120.0)
    other = Learner(dataclasses.replace(SPEC, popart=True), config, 1)
    other.restore(learner.state())
    obs = torch.rand(8, 6)
    torch.testing.assert_close(other.network(obs), learner.network(obs))


def test_ppo_loss_by_hand() -> None:
    """Two actions, equal logits: log π = −log 2. The first ratio is 1.5 > 1 + ε and its gain is cut."""
    rows = Decisions(
        torch.zeros(2, 1),
        torch.ones(2, 2, dtype=torch.bool),
        torch.tensor([0, 1]),
        torch.tensor([0.5 / 1.5, 0.5]).log(),
        torch.tensor([1.0, -2.0]),
        torch.tensor([1.0, 0.0]),
    )
    loss = ppo_loss(
        Categorical(torch.zeros(2, 2), rows.legal),
        torch.zeros(2),
        rows,
        clip=0.2,
        value_coefficient=0.5,
        entropy_coefficient=0.1,
    )
    assert float(loss.policy) == pytest.approx(-(1.2 * 1.0 + 1.0 * -2.0) / 2)
    assert float(loss.value) == pytest.approx(0.25)
    assert float(loss.entropy) == pytest.approx(np.log(2), abs=1e-6)
    assert float(loss.total) == pytest.approx(0.4 + 0.125 - 0.1 * np.log(2), abs=1e-6)
    assert float(loss.clip_fraction) == 0.5
    assert float(loss.approximate_kl) == pytest.approx((0.5 - np.log(1.5)) / 2, abs=1e-6)


def test_masked_actions_get_no_probability_and_no_entropy() -> None:
    policy = Categorical(torch.zeros(1, 3), torch.tensor([[True, False, False]]))
    assert float(policy.entropy()) == pytest.approx(0.0, abs=1e-6)
    assert float(policy.log_prob(torch.tensor([0]))) == pytest.approx(0.0, abs=1e-6)


def test_a_resumed_learner_goes_on_bit_for_bit() -> None:
    rng = np.random.default_rng(1)
    learner = Learner(SPEC, CONFIG, 0)
    for _ in range(3):
        learner.update(bandit_fragment(learner, rng), 0.0)
    resumed = Learner(SPEC, CONFIG, 99)
    resumed.restore(learner.state())
    assert (resumed.steps, resumed.version) == (learner.steps, learner.version) == (768, 3)
    fragment = bandit_fragment(learner, rng)
    learner.update(fragment, 0.0)
    resumed.update(fragment, 0.0)
    for name, value in learner.weights().items():
        assert np.array_equal(value, resumed.weights()[name])
    assert learner.state() == resumed.state()


def test_a_reset_forgets_weights_optimiser_and_fragments_in_flight() -> None:
    rng = np.random.default_rng(2)
    learner = Learner(SPEC, CONFIG, 0)
    initial = learner.checkpoint()
    old = bandit_fragment(learner, rng)
    learner.update(old, 0.0)
    learner.reset(initial, generation=1)
    fresh = Learner(SPEC, CONFIG, 0)
    assert all(np.array_equal(v, fresh.weights()[k]) for k, v in learner.weights().items())
    assert (learner.generation, learner.generation_steps, learner.steps) == (1, 0, 256)
    assert learner.update(old, 0.0) is None
    assert learner.steps == 256


def test_fragments_that_are_too_old_are_left_out() -> None:
    learner = Learner(SPEC, dataclasses.replace(CONFIG, max_policy_lag=2), 0)
    rng = np.random.default_rng(3)
    stale = bandit_fragment(learner, rng)
    for _ in range(3):
        assert learner.update(bandit_fragment(learner, rng), 0.0) is not None
    assert learner.update(stale, 0.0) is None


def test_nonsense_in_a_fragment_is_noticed() -> None:
    learner = Learner(SPEC, CONFIG, 0)
    fragment = bandit_fragment(learner, np.random.default_rng(4))
    fragment.rewards[0, 0] = np.nan
    with pytest.raises(DivergenceError):
        learner.update(fragment, 0.0)


def test_schedules_go_in_a_straight_line_and_stay_at_their_end() -> None:
    assert Schedule(1.0, 0.0).at(steps=10**9, progress=0.25) == 0.75
    own = Schedule(1.0, 0.5, steps=100)
    assert [own.at(s, 0.9) for s in (0, 50, 100, 1000)] == [1.0, 0.75, 0.5, 0.5]


def test_only_whole_checkpoints_are_loaded() -> None:
    data = Learner(SPEC, CONFIG, 0).checkpoint()
    network, spec = weights.load_network(data)
    assert spec == SPEC
    assert sum(p.numel() for p in network.parameters()) == 6 * 32 + 32 + 32 * 4 + 4
    for bad in (b"", b"\x80\x04garbage", data[:-10], b"A" * 100):
        with pytest.raises(WeightsError):
            weights.load_network(bad)


def test_a_state_of_another_network_is_refused() -> None:
    other = Learner(NetworkSpec(6, 3, (16,)), CONFIG, 0)
    with pytest.raises(WeightsError, match="network is"):
        Learner(SPEC, CONFIG, 0).restore(other.state())
    with pytest.raises(WeightsError):
        Learner(SPEC, CONFIG, 0).reset(other.checkpoint(), 1)
