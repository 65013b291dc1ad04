"""The tables."""

from __future__ import annotations

from typing import Any

from sqlalchemy import (
    JSON,
    BigInteger,
    Float,
    ForeignKey,
    Index,
    Integer,
    LargeBinary,
    String,
    Text,
    UniqueConstraint,
)
from sqlalchemy.orm import DeclarativeBase, Mapped, mapped_column

# SQLite numbers rows by itself only in a plain INTEGER key.
BigKey = BigInteger().with_variant(Integer, "sqlite")


class Base(DeclarativeBase):
    type_annotation_map = {  # noqa: RUF012
        dict[str, Any]: JSON,
        list[str]: JSON,
        list[Any]: JSON,
        float: Float(53),
        int: BigInteger,
        bytes: LargeBinary,
    }


class RunRow(Base):
    __tablename__ = "runs"
    id: Mapped[str] = mapped_column(String(32), primary_key=True)
    name: Mapped[str] = mapped_column(String(100))
    game: Mapped[str] = mapped_column(String(200))
    seed: Mapped[int]
    config: Mapped[dict[str, Any]]
    state: Mapped[str] = mapped_column(String(16))
    desired_state: Mapped[str] = mapped_column(String(16))
    created_at: Mapped[float]
    updated_at: Mapped[float]
    finished_at: Mapped[float | None]
    play_seconds: Mapped[float] = mapped_column(default=0.0)
    moves: Mapped[int] = mapped_column(default=0)
    games: Mapped[int] = mapped_column(default=0)
    next_series: Mapped[int] = mapped_column(default=0)
    stop_reason: Mapped[str | None] = mapped_column(String(1000))
    lease_owner: Mapped[str | None] = mapped_column(String(200))
    lease_token: Mapped[int] = mapped_column(default=0)
    lease_expires_at: Mapped[float | None]
    tags: Mapped[list[str]] = mapped_column(server_default="[]")
    config_revision: Mapped[int] = mapped_column(server_default="0")
    # Long in a large league, and of no interest to who writes: read only when it is asked for.
    doing: Mapped[dict[str, Any]] = mapped_column(server_default="{}", deferred=True)


class PlayerRow(Base):
    __tablename__ = "players"
    id: Mapped[int] = mapped_column(BigKey, primary_key=True, autoincrement=True)
    run_id: Mapped[str] = mapped_column(ForeignKey("runs.id", ondelete="CASCADE"))
    name: Mapped[str] = mapped_column(String(100))
    role: Mapped[str] = mapped_column(String(32))
    state: Mapped[str] = mapped_column(String(16))
    parent: Mapped[str | None] = mapped_column(String(100))
    parent_role: Mapped[str | None] = mapped_column(String(32))
    generation: Mapped[int]
    bot: Mapped[str | None] = mapped_column(String(100))
    checkpoint: Mapped[str | None] = mapped_column(String(64))
    initial_checkpoint: Mapped[str | None] = mapped_column(String(64))
    learner_state: Mapped[str | None] = mapped_column(String(64))
    previous_state: Mapped[str | None] = mapped_column(String(64))
    steps: Mapped[int]
    snapshot_steps: Mapped[int]
    snapshots: Mapped[int]
    qualities: Mapped[dict[str, Any]] = mapped_column(server_default="{}")
    hyperparameters: Mapped[dict[str, Any]] = mapped_column(server_default="{}")
    inherited_steps: Mapped[int] = mapped_column(server_default="0")
    label: Mapped[str | None] = mapped_column(String(100))
    tags: Mapped[list[str]] = mapped_column(server_default="[]")
    wins: Mapped[float] = mapped_column(server_default="0")
    draws: Mapped[float] = mapped_column(server_default="0")
    losses: Mapped[float] = mapped_column(server_default="0")
    first_seat: Mapped[float | None]
    second_seat: Mapped[float | None]
    created_at: Mapped[float]
    __table_args__ = (UniqueConstraint("run_id", "name"),)


class PayoffRow(Base):
    """A pair's games, kept up to date: adding up a million series a request takes 1.6 s."""

    __tablename__ = "payoffs"
    run_id: Mapped[str] = mapped_column(ForeignKey("runs.id", ondelete="CASCADE"), primary_key=True)
    first: Mapped[str] = mapped_column(String(100), primary_key=True)
    second: Mapped[str] = mapped_column(String(100), primary_key=True)
    wins: Mapped[float]
    draws: Mapped[float]
    losses: Mapped[float]
    decayed_wins: Mapped[float]
    decayed_draws: Mapped[float]
    decayed_losses: Mapped[float]
    margin: Mapped[float] = mapped_column(server_default="0")
    decayed_margin: Mapped[float] = mapped_column(server_default="0")
    wins_seat_0: Mapped[int] = mapped_column(server_default="0")
    draws_seat_0: Mapped[int] = mapped_column(server_default="0")
    losses_seat_0: Mapped[int] = mapped_column(server_default="0")
    wins_seat_1: Mapped[int] = mapped_column(server_default="0")
    draws_seat_1: Mapped[int] = mapped_column(server_default="0")
    losses_seat_1: Mapped[int] = mapped_column(server_default="0")


