"""What the program wrote and offered before its files moved into rooms still works.

`0.1.0-first-house.tar.xz` was written by commit fd0d80c: a league of five learners (PPO, IMPALA with a GRU,
APPO, AlphaStar's losses with a magnet, R2D2 with a critic of its own), interrupted in the middle; its backup,
its config, its standings. `faces.json` lists the REST paths, client methods and commands of the same commit.
"""

from __future__ import annotations

import inspect
import json
import subprocess
import tarfile
from pathlib import Path
from typing import Any

import pytest
import typer

from league.bootstrap import Stores
from league.cli.app import app
from league.client import AsyncLeagueClient, LeagueClient
from league.config import RunConfig
from league.store.check import check_run
from league.store.checkpoints import CheckpointStore
from tests import command_line as cli
from web.app import create_app

HERE = Path(__file__).parent
FACES: dict[str, Any] = json.loads((HERE / "faces.json").read_text())
LEARNERS = ("main.0", "main.1", "main.2", "main_exploiter.0", "league_exploiter.0")


@pytest.fixture
def written(tmp_path: Path) -> Path:
    """The folder that the earlier program left behind."""
    with tarfile.open(HERE / "0.1.0-first-house.tar.xz") as archive:
        archive.extractall(tmp_path, filter="data")
    return tmp_path


def league(home: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    command = [cli.LEAGUE, *arguments, "--home", str(home)]
    answer = subprocess.run(command, capture_output=True, text=True, timeout=240, check=False)
    assert answer.returncode == 0, answer.stdout + answer.stderr
    return answer


def steps_of(home: Path) -> dict[str, int]:
    rows = json.loads(league(home, "players", "list", "latest", "--limit", "500", "--json").stdout)
    return {row["name"]: row["steps"] for row in rows}


def sound(home: Path) -> bool:
    stores = Stores(f"sqlite:///{home / 'league.db'}", str(home / "checkpoints"))
    database = stores.open_database(upgrade=False)
    run_id = stores.service().resolve("latest").id
    return check_run(database, CheckpointStore(stores.checkpoint_url), run_id) == []


def test_a_league_of_the_earlier_program_is_shown_and_goes_on(written: Path) -> None:
    home = written / "home"
    then = {row["player"]: row for row in json.loads((written / "standings.json").read_text())}
    now = {row["player"]: row for row in json.loads(league(home, "standings", "latest", "--json").stdout)}
    # Equal players stand by age now, and movement is since another moment.
    for rows in (then, now):
        for row in rows.values():
            del row["rank"], row["movement"], row["superiority"]
    assert now == then
    before = steps_of(home)
    assert set(LEARNERS) <= before.keys()
    league(home, "runs", "edit", "latest", "stop.moves=395000")
    league(home, "run", "--resume", "latest", "--no-web")
    after = steps_of(home)
    assert all(after[name] > before[name] for name in LEARNERS), "each learner goes on from its state"
    assert sound(home)
    league(home, "match", "latest", "main.0", "main.2.v1", "--max-games", "32")


def test_its_backup_is_restored_and_goes_on(written: Path, tmp_path: Path) -> None:
    home = tmp_path / "empty"
    league(home, "restore", str(written / "before.league"))
    assert sound(home)
    assert steps_of(home) == steps_of(written / "home")


def test_its_config_is_read(written: Path) -> None:
    config = RunConfig.from_yaml(written / "before.yaml")
    assert [(p.learner or config.learner).algorithm for p in config.players] == [
        "ppo", "impala", "appo", "alphastar", "r2d2",
    ]  # fmt: skip


def test_rest_paths_client_methods_and_commands_are_still_there(
    stores: Stores, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("LEAGUE_DATABASE_URL", stores.database_url)
    monkeypatch.setenv("LEAGUE_CHECKPOINT_URL", stores.checkpoint_url)
    paths = {path: set(methods) for path, methods in create_app().openapi()["paths"].items()}
    assert [p for p, methods in FACES["paths"].items() if not set(methods) <= paths.get(p, set())] == []
    for client in (LeagueClient, AsyncLeagueClient):
        for method, parameters in FACES["client"].items():
            there = getattr(
                client, method.replace("close", "aclose") if client is AsyncLeagueClient else method
            )
            assert set(parameters) <= set(inspect.signature(there).parameters), method
    commands = dict(_commands(typer.main.get_command(app)))
    for command in FACES["commands"]:
        assert set(command["options"]) <= commands.get(command["name"], set()), command["name"]


def _commands(group: Any, prefix: tuple[str, ...] = ()) -> list[tuple[str, set[str]]]:
    found = []
    for name, command in group.commands.items():
        if hasattr(command, "commands"):
            found += _commands(command, (*prefix, name))
        else:
            options = {option for parameter in command.params for option in parameter.opts}
            found.append((" ".join((*prefix, name)), options))
    return found
