"""What pages and routers read: bounded queries, no game-by-game counting."""

from __future__ import annotations

from typing import Any

from sqlalchemy import func, select

from league.db.league_state import LeagueRepository
from league.db.models import EventRow, MetricsRow, RatingHistoryRow
from league.db.session import Database
from league.records import EventRecord, Snapshot


class LeagueViews:
    """Read-only questions about runs."""

    def __init__(self, database: Database) -> None:
        self._database = database

    def snapshot(self, run_id: str) -> Snapshot:
        """Raises: NotFoundError."""
        return LeagueRepository(self._database, run_id).load()

    def events_after(self, run_id: str, after: int, limit: int = 500) -> list[EventRecord]:
        """Returns events with an id above `after`, oldest first."""
        with self._database.read() as session:
            rows = session.scalars(
                select(EventRow)
                .where(EventRow.run_id == run_id, EventRow.id > after)
                .order_by(EventRow.id)
                .limit(limit)
            )
            return [EventRecord(r.kind, r.player, r.data, r.id, r.at) for r in rows]

    def latest_events(self, run_id: str, limit: int = 50) -> list[EventRecord]:
        """Returns the newest events, newest first."""
        with self._database.read() as session:
            rows = session.scalars(
                select(EventRow).where(EventRow.run_id == run_id).order_by(EventRow.id.desc()).limit(limit)
            )
            return [EventRecord(r.kind, r.player, r.data, r.id, r.at) for r in rows]

    def rating_history(
        self, run_id: str, system: str, points: int = 400
    ) -> dict[str, list[tuple[float, ...]]]:
        """Returns (play seconds, moves, mu, sigma) by player, thinned to about `points` moments."""
        with self._database.read() as session:
            here = (RatingHistoryRow.run_id == run_id, RatingHistoryRow.system == system)
            moments = session.scalars(
                select(RatingHistoryRow.play_seconds)
                .where(*here)
                .distinct()
                .order_by(RatingHistoryRow.play_seconds)
            ).all()
            stride = max(1, len(moments) // points)
            kept = set(moments[::stride]) | set(moments[-1:])
            history: dict[str, list[tuple[float, ...]]] = {}
            for r in session.scalars(select(RatingHistoryRow).where(*here).order_by(RatingHistoryRow.id)):
                if r.play_seconds in kept:
                    history.setdefault(r.player, []).append((r.play_seconds, r.moves, r.mu, r.sigma))
            return history

    def metrics(self, run_id: str, points: int = 400) -> list[dict[str, Any]]:
        """Returns metric rows with their play seconds, oldest first, thinned to about `points`."""
        with self._database.read() as session:
            total = session.scalar(
                select(func.count()).select_from(MetricsRow).where(MetricsRow.run_id == run_id)
            )
            stride = max(1, (total or 0) // points)
            rows = session.scalars(
                select(MetricsRow).where(MetricsRow.run_id == run_id).order_by(MetricsRow.id)
            )
            return [{"play_seconds": r.play_seconds, **r.data} for i, r in enumerate(rows) if i % stride == 0]
