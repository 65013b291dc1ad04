"""A league's state: read as of one moment, written change by change."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from sqlalchemy import ColumnElement, Row, delete, insert, select, update
from sqlalchemy.dialects import postgresql, sqlite
from sqlalchemy.orm import Session

from agents.acting.episode import Episode
from league.pool.records import (
    Changes,
    CommandRecord,
    EventRecord,
    PairRow,
    PlayerRecord,
    RunRecord,
    SeriesRow,
    Snapshot,
)
from league.store.models import (
    Base,
    CommandRow,
    EpisodeRow,
    EventRow,
    MetricsRow,
    PayoffRow,
    PlayerRow,
    RatingHistoryRow,
    RatingRow,
    RunRow,
    SeriesTable,
)
from league.store.repositories.runs import fence, find_run, run_record
from league.store.session import Database
from matchmaking.ratings.base import Rating

Seats = tuple[tuple[int, int, int], tuple[int, int, int]]
# Of a run; older ones make room.
KEPT_EPISODES = 500
_PLAYER_FIELDS = tuple(PlayerRecord.__dataclass_fields__)


class LeagueRepository:
    """Players, payoffs, ratings, series and events of one run."""

    def __init__(self, database: Database, run_id: str) -> None:
        self._database = database
        self._run_id = run_id

    def load(self) -> Snapshot:
        """Returns the league as of its last write. Raises: NotFoundError."""
        with self._database.read() as session:
            run = run_record(find_run(session, self._run_id))
            pairs = session.execute(select(*PAIR_COLUMNS).where(PayoffRow.run_id == self._run_id))
            r = RatingRow
            stored = select(r.system, r.player, r.mu, r.sigma, r.games).where(r.run_id == self._run_id)
            ratings: dict[str, dict[str, Rating]] = {}
            for system, player, mu, sigma, games in session.execute(stored):
                ratings.setdefault(system, {})[player] = Rating(mu, sigma, games)
            return Snapshot(
                run, read_players(session, self._run_id), [pair_record(p) for p in pairs], ratings
            )

    def load_roster(self) -> tuple[RunRecord, list[PlayerRecord]]:
        """Returns the run and whoever is in it but the snapshots: nobody before it is founded.

        Raises:
          NotFoundError.
        """
        with self._database.read() as session:
            run = run_record(find_run(session, self._run_id))
            return run, read_players(session, self._run_id, PlayerRow.role != "historical")

    def save(self, changes: Changes, token: int) -> None:
        """Writes changes, all or none. Absolute values: writing the same changes twice is writing them once.

        Raises:
          LeaseLostError: `token` is not the newest; nothing was written.
        """
        with self._database.write() as session:
            run = fence(session, self._run_id, token)
            now = self._database.now(session)
            run.play_seconds, run.moves, run.games = changes.play_seconds, changes.moves, changes.games
            run.next_series, run.updated_at = changes.next_series, now
            if changes.doing is not None:
                run.doing = changes.doing
            here: dict[str, Any] = {"run_id": self._run_id}
            players = [
                {**here, "created_at": now, **{f: getattr(p, f) for f in _PLAYER_FIELDS}}
                for p in changes.players
            ]
            self._upsert(session, PlayerRow, players, ("run_id", "name"), keep=("created_at",))
            for first, second in changes.cleared_pairs:
                session.execute(
                    delete(PayoffRow).where(
                        PayoffRow.run_id == self._run_id,
                        PayoffRow.first == first,
                        PayoffRow.second == second,
                    )
                )
            self._upsert(
                session,
                PayoffRow,
                [here | pair_values(p) for p in changes.pairs],
                ("run_id", "first", "second"),
            )
            self._upsert(
                session,
                SeriesTable,
                [here | {"at": now} | _series_values(s) for s in changes.series],
                ("run_id", "number", "pair"),
            )
            ratings = [
                here | {"player": p, "system": s, "mu": r.mu, "sigma": r.sigma, "games": r.games}
                for s, p, r in _flat(changes.ratings)
            ]
            self._upsert(session, RatingRow, ratings, ("run_id", "player", "system"))
            moment: dict[str, Any] = {"play_seconds": changes.play_seconds, "moves": changes.moves}
            history = [
                here
                | moment
                | {"player": p, "system": s, "mu": r.mu, "sigma": r.sigma, "steps": changes.steps.get(p, 0)}
                for s, p, r in _flat(changes.history)
            ]
            _insert(session, RatingHistoryRow, history)
            events = [
                here | {"at": now, "kind": e.kind, "player": e.player, "data": e.data, "actor": e.actor}
                for e in changes.events
            ]
            _insert(session, EventRow, events)
            self._save_wishes(session, run, changes, now)
            if changes.episodes:
                _insert(
                    session, EpisodeRow, [here | {"at": now} | _episode_values(e) for e in changes.episodes]
                )
                self._drop_old_episodes(session)
            if changes.metrics is not None:
                row = here | {"at": now, "play_seconds": changes.play_seconds, "data": changes.metrics}
                _insert(session, MetricsRow, [row])

    def wanted(self) -> tuple[int, list[CommandRecord]]:
        """Returns the config's revision and the commands nobody has carried out yet, oldest first."""
        with self._database.read() as session:
            c = CommandRow
            revision = session.scalar(select(RunRow.config_revision).where(RunRow.id == self._run_id))
            rows = session.scalars(
                select(c).where(c.run_id == self._run_id, c.state == "pending").order_by(c.id).limit(1000)
            )
            return int(revision or 0), [command_record(row) for row in rows]

    def config(self) -> dict[str, Any]:
        """Returns the run's config as it is now. Raises: NotFoundError."""
        with self._database.read() as session:
            return find_run(session, self._run_id).config

    def close(self) -> None:
        self._database.close()

    def add_event(self, event: EventRecord) -> None:
        """Appends one event; anybody may."""
        with self._database.write() as session:
            session.add(
                EventRow(
                    run_id=self._run_id,
                    at=self._database.now(session),
                    kind=event.kind,
                    player=event.player,
                    data=event.data,
                    actor=event.actor,
                )
            )

    def _save_wishes(self, session: Session, run: RunRow, changes: Changes, now: float) -> None:
        """Commands that have been carried out, and the roster they have grown."""
        for command in changes.commands:
            session.execute(
                update(CommandRow)
                .where(CommandRow.id == command.id, CommandRow.run_id == self._run_id)
                .values(state=command.state, error=command.error and command.error[:1000], done_at=now)
            )
        for entry in changes.entries:
            run.config = {**run.config, "players": [*run.config["players"], entry]}
            run.config_revision += 1

    def _drop_old_episodes(self, session: Session) -> None:
        e = EpisodeRow
        newest = (
            select(e.id).where(e.run_id == self._run_id).order_by(e.id.desc()).offset(KEPT_EPISODES).limit(1)
        )
        oldest_kept = session.scalar(newest)
        if oldest_kept is not None:
            session.execute(delete(e).where(e.run_id == self._run_id, e.id <= oldest_kept))

    def _upsert(
        self,
        session: Session,
        table: type[Base],
        rows: list[dict[str, Any]],
        keys: tuple[str, ...],
        keep: tuple[str, ...] = (),
    ) -> None:
        """Inserts rows or overwrites those with the same keys, all columns but `keep`."""
        if not rows:
            return
        dialect: Any = sqlite if self._database.dialect == "sqlite" else postgresql
        statement = dialect.insert(table)
        values = {c: statement.excluded[c] for c in rows[0] if c not in keys and c not in keep}
        session.execute(statement.on_conflict_do_update(index_elements=list(keys), set_=values), rows)


