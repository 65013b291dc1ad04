"""What bounds a run is said, and its processes are shown."""

from __future__ import annotations

from pathlib import Path

import pytest

from league.cli.top import bound
from league.client.schemas import Doing
from tests import command_line as cli

PLAYED = {"env": 0.3, "inference": 0.5, "transfer": 0.05}
LEARNT = {"learning": 0.9, "transfer": 0.05, "waiting": 0.05}


def doing(workers: int, *, played: dict[str, float], learnt: dict[str, float]) -> Doing:
    return Doing.model_validate(
        {
            "workers": [
                {"name": f"rollout.{k}", "silent_seconds": 1.0, "moves_per_second": 9, "aborted": 0,
                 "waiting": played.get("waiting", 0.0), "spent": played, "rows_per_forward": 64,
                 "series": 0, "playing": []}
                for k in range(workers)
            ],
            "learners": [
                {"name": "learner-0", "silent_seconds": 1.0, "steps_per_second": 9, "players": ["main.0"],
                 "spent": learnt}
            ],
        }
    )  # fmt: skip


@pytest.mark.parametrize(
    ("workers", "played", "learnt", "cores", "expected"),
    [
        (1, {**PLAYED, "waiting": 0.5}, LEARNT, 2, "the learner: workers wait for it 50%"),
        (1, {**PLAYED, "waiting": 0.5}, {"learning": 0.3, "transfer": 0.7}, 2, "transfer: workers wait 50%"),
        (1, PLAYED, LEARNT, 8, "6 of 8 cores are free"),
        (1, PLAYED, {"learning": 0.6, "transfer": 0.1, "waiting": 0.3}, 2, "more learner.epochs would cost"),
        (1, PLAYED, LEARNT, 2, "the machine: every core is busy"),
        (1, PLAYED, LEARNT, 2, "inference (networks and bots, 50% of the workers' time: a smaller network"),
        (1, {**PLAYED, "env": 0.7, "inference": 0.2}, LEARNT, 2, "env (the game, 70%"),
        (1, {"env": 0.1, "inference": 0.2, "transfer": 0.1}, LEARNT, 2, "books (records, 60%"),
        (1, {}, {}, 2, "the machine"),
        (0, {}, LEARNT, 2, "nothing is played"),
    ],
)
def test_what_bounds_it(
    workers: int, played: dict[str, float], learnt: dict[str, float], cores: int, expected: str
) -> None:
    assert expected in bound(doing(workers, played=played, learnt=learnt), cores)


def test_the_command_shows_a_run(played_run: str, tmp_path: Path) -> None:
    shown = cli.inside("runs", "top", "latest", "--once", "--home", str(tmp_path / "home"))
    assert shown.returncode == 0, shown.stderr
    assert played_run in shown.stdout
    assert "finished" in shown.stdout
