"""Leases, fencing, transactions that are written whole, and schemas that fit."""

from __future__ import annotations

import sqlite3
import threading
import time
from pathlib import Path

import pytest

from league.bootstrap import Stores
from league.errors import DatabaseError, LeaseLostError, NotFoundError
from league.pool.records import Changes, EventRecord, PairRow, PlayerRecord, SeriesRow
from league.store.check import check_run
from league.store.checkpoints import CheckpointStore
from league.store.models import Base
from league.store.repositories.league_state import LeagueRepository
from league.store.repositories.runs import RunRepository, find_run
from league.store.repositories.views import LeagueViews
from league.store.session import Database
from matchmaking.ratings.base import Rating


def new_run(database: Database) -> tuple[RunRepository, str]:
    runs = RunRepository(database)
    return runs, runs.create({"any": "config"}, "test", "native:connect_four", 0).id


def changes(**parts: object) -> Changes:
    empty: dict[str, object] = {
        "play_seconds": 1.0,
        "moves": 10,
        "games": 2,
        "next_series": 1,
        "players": [],
        "pairs": [],
        "cleared_pairs": [],
        "series": [],
        "ratings": {},
        "history": {},
        "steps": {},
        "events": [],
        "metrics": None,
    }
    return Changes(**{**empty, **parts})  # type: ignore[arg-type]


def test_one_of_many_claimants_gets_a_run(any_database: Database) -> None:
    _, run_id = new_run(any_database)
    tokens: list[int | None] = []

    def claim() -> None:
        tokens.append(RunRepository(Database(any_database.url)).claim(run_id, "me", 10))

    threads = [threading.Thread(target=claim) for _ in range(8)]
    for t in threads:
        t.start()
    for t in threads:
        t.join()
    assert sorted(t for t in tokens if t is not None) == [1]
    assert tokens.count(None) == 7


def test_an_owner_whose_lease_ran_out_can_write_nothing_more(any_database: Database) -> None:
    runs, run_id = new_run(any_database)
    old = runs.claim(run_id, "first", 0.05)
    assert old is not None
    assert runs.claim(run_id, "second", 10) is None
    time.sleep(0.1)
    new = runs.claim(run_id, "second", 10)
    assert new == old + 1
    league = LeagueRepository(any_database, run_id)
    league.save(changes(moves=20), new)
    with pytest.raises(LeaseLostError, match="claimed by another supervisor"):
        league.save(changes(moves=999), old)
    with pytest.raises(LeaseLostError):
        runs.heartbeat(run_id, old, 10)
    with pytest.raises(LeaseLostError):
        runs.release(run_id, old, "finished")
    assert runs.get(run_id).moves == 20
    assert runs.heartbeat(run_id, new, 10) == "running"


def test_a_released_run_can_be_claimed_at_once(any_database: Database) -> None:
    runs, run_id = new_run(any_database)
    token = runs.claim(run_id, "first", 100)
    assert token is not None
    assert runs.claimable() == []
    runs.release(run_id, token, "paused", "by hand")
    assert runs.lease_left(run_id) == 0
    assert [r.id for r in runs.claimable()] == [run_id]
    assert runs.claim(run_id, "second", 100) == 2


