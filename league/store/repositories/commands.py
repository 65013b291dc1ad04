"""What people want of a league's players: written down here, carried out by the run's owner."""

from __future__ import annotations

from typing import Any

from sqlalchemy import select

from league.errors import NotFoundError
from league.pool.records import CommandRecord
from league.store.models import CommandRow
from league.store.repositories.league_state import command_record
from league.store.repositories.runs import find_run
from league.store.session import Database


class CommandRepository:
    """Commands of every run."""

    def __init__(self, database: Database) -> None:
        self._database = database

    def add(self, run_id: str, kind: str, player: str, data: dict[str, Any], actor: str) -> CommandRecord:
        """Writes one down. Raises: NotFoundError: no such run."""
        with self._database.write() as session:
            find_run(session, run_id)
            row = CommandRow(
                run_id=run_id,
                at=self._database.now(session),
                actor=actor,
                kind=kind,
                player=player,
                data=data,
                state="pending",
            )
            session.add(row)
            session.flush()
            return command_record(row)

    def get(self, run_id: str, command_id: int) -> CommandRecord:
        """Raises: NotFoundError."""
        with self._database.read() as session:
            row = session.get(CommandRow, command_id)
            if row is None or row.run_id != run_id:
                raise NotFoundError(f"no command {command_id} in run {run_id}")
            return command_record(row)

    def newest(self, run_id: str, limit: int, before: int | None = None) -> list[CommandRecord]:
        """Returns a run's commands, newest first, those with an id below `before`."""
        c = CommandRow
        with self._database.read() as session:
            query = select(c).where(c.run_id == run_id).order_by(c.id.desc()).limit(limit)
            if before is not None:
                query = query.where(c.id < before)
            return [command_record(row) for row in session.scalars(query)]
