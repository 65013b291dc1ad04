"""Runs, their standings and charts."""

from __future__ import annotations

from dataclasses import asdict
from typing import Any

from pydantic import BaseModel, Field, model_validator

from league.client.schemas.base import Request, Tags, Text
from league.client.schemas.players import Standing
from league.pool.records import RunRecord


def run_as_json(run: RunRecord) -> dict[str, Any]:
    """Returns a run as the API shows it: without its config and its lease."""
    data = asdict(run)
    for hidden in ("config", "config_revision", "lease_owner", "lease_token", "next_series"):
        del data[hidden]
    rate = run.moves / run.play_seconds if run.play_seconds > 0 else 0.0
    return {**data, "mean_moves_per_second": round(rate, 1)}


class Run(BaseModel):
    """One league."""

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
    tags: list[str]
    mean_moves_per_second: float

    @classmethod
    def of(cls, run: RunRecord) -> Run:
        return cls(**run_as_json(run))


class RunDetails(Run):
    """One league with its config."""

    config: dict[str, Any]

    @classmethod
    def of(cls, run: RunRecord) -> RunDetails:
        return cls(**run_as_json(run), config=run.config)


class RunList(BaseModel):
    items: list[Run]
    next_cursor: str | None = None


class LaunchRun(Request):
    """A run to launch: its config as an object or as YAML text, one of them."""

    config: dict[str, Any] | None = Field(
        None,
        examples=[{"game": "native:connect_four", "stop": {"minutes": 5}, "players": [{"role": "main"}]}],
    )
    yaml: str | None = Field(None, max_length=500_000)
    tags: Tags = []

    @model_validator(mode="after")
    def _one(self) -> LaunchRun:
        if (self.config is None) == (self.yaml is None):
            raise ValueError("give either config or yaml")
        return self


class CloneRun(Request):
    """Another run from this one's config."""

    name: Text | None = None
    config: dict[str, Any] = Field(
        {}, description="changes to the config, a JSON merge patch", examples=[{"seed": 1}]
    )


class EditRun(Request):
    """What shall be different; what is left out stays."""

    name: Text | None = None
    tags: Tags | None = None
    config: dict[str, Any] | None = Field(
        None,
        description="changes to the config, a JSON merge patch; `players` also by position",
        examples=[{"learner": {"entropy": {"start": 0.05, "end": 0.01}}, "rollout": {"workers": 2}}],
    )


class Standings(BaseModel):
    run: Run
    standings: list[Standing]
    next_cursor: str | None = None


class Payoffs(BaseModel):
    """`win_rates[i][j]` is what player i scored against j, −1 where they have not met.

    `low` and `high` are its 95% interval over all games played.
    """

    players: list[str]
    win_rates: list[list[float]]
    games: list[list[int]]
    low: list[list[float]]
    high: list[list[float]]


class Metrics(BaseModel):
    items: list[dict[str, Any]]


class AnchorSeries(BaseModel):
    """What a main scored against a fixed opponent in rating games, over the run."""

    player: str
    anchor: str
    play_seconds: list[float]
    scores: list[float]
    games: list[int]


class AnchorScores(BaseModel):
    items: list[AnchorSeries]


class Cycle(BaseModel):
    """Each of the three beats the next; `scores` are the first's against the second, and so on round."""

    players: list[str]
    scores: list[float]


class CycleList(BaseModel):
    items: list[Cycle]


class Playing(BaseModel):
    """Series of the same players that a worker plays at once."""

    players: list[str]
    purpose: str
    branch: str
    episodes: int


class Worker(BaseModel):
    """A rollout worker; `silent_seconds`: since its last report. `waiting`: for learners, of its time."""

    name: str
    silent_seconds: float
    moves_per_second: int
    waiting: float
    spent: dict[str, float] = Field(
        {}, description="shares of its time: env, inference, transfer, waiting; the rest keeps the books"
    )
    rows_per_forward: int = Field(0, description="observations that a network or bot is asked about at once")
    aborted: int = Field(description="episodes that broke down")
    series: int
    playing: list[Playing]


class LearnerProcess(BaseModel):
    """A process that learns, and whom it holds."""

    name: str
    silent_seconds: float
    steps_per_second: int
    spent: dict[str, float] = Field({}, description="shares of its time: learning, transfer, waiting")
    players: list[str]


class Doing(BaseModel):
    """What the run's processes were at when it last wrote."""

    workers: list[Worker] = []
    learners: list[LearnerProcess] = []
    report_seconds: float = Field(0.5, description="between two reports of a worker; longer where many are")