def test_what_is_saved_is_loaded(any_database: Database) -> None:
    runs, run_id = new_run(any_database)
    token = runs.claim(run_id, "me", 10)
    assert token is not None
    league = LeagueRepository(any_database, run_id)
    player = PlayerRecord(
        "main.0", "main", "learning", steps=5, initial_checkpoint="aa", qualities={"main.0.v1": -0.5}
    )
    bot = PlayerRecord("random", "anchor", "frozen", bot="random")
    pair = PairRow("main.0", "random", (3, 1, 0, 3.5), (2.5, 0.9, 0.0, 3.0), ((2, 0, 0), (1, 1, 0)))
    series = SeriesRow(0, "main.0", "random", (2, 0), "training", "pfsp", (2, 0, 0), (1, 1, 0), 3.5, 99)
    saved = changes(
        players=[player, bot],
        pairs=[pair],
        series=[series],
        ratings={"elo": {"main.0": Rating(1010, 0, 4)}},
        history={"elo": {"main.0": Rating(1010, 0, 4)}},
        steps={"main.0": 5},
        events=[EventRecord("snapshot", "main.0", {"steps": 5})],
        metrics={"moves": 10},
        doing={"workers": []},
    )
    league.save(saved, token)
    league.save(changes(players=[player], pairs=[pair], series=[series], next_series=7), token)  # repeated
    loaded = league.load()
    assert loaded.players == [player, bot]
    assert loaded.pairs == [pair]
    assert loaded.ratings == {"elo": {"main.0": Rating(1010, 0, 4)}}
    assert (loaded.run.moves, loaded.run.next_series) == (10, 7)
    views = LeagueViews(any_database)
    latest = views.latest_metrics(run_id)
    assert latest is not None
    assert latest.pop("at") > 1e9
    assert latest == {"play_seconds": 1.0, "moves": 10}
    assert views.doing(run_id) == {"workers": []}
    assert views.metrics(run_id) == [views.latest_metrics(run_id)]
    assert views.ranks_at(run_id, 1.0) == {}
    assert [(e.kind, e.player, e.data) for e in views.events_after(run_id, 0)] == [
        ("snapshot", "main.0", {"steps": 5})
    ]
    assert views.rating_history(run_id, "elo") == {"main.0": [(1.0, 10, 5, 1010.0, 0.0)]}
    league.save(changes(cleared_pairs=[("main.0", "random")]), token)
    assert league.load().pairs == []


def test_a_failed_write_leaves_nothing(any_database: Database) -> None:
    runs, run_id = new_run(any_database)
    token = runs.claim(run_id, "me", 10)
    assert token is not None
    league = LeagueRepository(any_database, run_id)
    broken = PlayerRecord("x", "main", "learning", steps=None)  # type: ignore[arg-type]
    with pytest.raises(Exception, match=r"(?i)not.null"):
        league.save(changes(moves=77, players=[PlayerRecord("ok", "main", "learning"), broken]), token)
    assert league.load().players == []
    assert runs.get(run_id).moves == 0


def test_writers_wait_for_each_other_and_none_reads_stale_values(database: Database) -> None:
    _, run_id = new_run(database)

    def count_up() -> None:
        own = Database(database.url)
        for _ in range(25):
            with own.write() as session:
                find_run(session, run_id, lock=True).moves += 1

    threads = [threading.Thread(target=count_up) for _ in range(4)]
    for t in threads:
        t.start()
    for t in threads:
        t.join()
    assert RunRepository(database).get(run_id).moves == 100


def test_an_unknown_run_is_said_to_be_unknown(any_database: Database) -> None:
    with pytest.raises(NotFoundError, match="no run 'nope'"):
        RunRepository(any_database).get("nope")


def test_the_migrations_make_the_models_tables(any_database: Database) -> None:
    from alembic.autogenerate import compare_metadata
    from alembic.runtime.migration import MigrationContext

    with any_database.read() as session:
        differences = compare_metadata(MigrationContext.configure(session.connection()), Base.metadata)
    assert differences == []


def test_a_league_survives_the_schema_it_was_not_made_with(stores: Stores, played_run: str) -> None:
    """Back to the second schema, as if it had been written then, and up again."""
    service = stores.service()
    before, payoffs = service.standings(played_run), service.payoffs(played_run)
    history = service.rating_history(played_run, "elo")
    database = stores.open_database(upgrade=False)
    database.downgrade("0002")
    with pytest.raises(DatabaseError, match=r"at schema 0002, this program needs .* run `league db upgrade`"):
        database.require_current()
    database.upgrade()
    assert service.standings(played_run) == before
    after = service.payoffs(played_run)
    assert (after.win_rates, after.games) == (payoffs.win_rates, payoffs.games)
    assert {p: [(x[0], x[3]) for x in points] for p, points in history.items()} == {
        p: [(x[0], x[3]) for x in points] for p, points in service.rating_history(played_run, "elo").items()
    }
    # Connect Four's margins are its wins and losses, so nothing of what the pairs got was lost.
    league = LeagueRepository(database, played_run).load()
    for pair in league.pairs:
        assert pair.raw[3] == pair.raw[0] - pair.raw[2]
    assert check_run(database, CheckpointStore(stores.checkpoint_url), played_run) == []