def read_run(session: Session, run_id: str) -> RunRecord:
    """Returns a run. Raises: NotFoundError."""
    return run_record(find_run(session, run_id))


def read_players(session: Session, run_id: str, *which: ColumnElement[bool]) -> list[PlayerRecord]:
    """Returns a run's players in the order they joined; those only of whom all of `which` holds."""
    columns = (getattr(PlayerRow, name) for name in _PLAYER_FIELDS)
    rows = session.execute(select(*columns).where(PlayerRow.run_id == run_id, *which).order_by(PlayerRow.id))
    return [player_record(row) for row in rows]


def player_record(row: PlayerRow | Row[Any]) -> PlayerRecord:
    """Returns a stored player."""
    fields = {f: getattr(row, f) for f in _PLAYER_FIELDS}
    return PlayerRecord(**{**fields, "tags": tuple(fields["tags"])})


def command_record(row: CommandRow) -> CommandRecord:
    """Returns a stored command."""
    return CommandRecord(row.id, row.kind, row.player, row.data, row.actor, row.state, row.error, row.at)


def _episode_values(episode: Episode) -> dict[str, Any]:
    return {
        "series": episode.series,
        "players": list(episode.players),
        "returns": list(episode.returns),
        "length": len(episode.moves),
        "moves": episode.moves,
    }


