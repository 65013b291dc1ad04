"""Players of a run, the commands that steer them, and what they would play."""

from __future__ import annotations

from typing import Any

from pydantic import BaseModel, ConfigDict, Field

from league.client.schemas.base import Name, Request, Role, RunId, Sha, Tags, Text
from league.pool.records import CommandRecord, PlayerRecord


class Player(BaseModel):
    """A member of a run's pool. `id` names it outside its run, `checkpoint` is the sha256 of its weights."""

    id: str = Field(examples=["1a2b3c4d:main.0"])
    run: str
    name: str
    label: str | None
    tags: list[str]
    role: str = Field(description="main, main_exploiter, league_exploiter, historical, anchor or guest")
    state: str = Field(description="learning, frozen or retired")
    parent: str | None
    bot: str | None
    checkpoint: str | None
    generation: int
    steps: int
    games: int
    wins: int
    draws: int
    losses: int

    @classmethod
    def of(cls, run_id: str, player: PlayerRecord) -> Player:
        return cls(**player_as_json(run_id, player))


def player_as_json(run_id: str, p: PlayerRecord) -> dict[str, Any]:
    """Returns a player as the API shows it."""
    return {
        "id": f"{run_id}:{p.name}",
        "run": run_id,
        "name": p.name,
        "label": p.label,
        "tags": list(p.tags),
        "role": p.role,
        "state": p.state,
        "parent": p.parent,
        "bot": p.bot,
        "checkpoint": p.checkpoint,
        "generation": p.generation,
        "steps": p.steps,
        "games": int(p.wins + p.draws + p.losses),
        "wins": int(p.wins),
        "draws": int(p.draws),
        "losses": int(p.losses),
    }


class PlayerList(BaseModel):
    items: list[Player]
    next_cursor: str | None = None


class PlayerSource(Request):
    """A player of this or another run."""

    run: RunId | None = Field(None, description="this run by default")
    player: Name


class AddPlayer(Request):
    """Somebody to join the pool as a guest; give exactly one of checkpoint, from, bot, url."""

    model_config = ConfigDict(populate_by_name=True, validate_by_alias=True)

    name: Name = Field(examples=["challenger"])
    checkpoint: Sha | None = Field(None, description="what POST /checkpoints answered")
    source: PlayerSource | None = Field(None, alias="from")
    bot: str | None = Field(None, max_length=100, description="random, mcts:N", examples=["mcts:50"])
    search: int | None = Field(
        None,
        ge=1,
        le=4096,
        description="with from or checkpoint: positions that the network looks at before each move, in games "
        "of perfect information",
    )
    url: str | None = Field(None, max_length=2000, description="of a remote policy, see docs/rest.md")
    label: Text | None = None
    tags: Tags = []


class EditPlayer(Request):
    """A name and tags for people; what is left out stays. The name of record cannot change."""

    label: Text | None = None
    tags: Tags | None = None


class Branch(Request):
    """A copy of a player: one that stays as it is, under a name, or one that goes on learning."""

    name: Name | None = Field(None, description="of a copy that stays as it is")
    learn: bool = False
    role: Role | None = Field(None, description="of one that learns; its source's by default")
    share: float | None = Field(None, gt=0, le=1000, description="of one that learns, of the training games")


class Rollback(Request):
    """Whose weights to go back to."""

    to: Name = Field(examples=["main.0.v3"])


class Command(BaseModel):
    """Something asked of a league. `state` is pending while a running league has not got to it yet."""

    id: int
    run: str
    kind: str
    player: str
    state: str
    error: str | None
    by: str
    at: float

    @classmethod
    def of(cls, run_id: str, c: CommandRecord) -> Command:
        return cls(
            id=c.id,
            run=run_id,
            kind=c.kind,
            player=c.player,
            state=c.state,
            error=c.error,
            by=c.actor,
            at=c.at,
        )


class CommandList(BaseModel):
    items: list[Command]
    next_cursor: str | None = None


class Standing(BaseModel):
    """One row of the standings; see the fields of `league.study.standings.Standing`."""

    rank: int
    player: str
    role: str
    state: str
    label: str | None
    tags: list[str]
    provisional: bool = Field(description="too few rated games for a rank to mean much")
    movement: int | None = Field(description="places won since an hour of play ago, or half-way through")
    trueskill_mu: float
    trueskill_sigma: float
    conservative: float = Field(description="TrueSkill's μ − 3σ")
    superiority: float | None = Field(description="chance of being better than the next, by TrueSkill")
    elo: float
    openskill: float
    bradley_terry: float | None
    bradley_terry_error: float | None
    nash: float | None
    alpha_rank: float | None
    score: float | None
    score_error: float | None
    games: int
    rated_games: int
    wins: int
    draws: int
    losses: int
    win_rate: float
    first_seat: float | None = Field(description="mean score in the first seat")
    second_seat: float | None
    steps: int
    parent: str | None
    generation: int
    created_at: float = Field(description="when it joined, seconds since 1970")


class Opponent(BaseModel):
    """What a player got against another."""

    opponent: str
    games: int
    wins: int
    draws: int
    losses: int
    score: float
    margin: float = Field(description="what it got more, halved, a game")


class HeadToHead(BaseModel):
    items: list[Opponent]


class RatingSeries(BaseModel):
    """A player's rating over time; `steps` are its own, `moves` the run's."""

    player: str
    play_seconds: list[float]
    moves: list[int]
    steps: list[int]
    mu: list[float]
    sigma: list[float]


class Mark(BaseModel):
    """Where a rating may jump: reset, resumed or restarted; of a player, or of the run."""

    kind: str
    player: str | None
    play_seconds: float


class RatingHistory(BaseModel):
    system: str
    series: list[RatingSeries]
    marks: list[Mark] = []


class Act(Request):
    """Observations to act on."""

    observation: list[Any] | dict[str, Any] = Field(
        description="the numbers of one observation, or rows of them; of a game that shows named arrays an "
        "object by name, or a list of such",
        examples=[[0.0] * 84],
    )
    legal: list[Any] | None = Field(
        None,
        description="the actions that may be played, or true or false for each; a row for each observation",
    )
    memory: list[Any] | None = Field(
        None,
        description="of a player with a memory: what it answered to the same seat's last observation, a row "
        "for each observation; none at an episode's begin",
    )
    temperature: float = Field(1.0, ge=0, le=100, description="1 as in training, 0 the best action always")
    details: bool = Field(False, description="also probabilities and values")


class Acted(BaseModel):
    """What to play, a number for each observation, or a vector where actions are continuous.

    `memory`: of a player with one, for the next time.
    """

    actions: list[int] | list[list[float]]
    memory: list[list[float]] | None = None
    values: list[float] | None = None
    probabilities: list[list[float]] | None = None
