"""Every algorithm learns, by losses that are those of the papers, and resumes where it was."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator

import numpy as np
import pytest
import torch

from agents.algorithms.algorithm import Needs, Update
from agents.algorithms.appo import appo_loss
from agents.algorithms.config import LearningConfig, Schedule
from agents.algorithms.impala import impala_loss
from agents.algorithms.lanes import Lanes
from agents.algorithms.loss import Loss, explained_variance
from agents.algorithms.ppo import PPO, Columns, Decisions, minibatches
from agents.algorithms.registry import OWN
from agents.fragment import Fragment
from agents.learning.learner import Learner
from agents.networks.distributions import Categorical, Gaussian
from agents.networks.spec import NetworkSpec
from agents.networks.weights import load

SPEC = NetworkSpec(5, 3, (32,))
BASE = LearningConfig(
    learning_rate=Schedule(3e-3, 3e-3), entropy=Schedule(0.0, 0.0), minibatch=256, precision="float32"
)


def chain_fragment(
    acting: torch.nn.Module, learner: Learner, rng: np.random.Generator, t: int = 6, b: int = 64
) -> Fragment:
    """Episodes of three decisions: action k at step k, three in a row, pays 1 at the end, else nothing."""
    obs = np.zeros((t + 1, b, 5), np.uint8)
    actions = np.zeros((t, b), np.int64)
    rewards, terminal = np.zeros((t, b), np.float32), np.zeros((t, b), np.bool_)
    log_probs, values = np.zeros((t, b), np.float32), np.zeros((t + 1, b), np.float32)
    right = np.ones(b, np.bool_)
    for k in range(t + 1):
        step = k % 3
        obs[k, :, step] = 1
        obs[k, :, 3] = right if step else 1
        with torch.no_grad():
            heads = acting(torch.tensor(obs[k]).float())
        values[k] = heads[:, -1].numpy()
        if k == t:
            break
        log_pi = torch.log_softmax(heads[:, :-1], -1).numpy()
        actions[k] = (rng.random((b, 1)) > np.exp(log_pi).cumsum(-1)).sum(-1).clip(max=2)
        log_probs[k] = log_pi[np.arange(b), actions[k]]
        right = (right | (step == 0)) & (actions[k] == step)
        if step == 2:
            rewards[k], terminal[k] = right, True
    values[-1] = 0.0 if terminal[-1].all() else values[-1]
    legal = np.ones((t, b, 3), np.bool_)
    return Fragment(
        "p", learner.generation, learner.version, obs, legal, actions, log_probs, values, rewards, terminal
    )


@pytest.mark.parametrize("algorithm", OWN)
def test_every_algorithm_learns_what_pays_three_decisions_later(algorithm: str) -> None:
    torch.manual_seed(0)
    config = dataclasses.replace(BASE, algorithm=algorithm)
    learner, rng = Learner(SPEC, config, 0), np.random.default_rng(0)
    first = chain_fragment(learner.network, learner, rng).rewards.sum()
    assert first < 0.2 * 128
    for _ in range(150):
        metrics = learner.update(chain_fragment(learner.network, learner, rng), 0.0)
        assert metrics is not None
    assert chain_fragment(learner.network, learner, rng).rewards.sum() > 0.9 * 128
    wanted = 2.0 if algorithm == "r2d2" else 1.0
    assert metrics.sample_reuse == pytest.approx(wanted, rel=0.02)


@pytest.mark.parametrize("algorithm", ["impala", "appo", "alphastar"])
def test_off_policy_algorithms_learn_from_somebody_else_s_play(algorithm: str) -> None:
    """Whoever acts chooses uniformly and never learns."""
    torch.manual_seed(0)
    config = dataclasses.replace(BASE, algorithm=algorithm, max_policy_lag=10**6)
    learner, rng = Learner(SPEC, config, 0), np.random.default_rng(0)
    acting = Learner(SPEC, BASE, 1)
    for _ in range(400):
        learner.update(chain_fragment(acting.network, acting, rng), 0.0)
    assert chain_fragment(learner.network, learner, rng).rewards.sum() > 0.9 * 128


def lanes(actions: list[int], log_probs: list[float], rewards: list[float]) -> Lanes:
    t = len(actions)
    return Lanes(
        torch.zeros(t + 1, 1, 1),
        torch.ones(t, 1, 2, dtype=torch.bool),
        torch.tensor(actions)[:, None],
        torch.tensor(log_probs)[:, None],
        torch.tensor(rewards)[:, None],
        torch.tensor([1.0] * (t - 1) + [0.0])[:, None],
        torch.zeros(t + 1, 1, dtype=torch.bool),
        torch.zeros(1, 0),
    )


def test_impala_by_hand() -> None:
    """Two decisions, uniform π, μ of 0.5 and 0.8: ρ = 1 and 0.625; V = 0, the last pays 1."""
    batch = lanes([0, 1], [float(np.log(0.5)), float(np.log(0.8))], [0.0, 1.0])
    config = dataclasses.replace(BASE, algorithm="impala", gae_lambda=1.0)
    policy = Categorical(torch.zeros(2, 2), batch.legal[:, 0])
    loss = impala_loss(policy, torch.zeros(3, 1), batch, config, entropy_coefficient=0.1)
    # δ_1 = 0.625, δ_0 = 0, v = (0.625, 0.625); A = (0.625, 0.625): alike, so nothing after standardising.
    assert float(loss.policy) == pytest.approx(0.0, abs=1e-6)
    assert float(loss.value) == pytest.approx(0.5 * 0.625**2)
    assert float(loss.entropy) == pytest.approx(np.log(2), abs=1e-6)
    assert float(loss.total) == pytest.approx(0.5 * 0.5 * 0.625**2 - 0.1 * np.log(2), abs=1e-6)


def test_appo_is_cut_against_the_target_network_not_the_acting_one() -> None:
    batch = lanes([0, 0], [float(np.log(0.5))] * 2, [0.0, 1.0])
    legal = batch.legal[:, 0]
    policy = Categorical(torch.tensor([[2.0, 0.0]] * 2, requires_grad=True), legal)  # action 0 with 0.88
    config, values = dataclasses.replace(BASE, algorithm="appo", clip=0.2), torch.zeros(3, 1)
    uniform = Categorical(torch.zeros(2, 2), legal)
    far = appo_loss(policy, uniform, values, batch, config, entropy_coefficient=0.0)  # ratio 1.76
    assert float(far.clip_fraction) == 1.0
    near = appo_loss(policy, policy, values, batch, config, entropy_coefficient=0.0)
    assert float(near.clip_fraction) == 0.0


def test_kl_to_by_hand_and_for_parts() -> None:
    one, other = torch.tensor([[0.0, np.log(3.0)]]), torch.zeros(1, 2)
    every = torch.ones(1, 2, dtype=torch.bool)
    expected = 0.25 * np.log(0.25 / 0.5) + 0.75 * np.log(0.75 / 0.5)
    assert float(Categorical(one, every).kl_to(Categorical(other, every))) == pytest.approx(
        expected, abs=1e-6
    )
    parts = [Categorical(torch.cat([first, one], 1), every.repeat(1, 2), (2, 2)) for first in (one, other)]
    assert float(parts[0].kl_to(parts[1])) == pytest.approx(expected, abs=1e-6)
    assert float(Categorical(one, every).kl_to(Categorical(one, every))) == 0.0


def test_a_gaussian_is_torch_s_own() -> None:
    """`torch.distributions` says the same of density, entropy and divergence."""
    generator = torch.Generator().manual_seed(0)
    here, there = 0.3 * torch.randn(2, 64, 6, generator=generator)
    actions = 0.5 * torch.randn(64, 3, generator=generator)
    one, other = (torch.distributions.Normal(p[:, :3], p[:, 3:].exp()) for p in (here, there))
    ours = Gaussian(here)
    torch.testing.assert_close(ours.log_prob(actions), one.log_prob(actions).sum(-1))
    torch.testing.assert_close(ours.entropy(), one.entropy().sum(-1).mean())
    wanted = torch.distributions.kl_divergence(one, other).sum(-1).mean()
    torch.testing.assert_close(ours.kl_to(Gaussian(there)), wanted)


@pytest.mark.parametrize("algorithm", OWN)
def test_a_minibatch_of_one_decision_is_no_divergence(algorithm: str) -> None:
    """Fragments of one decision each, of which one is left over."""
    config = dataclasses.replace(BASE, algorithm=algorithm, minibatch=64)
    learner, rng = Learner(SPEC, config, 0), np.random.default_rng(0)
    metrics = learner.update(chain_fragment(learner.network, learner, rng, t=1, b=65), 0.0)
    assert metrics is not None
    assert all(np.isfinite(value) for value in dataclasses.astuple(metrics))


def test_explained_variance() -> None:
    targets = torch.tensor([1.0, 2.0, 3.0])
    assert float(explained_variance(targets, targets)) == 1.0
    assert float(explained_variance(torch.full((3,), 9.0), targets)) == pytest.approx(0.0)


def test_a_magnet_holds_the_policy_back() -> None:
    moved = {}
    for coefficient in (0.0, 4.0):
        config = dataclasses.replace(BASE, magnet=Schedule(coefficient, coefficient), magnet_steps=10**9)
        learner, rng = Learner(SPEC, config, 0), np.random.default_rng(0)
        for _ in range(150):
            learner.update(chain_fragment(learner.network, learner, rng), 0.0)
        moved[coefficient] = chain_fragment(learner.network, learner, rng).rewards.mean()
    assert moved[4.0] < 0.4 * moved[0.0]


def test_entropy_is_steered_towards_its_target() -> None:
    found = []
    for target in (None, Schedule(0.4, 0.4), Schedule(0.9, 0.9)):
        config = dataclasses.replace(
            BASE, entropy=Schedule(0.1, 0.1), entropy_target=target, learning_rate=Schedule(1e-3, 1e-3)
        )
        learner, rng = Learner(SPEC, config, 0), np.random.default_rng(0)
        entropies = []
        for _ in range(300):
            metrics = learner.update(chain_fragment(learner.network, learner, rng), 0.0)
            assert metrics is not None
            entropies.append(metrics.entropy)
        found.append(float(np.mean(entropies[-50:])))
    assert found[0] < 0.1 < found[1] < 0.6 < found[2] < 1.05


@pytest.mark.parametrize("algorithm", sorted({*OWN} - {"r2d2"}))  # its replay is not stored
def test_resumed_learners_go_on_against_the_same_copies(algorithm: str) -> None:
    config = dataclasses.replace(
        BASE,
        algorithm=algorithm,
        target_updates=4,
        magnet=Schedule(0.3, 0.3),
        magnet_steps=1000,
        entropy_target=Schedule(0.5, 0.5),
    )
    learner, rng = Learner(SPEC, config, 0), np.random.default_rng(1)
    for _ in range(6):
        learner.update(chain_fragment(learner.network, learner, rng), 0.0)
    resumed = Learner(SPEC, config, 99)
    resumed.restore(learner.state())
    for _ in range(5):
        fragment = chain_fragment(learner.network, learner, rng)
        assert learner.update(fragment, 0.0) == resumed.update(fragment, 0.0)
    assert learner.state() == resumed.state()


class Patient(PPO):
    """Waits for three fragments before it learns; compares itself with a copy of its own name."""

    def __init__(self, config: LearningConfig) -> None:
        self.waited = 0

    @classmethod
    def needs(cls, config: LearningConfig) -> Needs:
        return Needs(references=("slow",))

    def losses(self, batch: Decisions | Columns, update: Update) -> Iterator[Loss]:
        self.waited += 1
        if self.waited > 3:
            for inputs, _ in minibatches(batch, update.config, update.rng):
                update.reference_heads("slow", inputs)
            yield from super().losses(batch, update)

    def reset(self) -> None:
        self.waited = 0


def test_an_algorithm_may_wait_and_names_its_own_references(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("agents.learning.learner.algorithm_class", lambda _: Patient)
    learner = Learner(SPEC, dataclasses.replace(BASE, target_updates=2), 0)
    rng = np.random.default_rng(0)
    answers = [learner.update(chain_fragment(learner.network, learner, rng), 0.0) for _ in range(5)]
    assert [answer is None for answer in answers] == [True, True, True, False, False]
    assert (learner.version, learner.steps) == (2, 5 * 384)
    slow = {k: t for k, t in weights_of(learner).items() if k.startswith("reference/slow/")}
    assert slow, "it is part of the state"
    for key, tensor in slow.items():  # renewed by the second update
        torch.testing.assert_close(tensor, learner.network.state_dict()[key.removeprefix("reference/slow/")])
    learner.reset(learner.checkpoint(), 1)
    assert learner.update(chain_fragment(learner.network, learner, rng), 0.0) is None, "it waits anew"


def weights_of(learner: Learner) -> dict[str, torch.Tensor]:
    return load(learner.state())[0]
