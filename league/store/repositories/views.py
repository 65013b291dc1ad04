"""What pages and routers read: bounded queries, no game-by-game counting."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from sqlalchemy import Integer, Row, cast, func, select
from sqlalchemy.orm import Session

from league.pool.records import BranchCount, EventRecord, SeriesRow, Snapshot
from league.store.models import EventRow, MetricsRow, RatingHistoryRow, SeriesTable
from league.store.repositories.league_state import LeagueRepository, series_row
from league.store.repositories.runs import find_run
from league.store.session import Database


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
            return [_event(r) for r in rows]

    def latest_events(self, run_id: str, limit: int = 50) -> list[EventRecord]:
        """Returns the newest events, newest first."""
        with self._database.read() as session:
            rows = session.scalars(
                select(EventRow).where(EventRow.run_id == run_id).order_by(EventRow.id.desc()).limit(limit)
            )
            return [_event(r) for r in rows]

    def past_events(
        self,
        run_id: str,
        *,
        limit: int,
        before: int | None = None,
        kinds: tuple[str, ...] = (),
        player: str | None = None,
    ) -> list[EventRecord]:
        """Returns events with an id below `before`, newest first, of these kinds and this player."""
        e = EventRow
        query = select(*e.__table__.columns).where(e.run_id == run_id).order_by(e.id.desc()).limit(limit)
        if before is not None:
            query = query.where(e.id < before)
        if kinds:
            query = query.where(e.kind.in_(kinds))
        if player is not None:
            query = query.where(e.player == player)
        with self._database.read() as session:
            return [_event(row) for row in session.execute(query)]

    def rating_history(
        self, run_id: str, system: str, points: int = 400, players: Sequence[str] | None = None
    ) -> dict[str, list[tuple[float, ...]]]:
        """Returns (play seconds, moves, own steps, mu, sigma) by player, at about `points` moments."""
        with self._database.read() as session:
            row = RatingHistoryRow
            here = [row.run_id == run_id, row.system == system]
            if players is not None:
                here.append(row.player.in_(players))
            moments = session.scalars(
                select(row.play_seconds).where(*here).distinct().order_by(row.play_seconds)
            ).all()
            stride = max(1, -(-len(moments) // points))
            kept = {*moments[::stride], *moments[-1:]}
            history: dict[str, list[tuple[float, ...]]] = {}
            for r in session.scalars(select(row).where(*here, row.play_seconds.in_(kept)).order_by(row.id)):
                history.setdefault(r.player, []).append((r.play_seconds, r.moves, r.steps, r.mu, r.sigma))
            return history

    def ranks_at(self, run_id: str, play_seconds: float) -> dict[str, int]:
        """Returns each player's rank by TrueSkill's μ − 3σ as it was after so much play, from 1."""
        row = RatingHistoryRow
        here = (row.run_id == run_id, row.system == "trueskill")
        last = select(func.max(row.id)).where(*here, row.play_seconds <= play_seconds).group_by(row.player)
        query = (
            select(row.player).where(row.id.in_(last)).order_by((row.mu - 3 * row.sigma).desc(), row.player)
        )
        with self._database.read() as session:
            return {player: rank for rank, player in enumerate(session.scalars(query), start=1)}

    def rating_series(self, run_id: str) -> list[SeriesRow]:
        """Returns the rating series in the order in which they were drawn."""
        with self._database.read() as session:
            rows = session.scalars(
                select(SeriesTable)
                .where(SeriesTable.run_id == run_id, SeriesTable.purpose == "evaluation")
                .order_by(SeriesTable.number)
            )
            return [series_row(row) for row in rows]

    def branches(self, run_id: str) -> list[BranchCount]:
        """Returns what each player met by which branch, by name."""
        t = SeriesTable
        wins = func.sum(t.wins_seat_0 + t.wins_seat_1)
        draws = func.sum(t.draws_seat_0 + t.draws_seat_1)
        losses = func.sum(t.losses_seat_0 + t.losses_seat_1)
        key = (t.first, t.purpose, t.branch)
        with self._database.read() as session:
            rows = session.execute(
                select(*key, func.count(), wins, draws, losses)
                .where(t.run_id == run_id)
                .group_by(*key)
                .order_by(*key)
            )
            return [
                BranchCount(player, purpose, branch, n, int(w + d + x), (w + d / 2) / max(w + d + x, 1))
                for player, purpose, branch, n, w, d, x in rows
            ]

    def doing(self, run_id: str) -> dict[str, Any]:
        """Returns what a run's processes were at when it last wrote its metrics. Raises: NotFoundError."""
        with self._database.read() as session:
            return find_run(session, run_id).doing

    def scores_over_time(
        self, run_id: str, players: Sequence[str], anchors: Sequence[str], buckets: int = 80
    ) -> dict[tuple[str, str], list[tuple[float, float, int]]]:
        """Returns (play seconds, score, rating games) of each player against each anchor, oldest first."""
        t = SeriesTable
        sums = (
            func.sum(t.wins_seat_0 + t.wins_seat_1),
            func.sum(t.draws_seat_0 + t.draws_seat_1),
            func.sum(t.losses_seat_0 + t.losses_seat_1),
        )
        result: dict[tuple[str, str], dict[int, tuple[float, float]]] = {}
        with self._database.read() as session:
            run = find_run(session, run_id)
            begin = run.created_at
            width = max((run.updated_at - begin) / buckets, 1.0)
            bucket = cast(func.floor((t.at - begin) / width), Integer)
            for mine, theirs, sign in ((t.first, t.second, 1), (t.second, t.first, -1)):
                query = (
                    select(mine, theirs, bucket, *sums)
                    .where(t.run_id == run_id, t.purpose == "evaluation")
                    .where(mine.in_(players), theirs.in_(anchors))
                    .group_by(mine, theirs, bucket)
                )
                for player, anchor, k, wins, draws, losses in session.execute(query):
                    points = float(wins if sign > 0 else losses) + 0.5 * float(draws)
                    games = float(wins + draws + losses)
                    before = result.setdefault((player, anchor), {}).get(k, (0.0, 0.0))
                    result[player, anchor][k] = (before[0] + points, before[1] + games)
            played = _clock(session, run_id)
        return {
            pair: [
                (played(begin + (k + 0.5) * width), points / games, int(games))
                for k, (points, games) in sorted(parts.items())
                if games
            ]
            for pair, parts in sorted(result.items())
        }

    def marks(
        self, run_id: str, kinds: Sequence[str], limit: int = 200
    ) -> list[tuple[str, str | None, float]]:
        """Returns (kind, player, play seconds) of the newest events of these kinds, oldest first."""
        e = EventRow
        query = (
            select(e.kind, e.player, e.at)
            .where(e.run_id == run_id, e.kind.in_(kinds))
            .order_by(e.id.desc())
            .limit(limit)
        )
        with self._database.read() as session:
            played = _clock(session, run_id)
            return [(kind, player, played(at)) for kind, player, at in session.execute(query)][::-1]

    def metrics(self, run_id: str, points: int = 400) -> list[dict[str, Any]]:
        """Returns metric rows with their play seconds, oldest first, thinned to about `points`."""
        with self._database.read() as session:
            here = MetricsRow.run_id == run_id
            total = session.scalar(select(func.count()).select_from(MetricsRow).where(here)) or 0
            stride = max(1, -(-total // points))
            rows = session.scalars(
                select(MetricsRow).where(here, MetricsRow.id % stride == 0).order_by(MetricsRow.id)
            )
            return [_metrics(row) for row in rows]

    def latest_metrics(self, run_id: str) -> dict[str, Any] | None:
        """Returns the newest metric row, None when there is none yet."""
        with self._database.read() as session:
            row = session.scalars(
                select(MetricsRow).where(MetricsRow.run_id == run_id).order_by(MetricsRow.id.desc()).limit(1)
            ).first()
            return None if row is None else _metrics(row)


def _clock(session: Session, run_id: str) -> Callable[[float], float]:
    """Returns what turns a moment, seconds since 1970, into seconds of play."""
    m = MetricsRow
    rows = session.execute(select(m.at, m.play_seconds).where(m.run_id == run_id).order_by(m.id)).all()
    at, played = [row.at for row in rows], [row.play_seconds for row in rows]
    return lambda moment: float(np.interp(moment, at, played)) if at else 0.0


def _event(row: EventRow | Row[Any]) -> EventRecord:
    return EventRecord(row.kind, row.player, row.data, row.id, row.at, row.actor)


def _metrics(row: MetricsRow) -> dict[str, Any]:
    return {"at": row.at, "play_seconds": row.play_seconds, **row.data}
