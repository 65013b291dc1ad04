"""What bounds a run is said, and its processes are shown."""

from __future__ import annotations

from pathlib import Path

import pytest

from league.schemas import Doing
from league.top import bound
from tests import command_line as cli


def doing(workers: int, waiting: float) -> Doing:
    return Doing.model_validate(
        {
            "workers": [
                {"name": f"rollout.{k}", "silent_seconds": 1.0, "moves_per_second": 9, "waiting": waiting,
                 "aborted": 0, "series": 0, "playing": []}
                for k in range(workers)
            ],
            "learners": [
                {"name": "learner-0", "silent_seconds": 1.0, "steps_per_second": 9, "players": ["main.0"]}
            ],
        }
    )  # fmt: skip


@pytest.mark.parametrize(
    ("workers", "waiting", "cores", "expected"),
    [
        (1, 0.5, 2, "learning: workers wait for it 50%"),
        (1, 0.0, 8, "6 of 8 cores are free"),
        (1, 0.02, 2, "the machine"),
        (0, 0.0, 2, "nothing is played"),
    ],
)
def test_what_bounds_it(workers: int, waiting: float, cores: int, expected: str) -> None:
    assert expected in bound(doing(workers, waiting), cores)


def test_the_command_shows_a_run(played_run: str, tmp_path: Path) -> None:
    shown = cli.inside("runs", "top", "latest", "--once", "--home", str(tmp_path / "home"))
    assert shown.returncode == 0, shown.stderr
    assert played_run in shown.stdout
    assert "finished" in shown.stdout
