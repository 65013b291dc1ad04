"""Processes that learn as one find the gradient that one process finds, by every algorithm."""

from __future__ import annotations

import dataclasses
import pickle
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
import torch

import envs
from agents.acting.collector import Collector
from agents.acting.policy import NetworkPolicy
from agents.acting.seating import Series
from agents.algorithms.config import LearningConfig, Schedule
from agents.fragment import Fragment
from agents.networks.build import build
from agents.networks.spec import NetworkSpec
from tests.agents.data_parallel_process import Learnt, Lesson, learn

MLP = NetworkSpec(84, 7, (32,), popart=True, normalise=True)
GRU = NetworkSpec(84, 7, (16,), memory="gru", memory_units=12)
CONFIG = LearningConfig(
    learning_rate=Schedule(1e-2, 1e-2),
    magnet=Schedule(0.1, 0.1),
    magnet_steps=200,
    max_grad_norm=100.0,
    minibatch=10_000,
    precision="float32",
    max_policy_lag=100,
)
SMALL = dataclasses.replace(CONFIG, minibatch=100)  # 128 decisions: 100 and 28; 9 for some of 3 processes
LESSONS = {
    "ppo": (MLP, CONFIG),
    "ppo, epochs of small minibatches": (MLP, dataclasses.replace(SMALL, epochs=3)),
    "ppo, stops early": (MLP, dataclasses.replace(SMALL, epochs=20, target_kl=0.002)),
    "ppo that remembers": (GRU, dataclasses.replace(SMALL, epochs=2, burn_in=2)),
    "impala": (MLP, dataclasses.replace(SMALL, algorithm="impala")),
    "appo": (MLP, dataclasses.replace(SMALL, algorithm="appo", epochs=2, target_updates=2)),
    "alphastar that remembers": (GRU, dataclasses.replace(CONFIG, algorithm="alphastar")),
    "one column at a time": (GRU, dataclasses.replace(CONFIG, algorithm="impala", minibatch=8)),
}


def fragments_of(spec: NetworkSpec, count: int) -> list[Fragment]:
    """Games of Connect Four by a new network against itself."""
    game = envs.make("native:connect_four", 64, 0)
    memory = spec.memory_size
    c = Collector(game, ["main"], fragment_length=8, fragment_lanes=16, seed=0, memory_size=memory)
    c.update_learner("main", NetworkPolicy(build(spec, 7)), version=0, generation=0)
    c.add_series(Series(0, ("main", "main"), (0, 0), (True, True), 640, "training", "test"))
    found: list[Fragment] = []
    while len(found) < count:
        c.tick()
        while c.ready_fragments("main") and len(found) < count:
            found.append(c.take_fragment("main"))
    return found


def learn_in_parallel(lessons: list[Lesson], size: int, folder: Path) -> list[list[Learnt]]:
    """Returns what each process has learnt."""
    given = folder / "lessons"
    given.write_bytes(pickle.dumps(lessons))
    command = [
        sys.executable,
        "-c",
        "from tests.agents import data_parallel_process; data_parallel_process.main()",
    ]
    processes = [
        subprocess.Popen(
            [*command, str(rank), str(size), str(folder / "place"), str(given), str(folder / f"{rank}")]
        )
        for rank in range(size)
    ]
    try:
        assert [p.wait(timeout=100) for p in processes] == [0] * size
    finally:
        for p in processes:
            p.kill()
    return [pickle.loads((folder / f"{rank}").read_bytes()) for rank in range(size)]  # noqa: S301


@pytest.mark.parametrize("size", [2, 3])
def test_the_gradient_is_that_of_the_joined_batch(size: int, tmp_path: Path) -> None:
    lessons = [Lesson(spec, config, fragments_of(spec, 4)) for spec, config in LESSONS.values()]
    everybody = learn_in_parallel(lessons, size, tmp_path)
    for k, name in enumerate(LESSONS):
        alone = learn(lessons[k])
        for learnt in (results[k] for results in everybody):
            for mine, theirs in zip(alone.gradients, learnt.gradients, strict=True):
                for a, b in zip(mine, theirs, strict=True):
                    scale = float(a.abs().max()) + 1e-3
                    torch.testing.assert_close(a / scale, b / scale, atol=2e-3, rtol=0.0, msg=name)
            for metrics, others in zip(alone.metrics, learnt.metrics, strict=True):
                wanted = dataclasses.asdict(metrics)
                assert dataclasses.asdict(others) == pytest.approx(wanted, rel=5e-3, abs=1e-4), name
        for key, weight in everybody[0][k].weights.items():
            for others in everybody[1:]:  # nobody drifts away from the others
                np.testing.assert_array_equal(weight.numpy(), others[k].weights[key].numpy(), name)
    early = everybody[0][list(LESSONS).index("ppo, stops early")].metrics
    assert early[-1].sample_reuse < 20
