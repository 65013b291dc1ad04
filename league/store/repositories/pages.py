"""Pages of what a run has: bounded by key, never by offset, nothing counted a request."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from sqlalchemy import ColumnElement, Row, and_, or_, select
from sqlalchemy.orm import Session

from league.errors import NotFoundError
from league.pool.records import EpisodeRecord, MatchRecord, PairRow, PlayerRecord, RunRecord
from league.store.models import EpisodeRow, PayoffRow, PlayerRow, RatingRow, SeriesTable
from league.store.repositories.league_state import (
    PAIR_COLUMNS,
    pair_record,
    player_record,
    read_run,
    series_row,
)
from league.store.repositories.runs import find_run
from league.store.session import Database
from matchmaking.ratings.base import Rating

# Beyond so many names a query names none and what is not wanted is left out afterwards.
MOST_NAMED = 5000


@dataclass(frozen=True)
class Pool:
    """A run's players and their ratings as of one moment, without who scored what against whom.

    `joined`: when each did, seconds since 1970.
    """

    run: RunRecord
    players: list[PlayerRecord]
    ratings: dict[str, dict[str, Rating]]
    joined: dict[str, float]


class LeaguePages:
    """Read-only questions that a list or a table asks."""

    def __init__(self, database: Database) -> None:
        self._database = database

    def pool(self, run_id: str) -> Pool:
        """Raises: NotFoundError."""
        with self._database.read() as session:
            run = read_run(session, run_id)
            columns = [c for c in PlayerRow.__table__.columns if c.name not in ("id", "run_id")]
            rows = session.execute(
                select(*columns).where(PlayerRow.run_id == run_id).order_by(PlayerRow.id)
            ).all()
            players = [_plain_player(row) for row in rows]
            joined = {row.name: row.created_at for row in rows}
            r = RatingRow
            ratings: dict[str, dict[str, Rating]] = {}
            for system, player, mu, sigma, games in session.execute(
                select(r.system, r.player, r.mu, r.sigma, r.games).where(r.run_id == run_id)
            ):
                ratings.setdefault(system, {})[player] = Rating(mu, sigma, games)
            return Pool(run, players, ratings, joined)

    def stamp(self, run_id: str) -> tuple[float, int]:
        """Returns what changes whenever anything of a run does. Raises: NotFoundError."""
        with self._database.read() as session:
            run = find_run(session, run_id)
            return run.updated_at, run.config_revision

    def player(self, run_id: str, name: str) -> PlayerRecord:
        """Raises: NotFoundError: no such run or player."""
        with self._database.read() as session:
            find_run(session, run_id)
            return player_record(_find_player(session, run_id, name))

    def game(self, run_id: str) -> str:
        """Returns the id of a run's game. Raises: NotFoundError."""
        with self._database.read() as session:
            return find_run(session, run_id).game

    def has_player(self, run_id: str, name: str) -> bool:
        """Whether a run knows somebody of this name."""
        p = PlayerRow
        with self._database.read() as session:
            return session.scalar(select(p.id).where(p.run_id == run_id, p.name == name)) is not None

    def players(
        self,
        run_id: str,
        *,
        limit: int,
        after: str | None = None,
        role: str | None = None,
        state: str | None = None,
        parent: str | None = None,
        text: str | None = None,
    ) -> list[PlayerRecord]:
        """Returns players in the order they joined, after one by name. Raises: NotFoundError."""
        p = PlayerRow
        with self._database.read() as session:
            find_run(session, run_id)
            query = select(*PlayerRow.__table__.columns).where(p.run_id == run_id)
            if after is not None:
                query = query.where(p.id > _find_player(session, run_id, after).id)
            for column, value in ((p.role, role), (p.state, state), (p.parent, parent)):
                if value is not None:
                    query = query.where(column == value)
            if text is not None:
                query = query.where(
                    or_(p.name.contains(text, autoescape=True), p.label.contains(text, autoescape=True))
                )
            # Columns, not objects: of a hundred rows the objects are most of the cost.
            return [player_record(row) for row in session.execute(query.order_by(p.id).limit(limit))]

    def pairs_of(self, run_id: str, player: str) -> list[PairRow]:
        """Returns a player's payoffs, seen from `first` of each. Raises: NotFoundError."""
        p = PayoffRow
        with self._database.read() as session:
            find_run(session, run_id)
            _find_player(session, run_id, player)
            rows = session.execute(
                select(*PAIR_COLUMNS).where(p.run_id == run_id, or_(p.first == player, p.second == player))
            )
            return [pair_record(row) for row in rows]

    def pairs_among(self, run_id: str, players: list[str]) -> list[PairRow]:
        """Returns the payoffs between these players."""
        p = PayoffRow
        with self._database.read() as session:
            here = p.run_id == run_id, p.first.in_(players), p.second.in_(players)
            return [pair_record(row) for row in session.execute(select(*PAIR_COLUMNS).where(*here))]

    def scores_among(self, run_id: str, players: list[str]) -> list[tuple[str, str, float, float]]:
        """Returns first, second, the first's score with decay, and games, of every pair that has met."""
        p = PayoffRow
        decayed = p.decayed_wins + p.decayed_draws + p.decayed_losses
        score = (p.decayed_wins + 0.5 * p.decayed_draws) / decayed
        query = select(p.first, p.second, score, p.wins + p.draws + p.losses)
        query = query.where(p.run_id == run_id, decayed > 0)
        if len(players) <= MOST_NAMED:
            query = query.where(p.first.in_(players), p.second.in_(players))
        with self._database.read() as session:
            return [tuple(row) for row in session.execute(query)]  # type: ignore[misc]

    def pair(self, run_id: str, one: str, other: str) -> PairRow | None:
        """Returns what two players got against each other, None when they have not met."""
        p = PayoffRow
        with self._database.read() as session:
            find_run(session, run_id)
            for name in (one, other):
                _find_player(session, run_id, name)
            names = [one, other]
            query = select(*PAIR_COLUMNS).where(
                p.run_id == run_id, p.first.in_(names), p.second.in_(names), p.first != p.second
            )
            row = session.execute(query).first()
            return None if row is None else pair_record(row)

    def matches(
        self,
        run_id: str,
        *,
        limit: int,
        before: tuple[float, int, int] | None = None,
        player: str | None = None,
        opponent: str | None = None,
        purpose: str | None = None,
        outcome: str | None = None,
        since: float | None = None,
        until: float | None = None,
    ) -> list[MatchRecord]:
        """Returns series, newest first.

        Args:
          before: moment, number and pair of the last of the page before.
          outcome: won, drawn or lost, from the player's side; needs `player`.
          since, until: seconds since 1970.

        Raises:
          NotFoundError: no such run.
        """
        t = SeriesTable
        with self._database.read() as session:
            find_run(session, run_id)
            here: list[ColumnElement[bool]] = [t.run_id == run_id]
            if before is not None:
                at, number, pair = before
                earlier = or_(t.number < number, and_(t.number == number, t.pair > pair))
                here += [t.at <= at, or_(t.at < at, earlier)]
            if until is not None:
                here.append(t.at < until)
            if since is not None:
                here.append(t.at >= since)
            if purpose is not None:
                here.append(t.purpose == purpose)
            won, lost = t.wins_seat_0 + t.wins_seat_1, t.losses_seat_0 + t.losses_seat_1
            sides: list[list[ColumnElement[bool]]] = [[]]
            if player is not None:
                first, second = [t.first == player], [t.second == player]
                if opponent is not None:
                    first.append(t.second == opponent)
                    second.append(t.first == opponent)
                if outcome is not None:
                    first.append({"won": won > lost, "lost": won < lost, "drawn": won == lost}[outcome])
                    second.append({"won": won < lost, "lost": won > lost, "drawn": won == lost}[outcome])
                second.append(t.first != t.second)
                sides = [first, second]
            order = (t.at.desc(), t.number.desc(), t.pair)
            # One index each, and the newest of both: an OR would sort everything a player has played.
            rows = [
                row
                for conditions in sides
                for row in session.execute(
                    select(*t.__table__.columns).where(*here, *conditions).order_by(*order).limit(limit)
                )
            ]
            rows.sort(key=lambda row: (-row.at, -row.number, row.pair))
            return [MatchRecord(series_row(row), row.at) for row in rows[:limit]]

    def episodes(
        self, run_id: str, *, limit: int, before: int | None = None, player: str | None = None
    ) -> list[EpisodeRecord]:
        """Returns kept games without their moves, newest first. Raises: NotFoundError."""
        e = EpisodeRow
        columns = (e.id, e.run_id, e.at, e.series, e.players, e.returns, e.length)
        with self._database.read() as session:
            find_run(session, run_id)
            query = select(*columns).where(e.run_id == run_id).order_by(e.id.desc())
            if before is not None:
                query = query.where(e.id < before)
            rows = session.execute(
                query if player is not None else query.limit(limit)
            )  # 500 are kept at most
            result = [_heading(row) for row in rows if player is None or player in row.players]
            return result[:limit]

    def episode(self, run_id: str, episode_id: int) -> EpisodeRecord:
        """Raises: NotFoundError."""
        with self._database.read() as session:
            find_run(session, run_id)
            row = session.get(EpisodeRow, episode_id)
            if row is None or row.run_id != run_id:
                raise NotFoundError(f"no episode {episode_id} in run {run_id}; old ones make room for new")
            return EpisodeRecord(
                row.id, run_id, row.at, row.series, row.players, row.returns, row.length, row.moves
            )


def _find_player(session: Session, run_id: str, name: str) -> PlayerRow:
    p = PlayerRow
    row = session.scalars(select(p).where(p.run_id == run_id, p.name == name)).first()
    if row is None:
        raise NotFoundError(f"no player {name!r} in run {run_id}")
    return row


def _heading(row: Row[Any]) -> EpisodeRecord:
    return EpisodeRecord(**dict(row._mapping), moves=None)


def _plain_player(row: Row[Any]) -> PlayerRecord:
    fields = dict(row._mapping)
    del fields["created_at"]
    return PlayerRecord(**{**fields, "tags": tuple(fields["tags"])})
