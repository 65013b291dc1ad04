"""A store that cannot be used for a moment is waited for; one that stays away is given up."""

from __future__ import annotations

import os
import sqlite3
import subprocess
import threading
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from league.bootstrap import Stores
from league.config.run import RunConfig
from league.errors import StoreWaitsError
from league.store.backoff import LONGEST_SECONDS, Backoff
from league.store.check import check_run
from league.store.checkpoints import CheckpointStore
from league.store.repositories.runs import RunRepository
from tests.serial_league import play


class Clock:
    """Passes only while somebody sleeps."""

    def __init__(self) -> None:
        self.now = 0.0

    def __call__(self) -> float:
        return self.now

    def sleep(self, seconds: float) -> None:
        self.now += seconds


def failing(times: int) -> Callable[[], str]:
    left = [times]

    def do() -> str:
        left[0] -= 1
        if left[0] >= 0:
            raise StoreWaitsError("full")
        return "done"

    return do


def test_what_works_again_was_waited_for_and_says_so() -> None:
    clock = Clock()
    patience = Backoff(clock, clock.sleep)
    assert patience(failing(6)) == "done"
    assert patience.take_waited() == (3.0, "full")
    assert patience.take_waited() is None
    assert patience(failing(0)) == "done"
    assert patience.take_waited() is None, "it did not have to wait"


def test_what_stays_away_is_raised_in_time() -> None:
    clock = Clock()
    with pytest.raises(StoreWaitsError):
        Backoff(clock, clock.sleep)(failing(10**6))
    assert LONGEST_SECONDS <= clock.now < LONGEST_SECONDS + 2.0


def test_a_league_waits_while_another_process_holds_the_database(
    stores: Stores, small_config: Callable[..., RunConfig], monkeypatch: pytest.MonkeyPatch
) -> None:
    if not stores.database_url.startswith("sqlite"):
        pytest.skip("a lock of SQLite's")
    monkeypatch.setattr("league.store.session.BUSY_MILLISECONDS", 300)
    path = stores.database_url.removeprefix("sqlite:///")
    locked = threading.Event()

    def lock() -> None:
        time.sleep(1.0)
        connection = sqlite3.connect(path, isolation_level=None, timeout=30)
        connection.execute("BEGIN IMMEDIATE")
        locked.set()
        time.sleep(2.0)
        connection.execute("ROLLBACK")
        connection.close()

    thread = threading.Thread(target=lock)
    thread.start()
    record = play(stores, small_config(stop={"moves": 500_000}))
    thread.join()
    assert locked.is_set()
    assert record.state == "finished"
    (event,) = [e for e in stores.service().events(record.id) if e.kind == "store_waited"][:1]
    assert "locked" in event.data["reason"]
    assert event.data["seconds"] > 0.3
    store = CheckpointStore(stores.checkpoint_url)
    assert check_run(stores.open_database(upgrade=False), store, record.id) == []


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can mount a small disk")
def test_a_full_disk_leaves_nothing_half_written(tmp_path: Path) -> None:
    disk = tmp_path / "disk"
    disk.mkdir()
    command = ["mount", "-t", "tmpfs", "-o", "size=256k", "none", str(disk)]
    if subprocess.run(command, capture_output=True, check=False).returncode != 0:
        pytest.skip("mounting is not allowed here")
    try:
        store = CheckpointStore(str(disk))
        ballast = disk / "ballast"
        ballast.write_bytes(b"\0" * 200 * 1024)
        with pytest.raises(StoreWaitsError, match="No space left"):
            store.put(os.urandom(100 * 1024))
        assert not [p for p in disk.rglob("*") if p.is_file() and p != ballast]
        ballast.unlink()
        data = os.urandom(100 * 1024)
        assert store.get(store.put(data)) == data
    finally:
        subprocess.run(["umount", str(disk)], check=True)


@pytest.mark.parametrize("hours", [-1, 1])
def test_a_clock_that_jumps_leaves_no_run_without_an_owner(
    stores: Stores, small_config: Callable[..., RunConfig], monkeypatch: pytest.MonkeyPatch, hours: int
) -> None:
    """By a lease of the time before the jump nobody may be shut out."""
    database = stores.open_database(upgrade=False)
    runs, run_id = RunRepository(database), stores.service().launch(small_config()).id
    first = runs.claim(run_id, "first", 10.0)
    assert first is not None
    assert runs.claim(run_id, "second", 10.0) is None
    real = database.now
    monkeypatch.setattr(database, "now", lambda session: real(session) + 3600.0 * hours)
    assert [run.id for run in runs.claimable()] == [run_id]
    assert runs.claim(run_id, "second", 10.0) == first + 1
    assert runs.claim(run_id, "third", 10.0) is None
