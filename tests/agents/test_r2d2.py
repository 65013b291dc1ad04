"""Q-learning by hand, its replay, and a player that learns by it."""

from __future__ import annotations

import numpy as np
import pytest
import torch

import envs
from agents.acting.collector import Collector
from agents.acting.exploration import Exploration
from agents.acting.policy import NetworkPolicy
from agents.acting.seating import Series
from agents.algorithms.config import LearningConfig, QLearningConfig, Schedule
from agents.algorithms.lanes import Lanes
from agents.algorithms.r2d2 import n_step_targets, q_values, r2d2_loss
from agents.algorithms.replay import Replay
from agents.learning.learner import Learner
from agents.networks.distributions import Categorical
from agents.networks.heads import Heads
from agents.networks.spec import NetworkSpec
from agents.players.bots import RandomBot

Q = QLearningConfig()


def lanes(columns: int, steps: int = 3, terminal: bool = True) -> Lanes:
    discounts = torch.ones(steps, columns)
    discounts[-1] = 0.0 if terminal else 1.0
    marks = torch.arange(columns, dtype=torch.float32)
    return Lanes(
        marks.repeat(steps + 1, 1)[..., None],
        torch.ones(steps, columns, 2, dtype=torch.bool),
        torch.zeros(steps, columns, dtype=torch.long),
        torch.zeros(steps, columns),
        torch.zeros(steps, columns),
        discounts,
        torch.zeros(steps + 1, columns, dtype=torch.bool),
        marks[:, None],
    )


def named(heads: torch.Tensor) -> Heads:
    return Heads(heads[..., :-1], heads[..., -1], {})


def test_the_value_head_is_the_best_legal_actions_value() -> None:
    heads = torch.tensor([[3.0, 9.0, 1.0, 0.5]])
    found = q_values(named(heads), torch.tensor([[True, False, True]]), temperature=0.1)
    assert found[0].tolist() == pytest.approx([0.5, -1e9, 0.3])


def test_targets_by_hand() -> None:
    """γ = 0.5, rewards 1 2 4, values 10 20 30; the column goes on, or ends with its last decision."""
    rewards, values = torch.tensor([[1.0], [2.0], [4.0]]), torch.tensor([[10.0], [20.0], [30.0]])
    discounts = torch.tensor([[0.5], [0.5], [0.5]])
    assert n_step_targets(rewards, discounts, values, 1)[:, 0].tolist() == [1 + 10.0, 2 + 15.0, 30.0]
    assert n_step_targets(rewards, discounts, values, 2)[:, 0].tolist() == [1 + 1 + 7.5, 2 + 15.0, 30.0]
    ended = torch.tensor([[0.5], [0.5], [0.0]])
    assert n_step_targets(rewards, ended, values, 2)[:, 0].tolist() == [1 + 1 + 7.5, 2 + 2.0, 4.0]
    assert n_step_targets(rewards, ended, values, 5)[:, 0].tolist() == [1 + 1 + 1.0, 2 + 2.0, 4.0]


def test_the_loss_is_of_double_q_learning() -> None:
    """The network as it is prefers action 1: its worth by the target network counts, not the best there."""
    batch = lanes(1, steps=2, terminal=False)
    batch.rewards[0] = 1.0
    heads = torch.tensor([[[-10.0, 0.0, 0.5]], [[-2.0, 0.0, 0.0]], [[0.0, 0.0, 0.0]]])[:-1]
    target = torch.tensor([[[0.0, 0.0, 9.0]], [[0.0, -4.0, 3.0]]])
    policy = Categorical(heads[:, 0, :2], batch.legal[:, 0])
    loss, priorities = r2d2_loss(policy, named(heads), named(target), batch, torch.ones(1), Q)
    error = (1.0 + 3.0 - 4.0 * 0.05) - (0.5 - 10.0 * 0.05)
    assert float(loss.total) == pytest.approx(error - 0.5)  # Huber's; the last decision has no target
    assert float(priorities[0]) == pytest.approx(error)


