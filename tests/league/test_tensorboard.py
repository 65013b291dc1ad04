"""A run's curves arrive where TensorBoard reads them."""

from __future__ import annotations

from pathlib import Path

from league.bootstrap import Stores
from league.store.models import MetricsRow
from tests import command_line as cli


def test_the_curves_are_those_of_the_run(stores: Stores, played_run: str, tmp_path: Path) -> None:
    from tensorboard.backend.event_processing.event_accumulator import EventAccumulator

    with stores.open_database(upgrade=False).write() as session:
        for k in range(3):
            data = {
                "moves": 1000 * k,
                "moves_per_second": 7.0 * k,
                "learners": {"main.0": {"entropy": 1.5 - k}},
            }
            session.add(MetricsRow(run_id=played_run, at=1e9 + k, play_seconds=1e6 + k, data=data))
    logdir = tmp_path / "board"
    home = ("--home", str(tmp_path / "home"))
    written = cli.inside("runs", "tensorboard", "latest", "--logdir", str(logdir), *home)
    assert written.returncode == 0, written.stderr
    events = EventAccumulator(str(logdir / played_run))
    events.Reload()
    entropy = [(e.step, e.value) for e in events.Scalars("entropy/main.0")][-3:]
    assert entropy == [(0, 1.5), (1000, 0.5), (2000, -0.5)]
    assert [e.value for e in events.Scalars("run/moves_per_second")][-3:] == [0.0, 7.0, 14.0]
    assert "trueskill/main.0" in events.Tags()["scalars"]
