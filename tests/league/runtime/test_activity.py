"""What the processes of a run are said to be at."""

from __future__ import annotations

import numpy as np
import pytest

from agents.acting.seating import Series, SeriesResult
from league.pool.orders import LearnerProgress
from league.runtime.activity import Activity
from league.runtime.messages import LearnerReport, RolloutReport


def series(number: int, *players: str, purpose: str = "training") -> Series:
    return Series(number, players, (0, 0), (True, False), 32, purpose, "pfsp", (0, 1), True)


def report(moves: int, *results: SeriesResult) -> RolloutReport:
    return RolloutReport(list(results), moves, 0, 0, 0, {"env": 0.5, "waiting": 0.25}, rows=128.4)


def test_what_is_handed_out_is_played_until_it_is_reported() -> None:
    doings = Activity()
    first, second, rating = (
        series(0, "a", "b"),
        series(1, "a", "b"),
        series(2, "b", "c", purpose="evaluation"),
    )
    doings.handed_out("rollout-0", [first, second, rating])
    (worker,) = doings.as_json(now=0.0, report_seconds=0.5)["workers"]
    assert worker["series"] == 3
    assert worker["playing"][0] == {
        "players": ["a", "b"], "purpose": "training", "branch": "pfsp", "episodes": 64,
    }  # fmt: skip
    counts = np.array([[16, 0, 0], [16, 0, 0]], np.int64)
    doings.played("rollout-0", report(1000, SeriesResult.of_two(first, counts, 32.0, 320)), now=1.0)
    doings.played("rollout-0", report(3000), now=3.0)
    (worker,) = doings.as_json(now=4.5, report_seconds=0.5)["workers"]
    assert (worker["series"], worker["silent_seconds"], worker["waiting"]) == (2, 1.5, 0.25)
    assert worker["moves_per_second"] == 1500
    assert (worker["spent"], worker["rows_per_forward"]) == ({"env": 0.5, "waiting": 0.25}, 128)
    assert doings.mean_waiting == 0.25
    doings.left("rollout-0")
    assert doings.as_json(now=5.0, report_seconds=0.5)["workers"] == []


@pytest.mark.parametrize("reset", [False, True])
def test_a_learner_that_starts_over_has_not_learnt_backwards(reset: bool) -> None:
    doings = Activity()
    for now, steps in ((0.0, 100), (1.0, 600), (2.0, 0 if reset else 1100)):
        progress = [LearnerProgress("main.0", 0, steps, "sha")]
        doings.learnt(LearnerReport(progress, [], {}, {}), now)
    (process,) = doings.as_json(now=2.0, report_seconds=0.5)["learners"]
    assert process["players"] == ["main.0"]
    assert process["steps_per_second"] == (250 if reset else 500)
