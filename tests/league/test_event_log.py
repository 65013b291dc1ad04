"""What happens in a supervisor's runs is in its log, for people and for programs."""

from __future__ import annotations

import json
from collections.abc import Iterator

import pytest

from league.bootstrap import Stores
from league.control.event_log import EventLog, log_to_stderr, logger
from league.pool.records import EventRecord
from league.store.repositories.league_state import LeagueRepository


@pytest.fixture(autouse=True)
def quiet_again() -> Iterator[None]:
    yield
    logger.handlers[:] = []


def happen(stores: Stores, run_id: str, *events: EventRecord) -> None:
    repository = LeagueRepository(stores.open_database(upgrade=False), run_id)
    for event in events:
        repository.add_event(event)


def test_each_event_is_a_line_that_names_run_player_and_worker(
    stores: Stores, played_run: str, capsys: pytest.CaptureFixture[str]
) -> None:
    log_to_stderr("json")
    log = EventLog(stores.service(), lambda _: True)
    log.tell()
    assert capsys.readouterr().err == "", "what was before is not news"
    happen(
        stores,
        played_run,
        EventRecord("snapshot", "main.0", {"steps": 7}),
        EventRecord("worker_lost", data={"worker": "rollout.3", "reason": "it\ndied"}),
    )
    log.tell()
    log.tell()
    first, second = [json.loads(line) for line in capsys.readouterr().err.splitlines()]
    assert (first["message"], first["run"], first["player"], first["steps"], first["level"]) == (
        "snapshot", played_run, "main.0", 7, "info",
    )  # fmt: skip
    assert (second["worker"], second["level"]) == ("rollout.3", "warning")


def test_people_get_lines_and_nothing_of_others_runs(
    stores: Stores, played_run: str, capsys: pytest.CaptureFixture[str]
) -> None:
    log_to_stderr("text")
    with EventLog(stores.service(), lambda _: False):
        happen(stores, played_run, EventRecord("snapshot", "main.0"))
    assert capsys.readouterr().err == ""
    log = EventLog(stores.service(), lambda _: True)
    log.tell()
    happen(stores, played_run, EventRecord("snapshot", "main.0", {"steps": 8}))
    log.tell()
    assert f"info snapshot run={played_run} player=main.0 steps=8" in capsys.readouterr().err
