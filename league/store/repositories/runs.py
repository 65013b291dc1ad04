"""Runs and who may write to them."""

from __future__ import annotations

import json
import secrets
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any

from sqlalchemy import ColumnElement, String, cast, func, literal, or_, select, tuple_, update
from sqlalchemy.orm import Session

from league.errors import ConflictError, LeaseLostError, NotFoundError
from league.pool.records import DesiredState, RunRecord, RunState
from league.store.models import PlayerRow, RunRow, UploadRow
from league.store.session import Database

# Nobody takes a run for longer at once.
LONGEST_LEASE_SECONDS = 120.0


class RunRepository:
    """Runs: created by anyone, claimed by one supervisor at a time, written to by the claimant alone."""

    def __init__(self, database: Database) -> None:
        self._database = database

    def create(
        self, config: dict[str, Any], name: str, game: str, seed: int, tags: Sequence[str] = ()
    ) -> RunRecord:
        """Writes down a new run that shall run; returns it."""
        with self._database.write() as session:
            now = self._database.now(session)
            row = RunRow(
                id=secrets.token_hex(4),
                name=name,
                game=game,
                seed=seed,
                config=config,
                state="pending",
                desired_state="running",
                created_at=now,
                updated_at=now,
                play_seconds=0.0,
                moves=0,
                games=0,
                next_series=0,
                lease_token=0,
                tags=list(tags),
                config_revision=0,
            )
            session.add(row)
            session.flush()
            return run_record(row)

    def get(self, run_id: str) -> RunRecord:
        """Raises: NotFoundError: no such run."""
        with self._database.read() as session:
            return run_record(find_run(session, run_id))

    def newest(self, limit: int = 100) -> list[RunRecord]:
        """Returns the newest runs first."""
        with self._database.read() as session:
            rows = session.scalars(select(RunRow).order_by(RunRow.created_at.desc()).limit(limit))
            return [run_record(row) for row in rows]

    def page(
        self,
        *,
        limit: int,
        after: tuple[Any, str] | None = None,
        sort: str = "created_at",
        descending: bool = True,
        state: str | None = None,
        game: str | None = None,
        tag: str | None = None,
        text: str | None = None,
    ) -> list[RunRecord]:
        """Returns runs that fit every condition given.

        Args:
          after: sort value and id of the last run of the page before.
          sort: created_at, updated_at, name, moves or games. text: a part of the name.
        """
        r = RunRow
        column = getattr(r, sort)
        query = select(r)
        if after is not None:
            place, last = tuple_(column, r.id), tuple_(literal(after[0], column.type), literal(after[1]))
            query = query.where(place < last if descending else place > last)
        if state is not None:
            query = query.where(r.state == state)
        if game is not None:
            query = query.where(r.game == game)
        if tag is not None:
            query = query.where(cast(r.tags, String).contains(json.dumps(tag), autoescape=True))
        if text is not None:
            query = query.where(func.lower(r.name).contains(text.lower(), autoescape=True))
        order = (column.desc(), r.id.desc()) if descending else (column, r.id)
        with self._database.read() as session:
            return [run_record(row) for row in session.scalars(query.order_by(*order).limit(limit))]

    def edit(
        self,
        run_id: str,
        change: Callable[[RunRecord], dict[str, Any]],
    ) -> RunRecord:
        """Changes name, tags or config of a run, looked at and written in one transaction.

        Args:
          change: returns the new values by field; what it raises leaves everything as it was.

        Raises:
          NotFoundError.
        """
        with self._database.write() as session:
            row = find_run(session, run_id, lock=True)
            values = change(run_record(row))
            if "name" in values:
                row.name = values["name"]
            if "tags" in values:
                row.tags = list(values["tags"])
            if "config" in values and values["config"] != row.config:
                row.config = values["config"]
                row.config_revision += 1
            row.updated_at = self._database.now(session)
            return run_record(row)

    def delete(self, run_id: str, check: Callable[[RunRecord, bool], None]) -> set[str]:
        """Removes a run with everything that is kept of it.

        Args:
          check: told the run and whether somebody owns it just now; what it raises stops the deletion.

        Returns:
          The checkpoints that nothing points at any more.
        """
        with self._database.write() as session:
            row = find_run(session, run_id, lock=True)
            live = _is_owned(row, self._database.now(session))
            check(run_record(row), live)
            p = PlayerRow
            columns = (p.checkpoint, p.initial_checkpoint, p.learner_state, p.previous_state)
            here = {s for c in columns for s in session.scalars(select(c).where(p.run_id == run_id)) if s}
            session.delete(row)
            session.flush()
            kept = set(session.scalars(select(UploadRow.sha).where(UploadRow.sha.in_(here))))
            for column in columns:
                kept |= set(session.scalars(select(column).where(column.in_(here))))
            return here - kept

    def hold(self, run_id: str, owner: str, seconds: float) -> int | None:
        """Takes a run that nobody owns for a moment, its state as it is; returns the token, None if taken."""
        with self._database.write() as session:
            row = find_run(session, run_id, lock=True)
            now = self._database.now(session)
            if _is_owned(row, now):
                return None
            row.lease_owner, row.lease_expires_at = owner, now + seconds
            row.lease_token += 1
            return row.lease_token

    @contextmanager
    def held(self, run_id: str, owner: str, seconds: float) -> Iterator[int]:
        """Holds a run for a block, which gets the token. Raises: ConflictError: a supervisor has it."""
        token = self.hold(run_id, owner, seconds)
        if token is None:
            raise ConflictError(f"run {run_id} is being run; pause it first: league runs pause {run_id}")
        try:
            yield token
        finally:
            self.let_go(run_id, token)

    def let_go(self, run_id: str, token: int) -> None:
        """Gives back what `hold` has taken. Raises: LeaseLostError."""
        with self._database.write() as session:
            row = fence(session, run_id, token)
            row.lease_owner, row.lease_expires_at = None, None

    def add_upload(self, sha: str, kind: str, size: int, actor: str) -> None:
        """Notes weights that somebody has brought; the same bytes again are no news."""
        with self._database.write() as session:
            if session.get(UploadRow, sha) is None:
                now = self._database.now(session)
                session.add(UploadRow(sha=sha, at=now, actor=actor, kind=kind, size=size))

    def upload_kind(self, sha: str) -> str:
        """Returns safetensors, onnx or torchscript. Raises: NotFoundError: nobody has uploaded it."""
        with self._database.read() as session:
            row = session.get(UploadRow, sha)
            if row is None:
                raise NotFoundError(f"no upload {sha!r}; POST its bytes to /checkpoints first")
            return row.kind

    def claimable(self) -> list[RunRecord]:
        """Returns the runs that shall run and that no live supervisor owns, oldest first."""
        with self._database.read() as session:
            now = self._database.now(session)
            rows = session.scalars(
                select(RunRow)
                .where(
                    RunRow.desired_state == "running",
                    RunRow.state.in_(("pending", "running", "paused")),
                    _is_free(now),
                )
                .order_by(RunRow.created_at)
            )
            return [run_record(row) for row in rows]

    def claim(self, run_id: str, owner: str, lease_seconds: float) -> int | None:
        """Takes a run whose lease is free or over; returns the fencing token, None when somebody has it.

        Every claim raises the token, so that whoever owned the run before can write no more.
        """
        with self._database.write() as session:
            now = self._database.now(session)
            claimed = session.execute(
                update(RunRow)
                .where(RunRow.id == run_id, _is_free(now))
                .values(
                    lease_owner=owner,
                    lease_token=RunRow.lease_token + 1,
                    lease_expires_at=now + lease_seconds,
                    state="running",
                    updated_at=now,
                )
                .returning(RunRow.lease_token)
            ).scalar()
            return None if claimed is None else int(claimed)

    def heartbeat(self, run_id: str, token: int, lease_seconds: float) -> DesiredState:
        """Prolongs the lease; returns what the run shall do. Raises: LeaseLostError: the token is old."""
        with self._database.write() as session:
            row = fence(session, run_id, token)
            row.lease_expires_at = self._database.now(session) + lease_seconds
            return row.desired_state  # type: ignore[return-value]

    def release(self, run_id: str, token: int, state: RunState, reason: str | None = None) -> None:
        """Gives the run back in a state. Raises: LeaseLostError."""
        with self._database.write() as session:
            row = fence(session, run_id, token)
            now = self._database.now(session)
            row.state, row.stop_reason, row.updated_at = state, reason, now
            row.lease_owner, row.lease_expires_at = None, None
            row.finished_at = now if state in ("finished", "failed") else None

    def desire(self, run_id: str, desired: DesiredState) -> RunRecord:
        """Writes down what the run shall do.

        One that was stopped by hand goes on when it is wanted again; one that nobody runs stops at once.

        Raises:
          NotFoundError.
        """
        with self._database.write() as session:
            row = find_run(session, run_id, lock=True)
            now = self._database.now(session)
            owned = _is_owned(row, now)
            row.desired_state, row.updated_at = desired, now
            if desired == "running" and row.state == "finished" and row.stop_reason == "stopped":
                row.state, row.stop_reason, row.finished_at = "paused", None, None
            elif desired == "running" and row.state == "failed":
                row.state, row.finished_at = "paused", None
            elif desired != "running" and not owned and row.state in ("pending", "running", "paused"):
                row.state = "paused" if desired == "paused" else "finished"
                row.stop_reason = desired
                row.finished_at = now if desired == "stopped" else None
            return run_record(row)

    def lease_left(self, run_id: str) -> float:
        """Returns the seconds until the run's lease is over, 0 when nobody has it. Raises: NotFoundError."""
        with self._database.read() as session:
            row = find_run(session, run_id)
            now = self._database.now(session)
            return (row.lease_expires_at or 0.0) - now if _is_owned(row, now) else 0.0


