"""A run goes into a file and comes back as it was, into either database, or not at all."""

from __future__ import annotations

import json
import secrets
import threading
import zipfile
from collections.abc import Callable
from pathlib import Path

import pytest

from league.bootstrap import Stores
from league.config.run import RunConfig
from league.control.services import LeagueService
from league.errors import BadRequestError, ConflictError, LeagueError
from league.runtime.supervisor import Supervisor
from league.store.archive import read_rows
from league.store.backup import back_up, restore
from league.store.check import check_run
from league.store.checkpoints import CheckpointStore
from league.store.session import Database
from tests import command_line as cli
from tests.serial_league import play


def another(folder: Path) -> Stores:
    """Stores of their own in a folder, whichever the environment names."""
    return Stores(f"sqlite:///{folder / 'league.db'}", str(folder / "checkpoints"))


@pytest.fixture
def backed_up(stores: Stores, small_config: Callable[..., RunConfig], tmp_path: Path) -> tuple[Path, str]:
    """A backup of a run that was interrupted, and its id."""
    run_id = play(stores, small_config(), stop_at=40_000).id
    path = tmp_path / "run.league"
    made = back_up(stores.open_database(upgrade=False), CheckpointStore(stores.checkpoint_url), run_id, path)
    assert made.rows > 50
    assert made.checkpoints >= 3
    return path, run_id


def test_a_run_comes_back_in_either_database_and_goes_on(
    stores: Stores, backed_up: tuple[Path, str], any_database: Database, tmp_path: Path
) -> None:
    path, run_id = backed_up
    before = list(read_rows(stores.open_database(upgrade=False), run_id))
    target = any_database
    if target.url == stores.open_database(upgrade=False).url:  # the one it came from
        (tmp_path / "second").mkdir()
        target = another(tmp_path / "second").open_database(upgrade=True)
    store = CheckpointStore(str(tmp_path / "elsewhere"))
    found = restore(target, store, path)
    assert found.run_id == run_id

    def told(rows: list[tuple[str, dict[str, object]]]) -> list[str]:
        """Without the numbers that a database gives by itself, and who owned the run."""
        own = ("lease_owner", "lease_expires_at")
        kept = (
            (table, {k: v for k, v in row.items() if k not in own and (k != "id" or table == "runs")})
            for table, row in rows
        )
        return [json.dumps(pair, sort_keys=True) for pair in kept]

    assert told(list(read_rows(target, run_id))) == told(before)
    assert check_run(target, store, run_id) == []
    with pytest.raises(ConflictError, match="already"):
        restore(target, store, path)
    supervisor = Supervisor(target.url, store.url)
    service = LeagueService(target)
    service.want(run_id, "running")
    token = supervisor.wait_for_claim(run_id, threading.Event(), lambda _: None)
    record = supervisor.supervise(run_id, token, threading.Event(), lambda _: None)
    assert record.state == "finished"
    assert record.moves >= 120_000


def test_a_damaged_file_or_one_of_another_version_restores_nothing(
    stores: Stores, backed_up: tuple[Path, str], tmp_path: Path
) -> None:
    path, _ = backed_up
    (tmp_path / "second").mkdir()
    empty = another(tmp_path / "second")
    database, store = empty.open_database(upgrade=True), CheckpointStore(empty.checkpoint_url)
    service = LeagueService(database)

    def changed(name: str, change: Callable[[bytes], bytes]) -> Path:
        other = tmp_path / f"{secrets.token_hex(4)}.league"
        with zipfile.ZipFile(path) as old, zipfile.ZipFile(other, "w") as new:
            for item in old.namelist():
                data = old.read(item)
                new.writestr(item, change(data) if item.startswith(name) else data)
        return other

    cases = [
        (changed("checkpoints/", lambda data: data[:-1] + b"x"), "damaged"),
        (changed("manifest", lambda data: data.replace(b'"schema": "', b'"schema": "9')), "restore it with"),
        (
            changed("manifest", lambda data: data.replace(b'"checkpoints": ["', b'"checkpoints": ["../')),
            "no backup",
        ),
        (changed("rows", lambda data: data.replace(b'["players"', b'["tokens"', 1)), "no backup"),
        (changed("rows", lambda data: data.replace(b'"parent_role"', b'"rule"', 1)), "no backup"),
        (changed("rows", lambda data: data[: len(data) // 2]), "no backup"),
        (changed("rows", lambda data: data[: data.rindex(b"\n", 0, -1) + 1]), "1 rows are missing"),
    ]
    for file, why in cases:
        with pytest.raises(BadRequestError, match=why):
            restore(database, store, file)
        assert service.runs() == []
    (tmp_path / "text.league").write_text("not a zip")
    with pytest.raises(BadRequestError, match="no backup"):
        restore(database, store, tmp_path / "text.league")
    with pytest.raises(LeagueError, match="No such file"):
        restore(database, store, tmp_path / "nothing.league")
    assert restore(database, store, path).rows > 0


def test_by_the_command_line(
    stores: Stores, played_run: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    file, other = tmp_path / "b.league", tmp_path / "other"
    made = cli.inside("backup", "latest", str(file), "--home", str(tmp_path / "home"))
    assert made.returncode == 0, made.stderr
    assert played_run in made.stdout
    with monkeypatch.context() as patch:
        patch.delenv("LEAGUE_DATABASE_URL", raising=False)
        back = cli.inside("restore", str(file), "--home", str(other))
        assert back.returncode == 0, back.stderr
        assert cli.inside("db", "check", "--home", str(other)).stdout == f"{played_run}: ok\n"
    refused = cli.inside(
        "backup", "latest", str(tmp_path / "no" / "folder"), "--home", str(tmp_path / "home")
    )
    assert refused.returncode == 2
    assert "No such file" in refused.stderr
    assert not list(tmp_path.glob("*.tmp"))
