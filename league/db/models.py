"""The tables."""

from __future__ import annotations

from typing import Any

from sqlalchemy import JSON, BigInteger, Float, ForeignKey, Index, Integer, String, UniqueConstraint
from sqlalchemy.orm import DeclarativeBase, Mapped, mapped_column

# SQLite numbers rows by itself only in a plain INTEGER key.
BigKey = BigInteger().with_variant(Integer, "sqlite")


class Base(DeclarativeBase):
    type_annotation_map = {dict[str, Any]: JSON, float: Float(53), int: BigInteger}  # noqa: RUF012


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
    steps: Mapped[int]
    snapshot_steps: Mapped[int]
    snapshots: Mapped[int]
    qualities: Mapped[dict[str, Any]] = mapped_column(server_default="{}")
    hyperparameters: Mapped[dict[str, Any]] = mapped_column(server_default="{}")
    inherited_steps: Mapped[int] = mapped_column(server_default="0")
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
    """Games asked for by somebody, kept apart from the league's own results."""

    __tablename__ = "tournaments"
    id: Mapped[int] = mapped_column(BigKey, primary_key=True, autoincrement=True)
    run_id: Mapped[str] = mapped_column(ForeignKey("runs.id", ondelete="CASCADE"))
    at: Mapped[float]
    rules: Mapped[dict[str, Any]]
    results: Mapped[dict[str, Any]]
    __table_args__ = (Index("ix_tournaments_run_id", "run_id", "id"),)