def _is_free(now: float) -> ColumnElement[bool]:
    """Whether a run's lease is over, or of a clock that has been set back since."""
    expires = RunRow.lease_expires_at
    return or_(expires.is_(None), expires < now, expires > now + LONGEST_LEASE_SECONDS)


def _is_owned(row: RunRow, now: float) -> bool:
    """The opposite, of a row that has been read."""
    expires = row.lease_expires_at
    return expires is not None and now <= expires <= now + LONGEST_LEASE_SECONDS


def find_run(session: Session, run_id: str, *, lock: bool = False) -> RunRow:
    """Returns a run's row. Raises: NotFoundError."""
    row = session.get(RunRow, run_id, with_for_update=lock or None)
    if row is None:
        raise NotFoundError(f"no run {run_id!r}; `league runs` lists them")
    return row


def fence(session: Session, run_id: str, token: int) -> RunRow:
    """Returns the run's row, locked, if `token` is still the newest. Raises: LeaseLostError."""
    row = session.get(RunRow, run_id, with_for_update=True)
    if row is None or row.lease_token != token:
        raise LeaseLostError(f"run {run_id} has been claimed by another supervisor")
    return row


def run_record(row: RunRow) -> RunRecord:
    return RunRecord(
        id=row.id,
        name=row.name,
        game=row.game,
        seed=row.seed,
        config=row.config,
        state=row.state,  # type: ignore[arg-type]
        desired_state=row.desired_state,  # type: ignore[arg-type]
        created_at=row.created_at,
        updated_at=row.updated_at,
        finished_at=row.finished_at,
        play_seconds=row.play_seconds,
        moves=row.moves,
        games=row.games,
        next_series=row.next_series,
        stop_reason=row.stop_reason,
        lease_owner=row.lease_owner,
        lease_token=row.lease_token,
        tags=tuple(row.tags),
        config_revision=row.config_revision,
    )
