"""Answers to POSTs, so that one sent twice is done once."""

from __future__ import annotations

from dataclasses import dataclass

from sqlalchemy import delete

from league.store.models import IdempotencyRow
from league.store.session import Database

KEPT_SECONDS = 24 * 3600.0
# Whoever began an answer and has said nothing for so long is dead.
UNANSWERED_SECONDS = 60.0


@dataclass(frozen=True)
class Answer:
    """What a POST was answered with: `status` None while it is being worked on."""

    request: str
    status: int | None
    headers: dict[str, str]
    body: bytes


class IdempotencyRepository:
    """Answers by key and by who sent it."""

    def __init__(self, database: Database) -> None:
        self._database = database

    def begin(self, key: str, actor: str, request: str) -> Answer | None:
        """Notes that a request is being worked on; returns what is there already if it came before."""
        with self._database.write() as session:
            now = self._database.now(session)
            i = IdempotencyRow
            session.execute(delete(i).where(i.at < now - KEPT_SECONDS))
            row = session.get(i, (key, actor))
            if row is not None and row.status is None and row.at < now - UNANSWERED_SECONDS:
                session.delete(row)
                session.flush()
                row = None
            if row is not None:
                return Answer(row.request, row.status, dict(row.headers), row.body or b"")
            session.add(i(key=key, actor=actor, request=request, at=now, headers={}))
            return None

    def finish(self, key: str, actor: str, status: int, headers: dict[str, str], body: bytes) -> None:
        """Keeps the answer."""
        with self._database.write() as session:
            row = session.get(IdempotencyRow, (key, actor))
            if row is not None:
                row.status, row.headers, row.body = status, dict(headers), body

    def forget(self, key: str, actor: str) -> None:
        """Lets a request that failed be tried again."""
        with self._database.write() as session:
            i = IdempotencyRow
            session.execute(delete(i).where(i.key == key, i.actor == actor))
