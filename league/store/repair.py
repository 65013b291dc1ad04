"""Mends what `league.store.check` finds, as far as what is left allows it.

The series are the record of what was played: payoffs are counted anew from them. Weights that are gone stay
gone: their players are retired, learners go back to what is whole. Whatever is done is said, and is an event.
"""

from __future__ import annotations

from sqlalchemy import delete, func, insert, select, update
from sqlalchemy.orm import Session

from league.errors import CheckpointError
from league.pool.records import PairRow, PlayerRecord
from league.store.check import check_run, counted_series
from league.store.checkpoints import CheckpointStore
from league.store.models import EventRow, PayoffRow, PlayerRow, RatingRow, RunRow, SeriesTable
from league.store.repositories.league_state import pair_values, read_players
from league.store.repositories.runs import RunRepository, fence, find_run
from league.store.session import Database
from matchmaking.payoff import PayoffMatrix

HOLD_SECONDS = 60.0


def repair_run(database: Database, store: CheckpointStore, run_id: str, decay: float = 1.0) -> list[str]:
    """Mends a run that nobody runs just now, in one transaction; returns what was done, a line each.

    Args:
      decay: of the run's payoffs.

    Raises:
      NotFoundError: no such run. ConflictError: a supervisor has it.
    """
    with RunRepository(database).held(run_id, "repair", HOLD_SECONDS) as token:
        if not check_run(database, store, run_id):
            return []
        with database.write() as session:
            fence(session, run_id, token)
            done = [
                *_mend_players(session, store, run_id),
                *_drop_rows_of_nobody(session, run_id),
                *_mend_counter(session, run_id),
                *_count_payoffs(session, run_id, decay),
            ]
            now = database.now(session)
            for line in done:
                event = {"run_id": run_id, "at": now, "kind": "repaired", "data": {"reason": line}}
                session.execute(insert(EventRow), [event])
        return done


def _mend_players(session: Session, store: CheckpointStore, run_id: str) -> list[str]:
    done = []
    players = read_players(session, run_id)
    names = {p.name for p in players}
    for player in players:
        changes: dict[str, str | None] = {}
        if player.parent is not None and player.parent not in names:
            changes["parent"] = None
            done.append(f"{player.name}: has no parent any more, as {player.parent} does not exist")
        if player.checkpoint is not None and not _is_whole(store, player.checkpoint):
            changes |= {"checkpoint": None, "state": "retired"}
            done.append(f"{player.name}: retired, as its weights {player.checkpoint[:12]} are lost")
        if player.learner_state is not None and not _is_whole(store, player.learner_state):
            changes |= _state_that_is_left(store, player)
            left = changes["learner_state"]
            goes_on = f"goes on from the state before, {left[:12]}" if left else "starts over when it resumes"
            done.append(f"{player.name}: {goes_on}, as its last state {player.learner_state[:12]} is lost")
        if changes:
            row = PlayerRow.run_id == run_id, PlayerRow.name == player.name
            session.execute(update(PlayerRow).where(*row).values(**changes))
    return done


def _state_that_is_left(store: CheckpointStore, player: PlayerRecord) -> dict[str, str | None]:
    before = player.previous_state
    whole = before is not None and _is_whole(store, before)
    return {"learner_state": before if whole else None, "previous_state": None}


def _is_whole(store: CheckpointStore, sha: str) -> bool:
    try:
        store.get(sha)
    except CheckpointError:
        return False
    return True


def _drop_rows_of_nobody(session: Session, run_id: str) -> list[str]:
    """Removes what names players that do not exist: nobody can be told by it."""
    known = select(PlayerRow.name).where(PlayerRow.run_id == run_id).scalar_subquery()
    done = []
    for table, columns in (
        (SeriesTable, (SeriesTable.first, SeriesTable.second)),
        (PayoffRow, (PayoffRow.first, PayoffRow.second)),
        (RatingRow, (RatingRow.player,)),
    ):
        for column in columns:
            here = (table.run_id == run_id, column.not_in(known))
            count = session.scalar(select(func.count()).select_from(table).where(*here)) or 0
            if count:
                session.execute(delete(table).where(*here))
                done.append(f"{count} rows of {table.__tablename__} are gone, as they named nobody")
    return done


def _mend_counter(session: Session, run_id: str) -> list[str]:
    run: RunRow = find_run(session, run_id)
    last = session.scalar(select(func.max(SeriesTable.number)).where(SeriesTable.run_id == run_id))
    if last is None or last < run.next_series:
        return []
    run.next_series = int(last) + 1
    return [f"the run's counter of series is {run.next_series}, as series {last} was played"]


def _count_payoffs(session: Session, run_id: str, decay: float) -> list[str]:
    """Writes the payoffs anew that are not what their series say."""
    counted, undated = counted_series(session, run_id)
    rebuilt = PayoffMatrix.from_results(counted, decay)
    stored = {
        (row.first, row.second): (row.wins, row.draws, row.losses)
        for row in session.scalars(select(PayoffRow).where(PayoffRow.run_id == run_id))
    }
    wrong = {
        pair
        for pair in {*stored, *(p for p in rebuilt.pairs() if p[::-1] not in stored)}
        if pair not in undated and stored.get(pair) != rebuilt.raw(*pair).row[:3]
    }
    for first, second in sorted(wrong):
        row = PayoffRow.run_id == run_id, PayoffRow.first == first, PayoffRow.second == second
        session.execute(delete(PayoffRow).where(*row))
        seats = [tuple(int(n) for n in counts) for counts in rebuilt.by_seat(first, second)]
        pair = PairRow(
            first,
            second,
            rebuilt.raw(first, second).row,
            rebuilt.decayed(first, second).row,
            (seats[0], seats[1]),  # type: ignore[arg-type]
        )
        if sum(pair.raw[:3]) > 0:
            session.execute(insert(PayoffRow), [{"run_id": run_id} | pair_values(pair)])
    return [f"payoff of {first} and {second} is counted anew" for first, second in sorted(wrong)]
