"""Where events are sent, and how far each receiver has got."""

from __future__ import annotations

import secrets
from collections.abc import Sequence

from sqlalchemy import func, select, update

from league.errors import NotFoundError
from league.pool.records import EventRecord, WebhookRecord
from league.store.models import EventRow, WebhookRow
from league.store.repositories.runs import find_run
from league.store.session import Database

# Whoever takes a webhook up has so long to deliver before another may.
TURN_SECONDS = 30.0


class WebhookRepository:
    """Webhooks of every run."""

    def __init__(self, database: Database) -> None:
        self._database = database

    def add(
        self, url: str, secret: str, kinds: Sequence[str], run_id: str | None, actor: str
    ) -> WebhookRecord:
        """Adds one; it gets what happens from now on. Raises: NotFoundError: no such run."""
        with self._database.write() as session:
            if run_id is not None:
                find_run(session, run_id)
            row = WebhookRow(
                id=secrets.token_hex(6),
                url=url,
                secret=secret,
                kinds=list(kinds),
                run_id=run_id,
                created_at=self._database.now(session),
                created_by=actor,
                last_event=session.scalar(select(func.max(EventRow.id))) or 0,
                failures=0,
                next_try_at=0.0,
                delivered=0,
            )
            session.add(row)
            session.flush()
            return _record(row)

    def all(self) -> list[WebhookRecord]:
        """Returns every webhook, newest first."""
        with self._database.read() as session:
            rows = session.scalars(select(WebhookRow).order_by(WebhookRow.created_at.desc()))
            return [_record(row) for row in rows]

    def get(self, webhook_id: str) -> WebhookRecord:
        """Raises: NotFoundError."""
        with self._database.read() as session:
            row = session.get(WebhookRow, webhook_id)
            if row is None:
                raise NotFoundError(f"no webhook {webhook_id!r}")
            return _record(row)

    def delete(self, webhook_id: str) -> None:
        """Raises: NotFoundError."""
        with self._database.write() as session:
            row = session.get(WebhookRow, webhook_id)
            if row is None:
                raise NotFoundError(f"no webhook {webhook_id!r}")
            session.delete(row)

    def due(self) -> list[str]:
        """Returns the ids of those that may be tried now and have something to be told."""
        with self._database.read() as session:
            now = self._database.now(session)
            newest = session.scalar(select(func.max(EventRow.id))) or 0
            w = WebhookRow
            return list(session.scalars(select(w.id).where(w.next_try_at <= now, w.last_event < newest)))

    def take(self, webhook_id: str) -> tuple[WebhookRecord, str, list[tuple[str, EventRecord]]] | None:
        """Takes a webhook's turn: returns it, its secret and what to tell it next; None: another has it.

        Events that it does not want are passed over. Returned with each event: its run.
        """
        with self._database.write() as session:
            now = self._database.now(session)
            w, e = WebhookRow, EventRow
            row = session.scalars(select(w).where(w.id == webhook_id).with_for_update()).first()
            if row is None or row.next_try_at > now:
                return None
            query = select(e).where(e.id > row.last_event).order_by(e.id).limit(100)
            if row.run_id is not None:
                query = query.where(e.run_id == row.run_id)
            events = list(session.scalars(query))
            wanted = [x for x in events if not row.kinds or x.kind in row.kinds]
            if not wanted:
                last = session.scalar(select(func.max(e.id))) or 0
                row.last_event = events[-1].id if len(events) == 100 else max(last, row.last_event)
                return None
            row.next_try_at = now + TURN_SECONDS
            result = [(x.run_id, EventRecord(x.kind, x.player, x.data, x.id, x.at, x.actor)) for x in wanted]
            return _record(row), row.secret, result

    def delivered(self, webhook_id: str, event_id: int) -> None:
        """An event has arrived."""
        w = WebhookRow
        with self._database.write() as session:
            session.execute(
                update(w)
                .where(w.id == webhook_id, w.last_event < event_id)
                .values(
                    last_event=event_id,
                    failures=0,
                    next_try_at=0.0,
                    last_error=None,
                    delivered=w.delivered + 1,
                )
            )

    def failed(self, webhook_id: str, error: str, wait_seconds: float) -> None:
        """An event has not arrived; it is tried again after a while."""
        w = WebhookRow
        with self._database.write() as session:
            now = self._database.now(session)
            session.execute(
                update(w)
                .where(w.id == webhook_id)
                .values(failures=w.failures + 1, next_try_at=now + wait_seconds, last_error=error[:1000])
            )


def _record(row: WebhookRow) -> WebhookRecord:
    return WebhookRecord(
        row.id,
        row.url,
        tuple(row.kinds),
        row.run_id,
        row.created_at,
        row.created_by,
        row.last_event,
        row.failures,
        row.next_try_at,
        row.last_error,
        row.delivered,
    )