class SeriesTable(Base):
    __tablename__ = "series"
    run_id: Mapped[str] = mapped_column(ForeignKey("runs.id", ondelete="CASCADE"), primary_key=True)
    number: Mapped[int] = mapped_column(primary_key=True)
    pair: Mapped[int] = mapped_column(primary_key=True, server_default="0")
    first: Mapped[str] = mapped_column(String(100))
    second: Mapped[str] = mapped_column(String(100))
    first_generation: Mapped[int] = mapped_column(server_default="-1")
    second_generation: Mapped[int] = mapped_column(server_default="-1")
    purpose: Mapped[str] = mapped_column(String(16))
    branch: Mapped[str] = mapped_column(String(32))
    wins_seat_0: Mapped[int]
    draws_seat_0: Mapped[int]
    losses_seat_0: Mapped[int]
    wins_seat_1: Mapped[int]
    draws_seat_1: Mapped[int]
    losses_seat_1: Mapped[int]
    margin: Mapped[float] = mapped_column(server_default="0")
    moves: Mapped[int]
    at: Mapped[float]
    __table_args__ = (
        Index("ix_series_at", "run_id", "at", "number"),
        Index("ix_series_first", "run_id", "first", "at", "number"),
        Index("ix_series_second", "run_id", "second", "at", "number"),
    )


class RatingRow(Base):
    __tablename__ = "ratings"
    run_id: Mapped[str] = mapped_column(ForeignKey("runs.id", ondelete="CASCADE"), primary_key=True)
    player: Mapped[str] = mapped_column(String(100), primary_key=True)
    system: Mapped[str] = mapped_column(String(32), primary_key=True)
    mu: Mapped[float]
    sigma: Mapped[float]
    games: Mapped[int]


class RatingHistoryRow(Base):
    __tablename__ = "rating_history"
    id: Mapped[int] = mapped_column(BigKey, primary_key=True, autoincrement=True)
    run_id: Mapped[str] = mapped_column(ForeignKey("runs.id", ondelete="CASCADE"))
    player: Mapped[str] = mapped_column(String(100))
    system: Mapped[str] = mapped_column(String(32))
    mu: Mapped[float]
    sigma: Mapped[float]
    play_seconds: Mapped[float]
    moves: Mapped[int]
    steps: Mapped[int] = mapped_column(server_default="0")
    __table_args__ = (Index("ix_rating_history_run_system", "run_id", "system", "id"),)


class EventRow(Base):
    __tablename__ = "events"
    id: Mapped[int] = mapped_column(BigKey, primary_key=True, autoincrement=True)
    run_id: Mapped[str] = mapped_column(ForeignKey("runs.id", ondelete="CASCADE"))
    at: Mapped[float]
    kind: Mapped[str] = mapped_column(String(32))
    player: Mapped[str | None] = mapped_column(String(100))
    data: Mapped[dict[str, Any]]
    actor: Mapped[str | None] = mapped_column(String(100))
    __table_args__ = (Index("ix_events_run_id", "run_id", "id"),)


class MetricsRow(Base):
    __tablename__ = "metrics"
    id: Mapped[int] = mapped_column(BigKey, primary_key=True, autoincrement=True)
    run_id: Mapped[str] = mapped_column(ForeignKey("runs.id", ondelete="CASCADE"))
    at: Mapped[float]
    play_seconds: Mapped[float]
    data: Mapped[dict[str, Any]]
    __table_args__ = (Index("ix_metrics_run_id", "run_id", "id"),)


class TournamentRow(Base):
    """Games asked for by somebody, kept apart from the league's own results.

    `state`: pending, running, done, cancelled or failed. Whoever plays it keeps `heartbeat_at` going.
    """

    __tablename__ = "tournaments"
    id: Mapped[int] = mapped_column(BigKey, primary_key=True, autoincrement=True)
    run_id: Mapped[str] = mapped_column(ForeignKey("runs.id", ondelete="CASCADE"))
    at: Mapped[float]
    rules: Mapped[dict[str, Any]]
    results: Mapped[dict[str, Any]]
    state: Mapped[str] = mapped_column(String(16), server_default="done")
    actor: Mapped[str | None] = mapped_column(String(100))
    games: Mapped[int] = mapped_column(server_default="0")
    error: Mapped[str | None] = mapped_column(String(1000))
    attempts: Mapped[int] = mapped_column(server_default="0")
    claim: Mapped[str | None] = mapped_column(String(32))
    heartbeat_at: Mapped[float | None]
    __table_args__ = (Index("ix_tournaments_run_id", "run_id", "id"), Index("ix_tournaments_state", "state"))


