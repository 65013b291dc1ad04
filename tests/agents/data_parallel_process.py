"""One of several processes that learn as one, for test_together: its `main` in a process of its own.

Arguments: rank, size, the file to meet at, a file of lessons, a file for what came of them.
"""

from __future__ import annotations

import pickle
import sys
from dataclasses import dataclass
from pathlib import Path

import torch

from agents.algorithms.config import LearningConfig
from agents.fragment import Fragment
from agents.learning.data_parallel import DataParallel, leave_group
from agents.learning.learner import Learner, UpdateMetrics
from agents.networks.spec import NetworkSpec

MEETINGS = 40  # each may be the one in which somebody is left outside


@dataclass
class Lesson:
    """What is to be learnt."""

    spec: NetworkSpec
    config: LearningConfig
    fragments: list[Fragment]


@dataclass
class Learnt:
    """What came of it: after each update its metrics, the last gradient and the weights."""

    metrics: list[UpdateMetrics]
    gradients: list[list[torch.Tensor]]
    weights: dict[str, torch.Tensor]


def learn(lesson: Lesson, together: DataParallel | None = None) -> Learnt:
    """Learns."""
    torch.set_num_threads(1)
    learner = Learner(lesson.spec, lesson.config, 7, together)
    metrics, gradients = [], []
    for fragment in lesson.fragments:
        found = learner.update(fragment, 0.0)
        assert found is not None
        metrics.append(found)
        gradients.append([p.grad.clone() for p in learner.network.parameters() if p.grad is not None])
    return Learnt(metrics, gradients, learner.network.state_dict())


def main() -> None:
    rank, size, place, lessons, results = sys.argv[1:]
    for k in range(MEETINGS):
        leave_group()
        together = DataParallel.meet(int(rank), int(size), f"file:{place}{k}", torch.device("cpu"))
    # Of our own making, both files: nothing from outside is unpickled.
    learnt = [learn(lesson, together) for lesson in pickle.loads(Path(lessons).read_bytes())]  # noqa: S301
    Path(results).write_bytes(pickle.dumps(learnt))