def _insert(session: Session, table: type[Base], rows: list[dict[str, Any]]) -> None:
    if rows:
        session.execute(insert(table), rows)


def _flat(ratings: dict[str, dict[str, Rating]]) -> Iterable[tuple[str, str, Rating]]:
    return ((system, player, r) for system, players in ratings.items() for player, r in players.items())


_COUNTS = ("wins", "draws", "losses")
PAIR_COLUMNS = tuple(
    PayoffRow.__table__.columns[name]
    for name in (
        *("first", "second", *_COUNTS, "margin", *(f"decayed_{n}" for n in (*_COUNTS, "margin"))),
        *(f"{name}_seat_{seat}" for seat in (0, 1) for name in _COUNTS),
    )
)


def pair_record(row: Row[Any]) -> PairRow:
    """Returns a stored pair from its `PAIR_COLUMNS`."""
    t: tuple[Any, ...] = tuple(row)
    return PairRow(t[0], t[1], t[2:6], t[6:10], (t[10:13], t[13:]))


def pair_values(pair: PairRow) -> dict[str, Any]:
    """Returns a pair as it is stored."""
    names = (*_COUNTS, "margin")
    return {
        "first": pair.first,
        "second": pair.second,
        **dict(zip(names, pair.raw, strict=True)),
        **{f"decayed_{n}": v for n, v in zip(names, pair.decayed, strict=True)},
        **_seat_values(pair.seats),
    }


def _seats(row: SeriesTable | Row[Any]) -> Seats:
    return (
        (row.wins_seat_0, row.draws_seat_0, row.losses_seat_0),
        (row.wins_seat_1, row.draws_seat_1, row.losses_seat_1),
    )


def _seat_values(seats: Seats) -> dict[str, int]:
    return {
        f"{name}_seat_{seat}": count
        for seat, counts in enumerate(seats)
        for name, count in zip(_COUNTS, counts, strict=True)
    }


def _series_values(series: SeriesRow) -> dict[str, Any]:
    names = ("number", "pair", "first", "second", "purpose", "branch", "margin", "moves")
    first_generation, second_generation = series.generations
    return {
        **{name: getattr(series, name) for name in names},
        "first_generation": first_generation,
        "second_generation": second_generation,
        **_seat_values((series.first_seat, series.second_seat)),
    }


def series_row(row: SeriesTable | Row[Any]) -> SeriesRow:
    """Returns a stored series."""
    generations = (row.first_generation, row.second_generation)
    return SeriesRow(
        row.number,
        row.first,
        row.second,
        generations,
        row.purpose,
        row.branch,
        *_seats(row),
        row.margin,
        row.moves,
        row.pair,
    )