def test_a_replay_draws_what_surprised_and_forgets_what_is_old() -> None:
    replay, rng = Replay(QLearningConfig(replay_capacity=24)), torch.Generator().manual_seed(0)
    replay.add(lanes(4), version=0)
    replay.add(lanes(4), version=5)
    assert len(replay) == 8
    drawn, importance, places = replay.draw(512, rng)
    assert drawn.memory[:, 0].tolist() == (places % 4).tolist()
    assert importance.tolist() == [1.0] * 512
    replay.reconsider(torch.arange(8), torch.tensor([100.0] + [1.0] * 7))
    drawn, importance, places = replay.draw(512, rng)
    share = 100**0.9 / (100**0.9 + 7)
    assert float((places == 0).float().mean()) == pytest.approx(share, abs=0.04)
    assert float(importance[places == 0].max()) == pytest.approx(100 ** (-0.9 * 0.6), rel=1e-4)
    assert float(importance[places != 0].min()) == pytest.approx(1.0), "what is drawn often counts for less"
    replay.forget_before(5)
    assert replay.draw(512, rng)[2].min() >= 4
    replay.reconsider(torch.tensor([0]), torch.tensor([100.0]))
    assert replay.draw(512, rng)[2].min() >= 4, "what has been left out stays out"
    replay.add(lanes(4), version=6)
    assert len(replay) == 8, "the oldest make room"
    replay.clear()
    assert len(replay) == 0


def test_games_explore_differently_and_only_learners_do() -> None:
    exploration = Exploration(1000, [0.4, 0.0])
    heads = np.ones((1000, 3), np.float32)
    env = np.arange(1000, dtype=np.int32)
    exploration.apply(heads, np.zeros(1000, np.int32), env, np.random.default_rng(0))
    explored = heads[:, 0] == 0.0
    assert (heads[:, 2] == 1.0).all(), "values stay"
    assert explored[:100].mean() == pytest.approx(0.3, abs=0.12)
    assert explored[500:].mean() < 0.05
    for owner in (1, -1):
        heads[:] = 1.0
        exploration.apply(heads, np.full(1000, owner, np.int32), env, np.random.default_rng(0))
        assert heads.all()


@pytest.mark.parametrize("memory", ["", "lstm"])
def test_a_q_learner_beats_random_play(memory: str) -> None:
    torch.manual_seed(0)
    spec = NetworkSpec(18, 9, (64,), memory=memory, memory_units=32, sharpness=1 / Q.temperature)
    config = LearningConfig(
        "r2d2",
        learning_rate=Schedule(3e-3, 3e-3),
        minibatch=256,
        precision="float32",
        burn_in=2 if memory else 0,
        target_updates=5,
        max_grad_norm=10.0,
        q_learning=QLearningConfig(replay_capacity=40_000, replay_ratio=4.0),
    )
    learner = Learner(spec, config, 0)
    game = envs.make("native:tic_tac_toe", 128, 0)
    c = Collector(
        game,
        ["main"],
        fragment_length=8,
        fragment_lanes=64,
        seed=0,
        memory_size=spec.memory_size,
        epsilons=[0.4],
    )
    c.update_learner("main", NetworkPolicy(learner.network), 0, 0)
    c.put_policy("random", RandomBot())
    number, updates = 0, 0
    while updates < 200:
        if c.queued_episodes < 128:
            c.add_series(Series(number, ("main", "random"), (0, 0), (True, False), 64, "training", "t"))
            number += 1
        c.tick()
        while c.ready_fragments("main"):
            metrics = learner.update(c.take_fragment("main"), 0.0)
            assert metrics is not None
            updates += 1
            c.update_learner("main", NetworkPolicy(learner.network), learner.version, 0)
    assert metrics.sample_reuse > 0
    judge = Collector(
        envs.make("native:tic_tac_toe", 128, 1), [], fragment_length=1, fragment_lanes=1, seed=1
    )
    judge.put_policy("main", NetworkPolicy(learner.network))
    judge.put_policy("random", RandomBot())
    judge.add_series(
        *(Series(k, ("main", "random"), (0, 0), (False, False), 400, "evaluation", "t") for k in range(2))
    )
    while not (results := judge.take_results()):
        judge.tick()
    won = results[0].counts[0].sum(axis=0)
    assert (won[0] + 0.5 * won[1]) / won.sum() > 0.85

    other = Learner(spec, config, 1)
    other.restore(learner.state())
    assert other.version == learner.version
