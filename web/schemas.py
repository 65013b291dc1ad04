"""What the API answers with."""

from __future__ import annotations

from typing import Any

from pydantic import BaseModel, Field

from league.services import Standing


class Run(BaseModel):
    """One league. Times are seconds since 1970."""

    id: str
    name: str
    game: str
    seed: int
    state: str = Field(description="pending, running, paused, finished or failed")
    desired_state: str
    created_at: float
    updated_at: float
    finished_at: float | None
    play_seconds: float
    moves: int
    games: int
    stop_reason: str | None
    mean_moves_per_second: float


class RunList(BaseModel):
    items: list[Run]


class Standings(BaseModel):
    run: Run
    standings: list[Standing]


class Payoffs(BaseModel):
    """`win_rates[i][j]` is what player i scored against j, −1 where they have not met.

    `low` and `high` are its 95% interval over all games played.
    """

    players: list[str]
    win_rates: list[list[float]]
    games: list[list[int]]
    low: list[list[float]]
    high: list[list[float]]


class RatingSeries(BaseModel):
    """A player's rating over time; `steps` are its own, `moves` the run's."""

    player: str
    play_seconds: list[float]
    moves: list[int]
    steps: list[int]
    mu: list[float]
    sigma: list[float]


class RatingHistory(BaseModel):
    system: str
    series: list[RatingSeries]


class Metrics(BaseModel):
    items: list[dict[str, Any]]


class Health(BaseModel):
    status: str
