"""Databases that earlier programs wrote are read by this one, and can go back."""

from __future__ import annotations

import json

import pytest

from league.store.check import check_run
from league.store.checkpoints import CheckpointStore
from league.store.repositories.league_state import LeagueRepository
from league.store.repositories.runs import RunRepository
from league.store.repositories.views import LeagueViews
from league.store.session import Database
from tests import schema_data

REVISIONS = schema_data.revisions()


def test_every_revision_has_its_data() -> None:
    assert sorted(path.stem for path in schema_data.FOLDER.glob("*.json")) == REVISIONS


@pytest.mark.parametrize("revision", REVISIONS)
def test_a_league_of_an_earlier_program_goes_on_and_goes_back(
    revision: str, any_database: Database, tmp_path_factory: pytest.TempPathFactory
) -> None:
    any_database.downgrade(revision)
    schema_data.load(any_database, revision)
    was = {name: len(table["rows"]) for name, table in written(revision).items()}
    any_database.upgrade()
    any_database.require_current()
    runs = RunRepository(any_database)
    run = runs.newest()[0]
    league = LeagueRepository(any_database, run.id).load()
    assert {"main.0", "random"} <= {player.name for player in league.players}
    assert len(league.players) == was["players"]
    assert len(league.pairs) == was["payoffs"]
    assert LeagueViews(any_database).rating_history(run.id, "trueskill")
    store = CheckpointStore(str(tmp_path_factory.mktemp("none")))
    problems = check_run(any_database, store, run.id)
    assert [
        p for p in problems if "checkpoint: checkpoint" not in p and "learner_state: checkpoint" not in p
    ] == []
    runs.desire(run.id, "running")
    token = runs.claim(run.id, "here:1", 30.0)
    assert token is not None, "a supervisor can go on with it"
    runs.release(run.id, token, "interrupted")
    any_database.downgrade(revision)
    now = schema_data.dump(any_database.url)
    assert {name: len(now[name]["rows"]) for name in was} == was
    any_database.downgrade("base")
    assert schema_data.dump(any_database.url) == {}


def written(revision: str) -> dict[str, dict[str, list[object]]]:
    tables: dict[str, dict[str, list[object]]] = json.loads(
        (schema_data.FOLDER / f"{revision}.json").read_text()
    )
    return tables
