"""Makes room: copies that a league hardly needs are retired, and weights that nothing points at are deleted.

Which copies stay, `league.pool.retention` says. What a person's game, an upload or another run points at
stays on the disk whatever becomes of its player.
"""

from __future__ import annotations

from dataclasses import dataclass

from sqlalchemy import select, update
from sqlalchemy.orm import Session

from league.pool.records import PlayerRecord
from league.pool.retention import needed
from league.store.checkpoints import CheckpointStore
from league.store.models import EventRow, PlayerRow, PlayRow, RatingRow, UploadRow
from league.store.repositories.league_state import read_players
from league.store.repositories.runs import RunRepository, fence
from league.store.session import Database

HOLD_SECONDS = 60.0


@dataclass(frozen=True)
class Thinned:
    """`retired`: players that were. `deleted`: weights that are gone from the store."""

    retired: list[str]
    deleted: list[str]


def thin_held_run(database: Database, store: CheckpointStore, run_id: str, token: int, keep: int) -> Thinned:
    """As `thin_run`, of a run that the caller has. Raises: LeaseLostError: somebody else has it."""
    with database.write() as session:
        fence(session, run_id, token)
        players = read_players(session, run_id)
        dropped = {p.name for p in players if p.state == "frozen"} - _needed(session, players, run_id, keep)
        unwanted = [p for p in players if p.name in dropped or p.state == "retired"]
        shas = {p.checkpoint for p in unwanted if p.role == "historical" and p.checkpoint}
        free = shas - _pointed_at(session, shas, run_id, {p.name for p in unwanted})
        p = PlayerRow
        here = (p.run_id == run_id, p.role == "historical")
        session.execute(update(p).where(*here, p.name.in_(dropped)).values(state="retired"))
        session.execute(update(p).where(*here, p.checkpoint.in_(free)).values(checkpoint=None))
        if dropped or free:
            data = {"retired": sorted(dropped), "deleted": len(free)}
            session.add(EventRow(run_id=run_id, at=database.now(session), kind="thinned", data=data))
    # Only now: what is written points at none of them.
    for sha in free:
        store.delete(sha)
    return Thinned(sorted(dropped), sorted(free))


def thin_run(database: Database, store: CheckpointStore, run_id: str, keep: int) -> Thinned:
    """Retires all but the best `keep` frozen copies and those that are needed, and deletes their weights.

    Raises:
      NotFoundError: no such run. ConflictError: a supervisor has it.
    """
    with RunRepository(database).held(run_id, "thin", HOLD_SECONDS) as token:
        return thin_held_run(database, store, run_id, token, keep)


def _needed(session: Session, players: list[PlayerRecord], run_id: str, keep: int) -> set[str]:
    ratings: dict[str, dict[str, float]] = {"trueskill": {}, "nash": {}}
    r = RatingRow
    query = select(r).where(r.run_id == run_id, r.system.in_(ratings))
    for row in session.scalars(query):
        ratings[row.system][row.player] = row.mu - (3.0 * row.sigma if row.system == "trueskill" else 0.0)
    return needed(players, ratings["trueskill"], ratings["nash"], keep)


def _pointed_at(session: Session, shas: set[str], run_id: str, unwanted: set[str]) -> set[str]:
    """Returns those that somebody else still needs."""
    result = set(session.scalars(select(UploadRow.sha).where(UploadRow.sha.in_(shas))))
    result |= {
        s for s in session.scalars(select(PlayRow.checkpoint).where(PlayRow.checkpoint.in_(shas))) if s
    }
    p = PlayerRow
    for column in (p.checkpoint, p.initial_checkpoint, p.learner_state, p.previous_state):
        rows = session.execute(select(column, p.run_id, p.name).where(column.in_(shas)))
        result |= {sha for sha, run, name in rows if sha and (run != run_id or name not in unwanted)}
    return result
