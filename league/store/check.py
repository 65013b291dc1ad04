"""Whether what is stored about a run agrees with itself."""

from __future__ import annotations

import math
from collections.abc import Container

from sqlalchemy import select
from sqlalchemy.orm import Session

from league.errors import CheckpointError
from league.store.checkpoints import CheckpointStore
from league.store.models import PayoffRow, RatingRow, SeriesTable
from league.store.repositories.league_state import read_players, series_row
from league.store.repositories.runs import find_run
from league.store.session import Database
from matchmaking.payoff import PairRecord, PairResult, PayoffMatrix


def check_run(database: Database, store: CheckpointStore, run_id: str) -> list[str]:
    """Returns what is wrong with a run, a line each; empty when all is well.

    Checked: every player that a series, a payoff or a rating names exists; lineage leads to a player of
    the run; checkpoints are in the store and whole; payoffs equal the sum of their series;
    no series number is beyond the run's counter.

    Raises:
      NotFoundError: no such run.
    """
    problems: list[str] = []
    with database.read() as session:
        run = find_run(session, run_id)
        players = {p.name: p for p in read_players(session, run_id)}
        for player in players.values():
            if player.parent is not None and player.parent not in players:
                problems.append(f"{player.name}: parent {player.parent} does not exist")
            for kind in ("checkpoint", "initial_checkpoint", "learner_state"):
                sha = getattr(player, kind)
                if sha is not None:
                    try:
                        store.get(sha)
                    except CheckpointError as error:
                        problems.append(f"{player.name}: {kind}: {error}")
        for number, first, second in session.execute(
            select(SeriesTable.number, SeriesTable.first, SeriesTable.second)
            .where(SeriesTable.run_id == run_id)
            .order_by(SeriesTable.number)
        ):
            if number >= run.next_series:
                problems.append(f"series {number} is beyond the run's counter {run.next_series}")
            problems += _missing(f"series {number}", {first, second}, players)
        counted, undated = counted_series(session, run_id)
        rebuilt = PayoffMatrix.from_results(counted)
        pairs = session.scalars(select(PayoffRow).where(PayoffRow.run_id == run_id)).all()
        for pair in pairs:
            problems += _missing("a payoff", {pair.first, pair.second}, players)
            stored = PairRecord(pair.wins, pair.draws, pair.losses, pair.margin)
            expected = rebuilt.raw(pair.first, pair.second)
            if (pair.first, pair.second) not in undated and not _equal(stored, expected):
                problems.append(
                    f"payoff of {pair.first} and {pair.second} is {_show(stored)}, "
                    f"its series say {_show(expected)}"
                )
        stored_pairs = {(pair.first, pair.second) for pair in pairs}
        problems += [
            f"payoff of {i} and {j} is not there, their series are"
            for i, j in sorted(set(rebuilt.pairs()) - stored_pairs)
        ]
        for rating in session.scalars(select(RatingRow).where(RatingRow.run_id == run_id)):
            problems += _missing(f"a rating by {rating.system}", {rating.player}, players)
    return problems


def counted_series(session: Session, run_id: str) -> tuple[list[PairResult], set[tuple[str, str]]]:
    """Returns the results that payoffs consist of: of players that exist, as they are since their last reset.

    Returns:
      The results in order, and the pairs (both ways) with series from before generations were kept.
    """
    generations = {p.name: p.generation for p in read_players(session, run_id)}
    counted: list[PairResult] = []
    undated: set[tuple[str, str]] = set()
    s = SeriesTable
    for row in session.scalars(select(s).where(s.run_id == run_id).order_by(s.number, s.pair)):
        series = series_row(row)
        if -1 in series.generations:
            undated |= {(series.first, series.second), (series.second, series.first)}
        if series.generations == (generations.get(series.first), generations.get(series.second)):
            counted.append(series.result)
    return counted, undated


def _equal(stored: PairRecord, expected: PairRecord) -> bool:
    close = math.isclose(stored.margin, expected.margin, rel_tol=1e-6, abs_tol=1e-3)
    return stored.row[:3] == expected.row[:3] and close


def _show(record: PairRecord) -> list[float]:
    return [int(record.wins), int(record.draws), int(record.losses), round(record.margin, 3)]


def _missing(what: str, names: set[str], players: Container[str]) -> list[str]:
    return [f"{what} names {name}, who does not exist" for name in sorted(names) if name not in players]