class CommandRow(Base):
    """What somebody wants of a league that another process owns; `state`: pending, done or failed."""

    __tablename__ = "commands"
    id: Mapped[int] = mapped_column(BigKey, primary_key=True, autoincrement=True)
    run_id: Mapped[str] = mapped_column(ForeignKey("runs.id", ondelete="CASCADE"))
    at: Mapped[float]
    actor: Mapped[str] = mapped_column(String(100))
    kind: Mapped[str] = mapped_column(String(32))
    player: Mapped[str] = mapped_column(String(100))
    data: Mapped[dict[str, Any]]
    state: Mapped[str] = mapped_column(String(16))
    error: Mapped[str | None] = mapped_column(String(1000))
    done_at: Mapped[float | None]
    __table_args__ = (Index("ix_commands_run_id", "run_id", "state", "id"),)


class EpisodeRow(Base):
    """One game as it was played, move by move."""

    __tablename__ = "episodes"
    id: Mapped[int] = mapped_column(BigKey, primary_key=True, autoincrement=True)
    run_id: Mapped[str] = mapped_column(ForeignKey("runs.id", ondelete="CASCADE"))
    at: Mapped[float]
    series: Mapped[int]
    players: Mapped[list[str]]
    returns: Mapped[list[Any]]
    length: Mapped[int]
    moves: Mapped[list[Any]]
    __table_args__ = (Index("ix_episodes_run_id", "run_id", "id"),)


class PlayRow(Base):
    """A game between a person and a player; `state`: playing or over."""

    __tablename__ = "plays"
    id: Mapped[str] = mapped_column(String(16), primary_key=True)
    run_id: Mapped[str] = mapped_column(ForeignKey("runs.id", ondelete="CASCADE"))
    at: Mapped[float]
    actor: Mapped[str] = mapped_column(String(100))
    player: Mapped[str] = mapped_column(String(100))
    bot: Mapped[str | None] = mapped_column(String(2000))
    checkpoint: Mapped[str | None] = mapped_column(String(64))
    human: Mapped[str] = mapped_column(String(100))
    seat: Mapped[int]
    seed: Mapped[int]
    rated: Mapped[int]
    state: Mapped[str] = mapped_column(String(16))
    actions: Mapped[list[Any]]
    seats: Mapped[list[Any]]
    returns: Mapped[list[Any] | None] = mapped_column(JSON(none_as_null=True))
    __table_args__ = (Index("ix_plays_run_id", "run_id", "at"),)


class TokenRow(Base):
    """An access token; only its sha256 is kept."""

    __tablename__ = "tokens"
    id: Mapped[str] = mapped_column(String(16), primary_key=True)
    name: Mapped[str] = mapped_column(String(100))
    hash: Mapped[str] = mapped_column(String(64))
    scope: Mapped[str] = mapped_column(String(16))
    created_at: Mapped[float]
    created_by: Mapped[str] = mapped_column(String(100))
    expires_at: Mapped[float | None]
    revoked_at: Mapped[float | None]
    last_used_at: Mapped[float | None]


class AuditRow(Base):
    """Who did what by the control plane, also to runs that are gone; append-only."""

    __tablename__ = "audit"
    id: Mapped[int] = mapped_column(BigKey, primary_key=True, autoincrement=True)
    at: Mapped[float]
    actor: Mapped[str] = mapped_column(String(100))
    action: Mapped[str] = mapped_column(String(100))
    target: Mapped[str] = mapped_column(String(300))
    data: Mapped[dict[str, Any]]


class UploadRow(Base):
    """A checkpoint that somebody has brought, so that it is not taken for rubbish."""

    __tablename__ = "uploads"
    sha: Mapped[str] = mapped_column(String(64), primary_key=True)
    at: Mapped[float]
    actor: Mapped[str] = mapped_column(String(100))
    kind: Mapped[str] = mapped_column(String(16))
    size: Mapped[int]


class IdempotencyRow(Base):
    """The answer to a POST, for when it is sent again."""

    __tablename__ = "idempotency"
    key: Mapped[str] = mapped_column(String(255), primary_key=True)
    actor: Mapped[str] = mapped_column(String(100), primary_key=True)
    request: Mapped[str] = mapped_column(String(64))
    at: Mapped[float]
    status: Mapped[int | None]
    headers: Mapped[dict[str, Any]]
    body: Mapped[bytes | None]


class WebhookRow(Base):
    """Where events are sent; `last_event` is the last that arrived."""

    __tablename__ = "webhooks"
    id: Mapped[str] = mapped_column(String(16), primary_key=True)
    url: Mapped[str] = mapped_column(String(2000))
    secret: Mapped[str] = mapped_column(Text)
    kinds: Mapped[list[str]]
    run_id: Mapped[str | None] = mapped_column(ForeignKey("runs.id", ondelete="CASCADE"))
    created_at: Mapped[float]
    created_by: Mapped[str] = mapped_column(String(100))
    last_event: Mapped[int]
    failures: Mapped[int] = mapped_column(server_default="0")
    next_try_at: Mapped[float] = mapped_column(server_default="0")
    last_error: Mapped[str | None] = mapped_column(String(1000))
    delivered: Mapped[int] = mapped_column(server_default="0")


class SecretRow(Base):
    """A server secret, made at first need, such as the key that signs cookies."""

    __tablename__ = "secrets"
    name: Mapped[str] = mapped_column(String(32), primary_key=True)
    value: Mapped[str] = mapped_column(Text)
