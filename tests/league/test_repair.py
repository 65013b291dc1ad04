"""What `league db check` finds, `league db repair` mends as far as what is left allows."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
from sqlalchemy import delete, update

from league.bootstrap import Stores
from league.config.run import RunConfig
from league.errors import ConflictError
from league.store.check import check_run
from league.store.checkpoints import CheckpointStore
from league.store.models import PayoffRow, PlayerRow, RunRow, SeriesTable
from league.store.repair import repair_run
from league.store.repositories.runs import RunRepository
from league.store.session import Database
from league.store.thin import thin_run
from tests import command_line as cli
from tests.serial_league import play


@pytest.fixture
def paused(stores: Stores, small_config: Callable[..., RunConfig]) -> str:
    """A league that was interrupted."""
    return play(stores, small_config(), stop_at=60_000).id


def check(stores: Stores, run_id: str) -> list[str]:
    store = CheckpointStore(stores.checkpoint_url)
    return check_run(stores.open_database(upgrade=False), store, run_id)


def repair(stores: Stores, run_id: str) -> list[str]:
    store = CheckpointStore(stores.checkpoint_url)
    return repair_run(stores.open_database(upgrade=False), store, run_id, decay=0.999)


def break_rows(database: Database, run_id: str) -> None:
    with database.write() as session:
        session.execute(
            update(PayoffRow).where(PayoffRow.run_id == run_id, PayoffRow.first == "main.0").values(wins=1e6)
        )
        session.execute(delete(PayoffRow).where(PayoffRow.run_id == run_id, PayoffRow.second == "random"))
        session.execute(update(RunRow).where(RunRow.id == run_id).values(next_series=3))
        some = session.query(SeriesTable).filter_by(run_id=run_id).first()
        assert some is not None
        some.first = "nobody"
        session.execute(
            update(PlayerRow)
            .where(PlayerRow.run_id == run_id, PlayerRow.name == "main.0.v1")
            .values(parent="who.0")
        )


def break_files(stores: Stores, run_id: str) -> None:
    players = {p.name: p for p in stores.service().players(run_id, limit=100)}
    for sha in (players["main.0.v1"].checkpoint, players["main.0"].learner_state):
        path = Path(stores.checkpoint_url) / f"{(sha or '')[:2]}/{sha}.safetensors"
        path.write_bytes(path.read_bytes()[:-10])


def test_a_broken_record_is_mended_and_the_league_goes_on(
    stores: Stores, paused: str, small_config: Callable[..., RunConfig]
) -> None:
    assert repair(stores, paused) == []
    break_rows(stores.open_database(upgrade=False), paused)
    break_files(stores, paused)
    assert len(check(stores, paused)) >= 6
    done = repair(stores, paused)
    assert check(stores, paused) == []
    for said in (
        "counted anew",
        "named nobody",
        "counter of series",
        "retired",
        "goes on from the state before",
    ):
        assert any(said in line for line in done), said
    players = {p.name: p for p in stores.service().players(paused, limit=100)}
    assert players["main.0.v1"].state == "retired"
    events = [e.data["reason"] for e in stores.service().events(paused) if e.kind == "repaired"]
    assert events == done
    record = play(stores, small_config(), resume=paused)
    assert record.state == "finished"
    assert check(stores, paused) == []


def test_copies_that_nobody_needs_make_room(stores: Stores, small_config: Callable[..., RunConfig]) -> None:
    often = {"role": "main", "snapshot": {"min_steps": 4_000, "max_steps": 4_000}}
    config = small_config(players=[often], stop={"moves": 280_000})
    paused = play(stores, config, stop_at=240_000).id
    service, store = stores.service(), CheckpointStore(stores.checkpoint_url)
    copies = [p for p in service.players(paused, limit=100) if p.role == "historical"]
    assert len(copies) >= 4
    tagged = copies[0]
    with stores.open_database(upgrade=False).write() as session:
        chosen = PlayerRow.run_id == paused, PlayerRow.name == tagged.name
        session.execute(update(PlayerRow).where(*chosen).values(tags=["keep"]))
    done = thin_run(stores.open_database(upgrade=False), store, paused, keep=1)
    assert done.retired
    assert tagged.name not in done.retired
    now = {p.name: p for p in service.players(paused, limit=100)}
    for copy in copies:
        gone = copy.name in done.retired
        assert (now[copy.name].state == "retired") == gone
        assert store.has(copy.checkpoint or "") == (copy.checkpoint not in done.deleted)
        assert (now[copy.name].checkpoint is None) == (copy.checkpoint in done.deleted)
    assert check(stores, paused) == []
    assert thin_run(stores.open_database(upgrade=False), store, paused, keep=1).retired == []
    assert play(stores, config, resume=paused).state == "finished"
    assert check(stores, paused) == []


def test_a_league_keeps_as_many_copies_as_it_shall(
    stores: Stores, small_config: Callable[..., RunConfig]
) -> None:
    often = {"role": "main", "snapshot": {"min_steps": 4_000, "max_steps": 4_000}}
    config = small_config(players=[often], stop={"moves": 280_000}, retention={"copies": 2})
    paused = play(stores, config, stop_at=240_000).id
    service, store = stores.service(), CheckpointStore(stores.checkpoint_url)
    copies = [p for p in service.players(paused, limit=100) if p.role == "historical"]
    retired = {p.name for p in copies if p.state == "retired"}
    assert retired, "some have gone while it played"
    assert copies[-1].name not in retired, "the newest stays"
    assert all(store.has(p.checkpoint or "") for p in copies), "somebody may still have been playing them"
    events = [e for e in service.events(paused) if e.kind == "thinned"]
    assert {name for e in events for name in e.data["retired"]} == retired
    assert play(stores, config, resume=paused).state == "finished"
    after = {p.name: p for p in service.players(paused, limit=100)}
    for copy in copies:
        if copy.name in retired:
            assert after[copy.name].checkpoint is None
            assert not store.has(copy.checkpoint or "")
    assert check(stores, paused) == []


def test_a_run_that_is_being_run_is_left_alone(stores: Stores, paused: str) -> None:
    database = stores.open_database(upgrade=False)
    assert RunRepository(database).hold(paused, "somebody", 30.0) is not None
    with pytest.raises(ConflictError, match="pause it first"):
        repair(stores, paused)


def test_the_command_mends_and_says_what(stores: Stores, paused: str, tmp_path: Path) -> None:
    break_rows(stores.open_database(upgrade=False), paused)
    home = ("--home", str(tmp_path / "home"))
    assert cli.inside("db", "check", *home).returncode == 1
    mended = cli.inside("db", "repair", *home)
    assert mended.returncode == 0, mended.stderr
    assert "counted anew" in mended.stdout
    assert cli.inside("db", "check", *home).returncode == 0
    assert f"{paused}: ok" in cli.inside("db", "repair", *home).stdout
