"""What `league analyse` and `league db check` say of pools that were planted, and of one that was played."""

from __future__ import annotations

import json
import math
from pathlib import Path

import pytest
from sqlalchemy import text

from league.bootstrap import Stores
from league.pool.records import PairRow, PlayerRecord, RunRecord, SeriesRow, Snapshot
from league.store.check import check_run
from league.store.checkpoints import CheckpointStore
from league.study.analysis import analyse, write_plots

RUN = RunRecord("r", "n", "g", 0, {}, "running", "running", 0, 0, None, 0, 0, 0, 0, None, None, 1)


def pair(first: str, second: str, wins: float, games: float = 100.0) -> PairRow:
    record = (wins, 0.0, games - wins, 2.0 * wins - games)
    return PairRow(first, second, record, record, ((0, 0, 0), (0, 0, 0)))


def planted() -> Snapshot:
    """A rock-paper-scissors of mains above a bot that loses to all of them."""
    players = [PlayerRecord(n, "historical", "frozen") for n in ("paper", "rock", "scissors")]
    players.append(PlayerRecord("random", "anchor", "frozen", bot="random"))
    pairs = [
        pair("paper", "rock", 90),
        pair("rock", "scissors", 90),
        pair("paper", "scissors", 10),
        pair("paper", "random", 95),
        pair("random", "rock", 5),
        pair("random", "scissors", 5),
    ]
    return Snapshot(RUN, players, pairs, {})


def test_a_planted_cycle_is_found_and_named() -> None:
    analysis = analyse(planted(), [])
    assert analysis.cycles == (("paper", "rock", "scissors"),)
    shares = {p.player: p.nash_share for p in analysis.players}
    for name in ("paper", "rock", "scissors"):
        assert shares[name] == pytest.approx(1 / 3, abs=0.01)
    assert {p.player: p.cluster for p in analysis.players} == {
        "paper": 0,
        "rock": 0,
        "scissors": 0,
        "random": 1,
    }
    assert analysis.anchor == "random"
    assert analysis.players[-1].bradley_terry == 0.0
    assert analysis.transitivity < 0.8
    assert analysis.diversity > 0.1
    assert analysis.unmet == 0.0


def test_whoever_has_hardly_played_takes_no_part_in_the_equilibrium() -> None:
    league = planted()
    newcomer = PlayerRecord("newcomer", "historical", "frozen")
    pairs = [*league.pairs, pair("newcomer", "paper", 10, games=10)]
    analysis = analyse(Snapshot(RUN, [*league.players, newcomer], pairs, {}), [])
    assert analysis.unplaced == ("newcomer",)
    assert "newcomer" not in {p.player for p in analysis.players}
    assert [set(c) for c in analysis.cycles] == [{"paper", "rock", "scissors"}]
    enough = [*league.pairs, pair("newcomer", "paper", 40, games=40)]
    placed = analyse(Snapshot(RUN, [*league.players, newcomer], enough, {}), [])
    assert placed.unplaced == ()
    assert {p.player for p in placed.players} >= {"newcomer"}


def test_an_empty_league_has_nothing_to_say() -> None:
    analysis = analyse(Snapshot(RUN, [], [], {}), [])
    assert analysis.players == ()
    assert json.loads(analysis.to_json())["cycles"] == []


def test_plots_stand_alone(tmp_path: Path) -> None:
    series = [
        SeriesRow(k, "paper", "rock", (0, 0), "evaluation", "rating", (4, 0, 0), (3, 0, 1), 6.0, 80)
        for k in range(20)
    ]
    analysis = analyse(planted(), series)
    assert [c.games for c in analysis.calibration] == [160] * 3
    assert all(0.0 <= c.brier < 0.25 for c in analysis.calibration)
    for path in write_plots(analysis, tmp_path / "plots"):
        html = path.read_text()
        assert "Plotly.newPlot" in html
        assert "<script src=" not in html


def test_a_played_league_is_analysed_and_its_record_agrees_with_itself(
    stores: Stores, played_run: str
) -> None:
    analysis = stores.service().analyse(played_run)
    known = {p.player for p in analysis.players} | set(analysis.unplaced)
    assert known == {r.player for r in stores.service().standings(played_run)}
    assert sum(p.nash_share for p in analysis.players) == pytest.approx(1.0)
    assert all(math.isfinite(p.bradley_terry) for p in analysis.players)
    database, store = stores.open_database(upgrade=False), CheckpointStore(stores.checkpoint_url)
    assert check_run(database, store, played_run) == []


@pytest.mark.parametrize(
    ("damage", "complaint"),
    [
        ("delete from players where name = 'random'", "names random, who does not exist"),
        ("update runs set next_series = 1", "beyond the run's counter 1"),
        ("update payoffs set wins = wins + 1 where second = 'random'", "its series say"),
        ("update payoffs set margin = margin + 1 where second = 'random'", "its series say"),
        ("delete from payoffs where second = 'random'", "is not there, their series are"),
        ("update players set parent = 'nobody' where name = 'main.0.v1'", "parent nobody does not exist"),
        ("update players set checkpoint = 'abc' where name = 'main.0.v1'", "checkpoint abc is not in"),
    ],
)
def test_a_damaged_record_is_said_to_be(damage: str, complaint: str, stores: Stores, played_run: str) -> None:
    database, store = stores.open_database(upgrade=False), CheckpointStore(stores.checkpoint_url)
    with database.write() as session:
        session.execute(text(damage))
    assert any(complaint in line for line in check_run(database, store, played_run))