def test_a_database_without_schema_or_newer_than_the_program_is_refused(tmp_path: Path) -> None:
    empty = Database(f"sqlite:///{tmp_path}/empty.db")
    with pytest.raises(DatabaseError, match=r"at schema none, this program needs .* run `league db upgrade`"):
        empty.require_current()
    empty.upgrade()
    empty.require_current()
    with sqlite3.connect(tmp_path / "empty.db") as connection:
        connection.execute("update alembic_version set version_num = '9999'")
    for refuse in (empty.require_current, empty.upgrade):
        with pytest.raises(DatabaseError, match="schema 9999, which is newer than this program"):
            refuse()


def test_a_database_that_cannot_be_opened_is_one_clear_line(tmp_path: Path) -> None:
    (tmp_path / "text.db").write_text("this is not a database, but it is long enough to look like one " * 20)
    for url, words in (
        (f"sqlite:///{tmp_path}/none/league.db", "unable to open database file"),
        (f"sqlite:///{tmp_path}/text.db", "file is not a database"),
        ("nonsense", "nonsense"),
        ("oracle9://x", "oracle9"),
    ):
        with pytest.raises(DatabaseError, match=words) as caught:
            Database(url).upgrade()
        assert "\n" not in str(caught.value)


def test_stores_are_found_by_home_or_by_url(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("LEAGUE_DATABASE_URL", raising=False)
    monkeypatch.setenv("LEAGUE_HOME", str(tmp_path / "there"))
    assert Stores.from_environment().database_url == f"sqlite:///{tmp_path}/there/league.db"
    monkeypatch.setenv("LEAGUE_DATABASE_URL", "postgresql://db/league")
    assert Stores.from_environment().database_url == "postgresql://db/league"
    (tmp_path / "file").write_text("")
    with pytest.raises(DatabaseError, match="data folder"):
        Stores.from_environment(str(tmp_path / "file" / "x"))


def test_ranks_and_scores_as_they_were(any_database: Database) -> None:
    runs, run_id = new_run(any_database)
    token = runs.claim(run_id, "me", 10)
    assert token is not None
    league, views = LeagueRepository(any_database, run_id), LeagueViews(any_database)
    players = [PlayerRecord("main.0", "main", "learning"), PlayerRecord("random", "anchor", "frozen")]
    for moment, mu in ((10.0, 20.0), (20.0, 30.0)):
        history = {"trueskill": {"main.0": Rating(mu, 1.0, 9), "random": Rating(25.0, 1.0, 9)}}
        of_main = SeriesRow(
            int(moment), "main.0", "random", (0, 0), "evaluation", "rating", (6, 0, 2), (5, 2, 1), 0.0, 9
        )
        of_random = SeriesRow(
            int(moment) + 1, "random", "main.0", (0, 0), "evaluation", "rating", (0, 0, 4), (0, 0, 4), 0.0, 9
        )
        taught = SeriesRow(
            int(moment) + 2, "main.0", "random", (0, 0), "training", "pfsp", (0, 0, 8), (0, 0, 8), 0.0, 9
        )
        made = changes(
            players=players,
            history=history,
            series=[of_main, of_random, taught],
            play_seconds=moment,
            metrics={"moves": 1},
            events=[EventRecord("reset", "main.0")],
        )
        league.save(made, token)
    assert views.ranks_at(run_id, 15.0) == {"random": 1, "main.0": 2}
    assert views.ranks_at(run_id, 25.0) == {"main.0": 1, "random": 2}
    points = views.scores_over_time(run_id, ["main.0"], ["random"])["main.0", "random"]
    assert sum(games for _, _, games in points) == 2 * 24
    assert all(score == pytest.approx((11 + 1 + 8) / 24) for _, score, _ in points)
    assert [(kind, player) for kind, player, _ in views.marks(run_id, ["reset"])] == [("reset", "main.0")] * 2
