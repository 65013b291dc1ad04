"""Tournaments: asked for by anyone, played by whoever claims them, kept whole."""

from __future__ import annotations

import secrets
from typing import Any

from sqlalchemy import and_, or_, select, update

from league.errors import ConflictError, NotFoundError
from league.pool.records import TournamentRecord
from league.store.models import TournamentRow
from league.store.repositories.runs import find_run
from league.store.session import Database

# A claimant that has said nothing for so long is dead, and another may play.
SILENCE_SECONDS = 20.0
ATTEMPTS = 3


class TournamentRepository:
    """Tournaments of every run."""

    def __init__(self, database: Database) -> None:
        self._database = database

    def ask(self, run_id: str, rules: dict[str, Any], actor: str) -> TournamentRecord:
        """Writes down a tournament that shall be played. Raises: NotFoundError: no such run."""
        return self._add(run_id, rules, {}, "pending", actor, 0)

    def add(self, run_id: str, rules: dict[str, Any], results: dict[str, Any]) -> TournamentRecord:
        """Keeps one that has been played. Raises: NotFoundError: no such run."""
        return self._add(run_id, rules, results, "done", None, int(results.get("games", 0)))

    def get(self, tournament_id: int) -> TournamentRecord:
        """Raises: NotFoundError."""
        with self._database.read() as session:
            row = session.get(TournamentRow, tournament_id)
            if row is None:
                raise NotFoundError(f"no tournament {tournament_id}")
            return _record(row)

    def newest(self, run_id: str, limit: int = 100, before: int | None = None) -> list[TournamentRecord]:
        """Returns a run's tournaments, newest first, those with an id below `before`."""
        t = TournamentRow
        with self._database.read() as session:
            query = select(t).where(t.run_id == run_id).order_by(t.id.desc()).limit(limit)
            if before is not None:
                query = query.where(t.id < before)
            return [_record(row) for row in session.scalars(query)]

    def claim(self) -> tuple[TournamentRecord, str] | None:
        """Takes the oldest that waits, or whose player has died; returns it and the claim, or None.

        One that has killed whoever played it three times is failed.
        """
        t = TournamentRow
        with self._database.read() as session:  # asked every second, and there is hardly ever one
            if session.scalar(select(t.id).where(t.state.in_(("pending", "running"))).limit(1)) is None:
                return None
        with self._database.write() as session:
            now = self._database.now(session)
            silent = and_(t.state == "running", t.heartbeat_at < now - SILENCE_SECONDS)
            session.execute(
                update(t)
                .where(silent, t.attempts >= ATTEMPTS)
                .values(state="failed", error=f"whoever played it died {ATTEMPTS} times")
            )
            row = session.scalars(
                select(t).where(or_(t.state == "pending", silent)).order_by(t.id).limit(1).with_for_update()
            ).first()
            if row is None:
                return None
            row.state, row.claim, row.heartbeat_at = "running", secrets.token_hex(8), now
            row.attempts += 1
            return _record(row), row.claim

    def keep_on(self, tournament_id: int, claim: str, games: int) -> bool:
        """Says that it is being played; False: somebody cancelled it, or another plays it now."""
        t = TournamentRow
        with self._database.write() as session:
            result = session.execute(
                update(t)
                .where(t.id == tournament_id, t.claim == claim, t.state == "running")
                .values(games=games, heartbeat_at=self._database.now(session))
                .returning(t.id)
            ).scalar()
            return result is not None

    def finish(
        self,
        tournament_id: int,
        claim: str,
        state: str,
        results: dict[str, Any],
        error: str | None = None,
    ) -> None:
        """Writes down what came of it, unless another plays it now. A cancelled one stays cancelled."""
        t = TournamentRow
        with self._database.write() as session:
            row = session.get(t, tournament_id)
            if row is None or row.claim != claim:
                return
            row.results, row.games = results, int(results.get("games", row.games))
            row.error = error and error[:1000]
            if row.state == "running":
                row.state = state

    def cancel(self, tournament_id: int) -> TournamentRecord:
        """Breaks one off; what has been played is kept.

        Raises:
          NotFoundError: no such tournament. ConflictError: it is over.
        """
        with self._database.write() as session:
            row = session.get(TournamentRow, tournament_id)
            if row is None:
                raise NotFoundError(f"no tournament {tournament_id}")
            if row.state not in ("pending", "running"):
                raise ConflictError(f"tournament {tournament_id} is {row.state}")
            row.state = "cancelled"
            return _record(row)

    def _add(
        self,
        run_id: str,
        rules: dict[str, Any],
        results: dict[str, Any],
        state: str,
        actor: str | None,
        games: int,
    ) -> TournamentRecord:
        with self._database.write() as session:
            find_run(session, run_id)
            row = TournamentRow(
                run_id=run_id,
                at=self._database.now(session),
                rules=rules,
                results=results,
                state=state,
                actor=actor,
                games=games,
                attempts=0,
            )
            session.add(row)
            session.flush()
            return _record(row)


def _record(row: TournamentRow) -> TournamentRecord:
    return TournamentRecord(
        row.id, row.run_id, row.at, row.rules, row.results, row.state, row.actor, row.games, row.error
    )
