"""Whether what is stored about a run agrees with itself."""

from __future__ import annotations

from collections.abc import Container

from sqlalchemy import select

from league.checkpoints import CheckpointStore
from league.db.league_state import read_players, series_row
from league.db.models import PayoffRow, RatingRow, SeriesTable
from league.db.runs import find_run
from league.db.session import Database
from league.errors import CheckpointError


def check_run(database: Database, store: CheckpointStore, run_id: str) -> list[str]:
    """Returns what is wrong with a run, a line each; empty when all is well.

    Checked: every player that a series, a payoff or a rating names exists; lineage leads to a player of
    the run; checkpoints are in the store and whole; payoffs of frozen pairs equal the sum of their series;
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
        sums: dict[tuple[str, str], list[int]] = {}
        for row in session.scalars(select(SeriesTable).where(SeriesTable.run_id == run_id)):
            if row.number >= run.next_series:
                problems.append(f"series {row.number} is beyond the run's counter {run.next_series}")
            problems += _missing(f"series {row.number}", {row.first, row.second}, players)
            outcome = series_row(row).outcome
            first, second, wins, losses = row.first, row.second, outcome.wins, outcome.losses
            if first > second:
                first, second, wins, losses = second, first, losses, wins
            total = sums.setdefault((first, second), [0, 0, 0])
            for k, count in enumerate((wins, outcome.draws, losses)):
                total[k] += count
        frozen = {p.name for p in players.values() if p.state == "frozen"}
        for pair in session.scalars(select(PayoffRow).where(PayoffRow.run_id == run_id)):
            problems += _missing("a payoff", {pair.first, pair.second}, players)
            stored = [pair.wins, pair.draws, pair.losses]
            counted = sums.get((pair.first, pair.second), [0, 0, 0])
            # A learning player's games of before a reset are in the series but not in its payoff.
            exact = {pair.first, pair.second} <= frozen
            if (exact and stored != counted) or any(s > c for s, c in zip(stored, counted, strict=True)):
                problems.append(
                    f"payoff of {pair.first} and {pair.second} is {stored}, its series say {counted}"
                )
        for rating in session.scalars(select(RatingRow).where(RatingRow.run_id == run_id)):
            problems += _missing(f"a rating by {rating.system}", {rating.player}, players)
    return problems


def _missing(what: str, names: set[str], players: Container[str]) -> list[str]:
    return [f"{what} names {name}, who does not exist" for name in sorted(names) if name not in players]
