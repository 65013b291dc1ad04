"""Series, games move by move, tournaments, events, and games against people."""

from __future__ import annotations

from typing import Annotated, Any, Literal

from pydantic import BaseModel, Field

from league.client.schemas.base import Name, Request
from league.pool.records import EpisodeRecord, MatchRecord, TournamentRecord


class Match(BaseModel):
    """A series between two players; counts are the first player's, in the first seat and in the second."""

    number: int
    pair: int = Field(description="of a series of many players: which two of them")
    first: str
    second: str
    purpose: str
    branch: str
    wins: int
    draws: int
    losses: int
    first_seat: list[int] = Field(description="wins, draws, losses")
    second_seat: list[int] = Field(description="wins, draws, losses")
    margin: float
    moves: int
    at: float

    @staticmethod
    def as_json(match: MatchRecord) -> dict[str, Any]:
        s, outcome = match.series, match.series.outcome
        return {
            "number": s.number,
            "pair": s.pair,
            "first": s.first,
            "second": s.second,
            "purpose": s.purpose,
            "branch": s.branch,
            "wins": outcome.wins,
            "draws": outcome.draws,
            "losses": outcome.losses,
            "first_seat": list(s.first_seat),
            "second_seat": list(s.second_seat),
            "margin": round(s.margin, 6),
            "moves": s.moves,
            "at": match.at,
        }


class MatchList(BaseModel):
    items: list[Match]
    next_cursor: str | None = None


class Episode(BaseModel):
    """A game that was written down; `players` and `returns` by seat."""

    id: int
    run: str
    series: int
    at: float
    players: list[str]
    returns: list[float]
    length: int

    @classmethod
    def of(cls, e: EpisodeRecord) -> Episode:
        return cls(
            id=e.id,
            run=e.run_id,
            series=e.series,
            at=e.at,
            players=e.players,
            returns=e.returns,
            length=e.length,
        )


class EpisodeList(BaseModel):
    items: list[Episode]
    next_cursor: str | None = None


class Replay(Episode):
    """The same move by move: seat, player, action, legal actions, their probabilities, value, observation."""

    moves: list[dict[str, Any]]

    @classmethod
    def of(cls, e: EpisodeRecord) -> Replay:
        return cls(**Episode.of(e).model_dump(), moves=e.moves or [])


class AskTournament(Request):
    """Games between players of a run, members or bots; `NAME@start` is a learner before it had learnt,
    `NAME@search:64` a player that looks at 64 positions before each move."""

    form: Literal["round-robin", "swiss", "gauntlet"] = "round-robin"
    players: Annotated[list[Name], Field(min_length=1, max_length=200, examples=[["main.0", "random"]])]
    opponents: Annotated[list[Name], Field(max_length=200, description="of a gauntlet")] = []
    rounds: int = Field(1, ge=1, le=100, description="of a Swiss")
    greedy: bool = Field(False, description="networks play their best action always")
    seed: int = Field(0, ge=0, lt=2**31)
    precision: float = Field(
        0.05, ge=0.001, le=0.5, description="a pair stops when its score's interval is ± this or less"
    )
    confidence: float = Field(0.95, ge=0.5, le=0.999)
    decide: bool = Field(False, description="a pair also stops when it is known who is better")
    max_games: int = Field(1000, ge=2, le=100_000, description="of a pair")


class Tournament(BaseModel):
    """`state`: pending, running, done, cancelled or failed; `results` as far as it has been played."""

    id: int
    run: str
    state: str
    by: str | None
    at: float
    games: int
    error: str | None
    rules: dict[str, Any]
    results: dict[str, Any]

    @classmethod
    def of(cls, t: TournamentRecord) -> Tournament:
        return cls(
            id=t.id, run=t.run_id, state=t.state, by=t.actor, at=t.at, games=t.games, error=t.error,
            rules=t.rules, results=t.results,
        )  # fmt: skip


class TournamentList(BaseModel):
    items: list[Tournament]
    next_cursor: str | None = None


class Event(BaseModel):
    """Something that happened in a run; `by` somebody, or by itself."""

    id: int
    kind: str
    player: str | None
    by: str | None
    at: float
    data: dict[str, Any]


class EventList(BaseModel):
    items: list[Event]
    next_cursor: str | None = None


class BeginPlay(Request):
    """A game against a player; `seat` is yours."""

    player: Name = Field(examples=["main.0"])
    name: str = Field(pattern=r"^[A-Za-z0-9][A-Za-z0-9._-]{0,39}$", description="yours", examples=["ada"])
    seat: int = Field(0, ge=0, le=1)
    rated: bool = Field(
        False, description="the result counts; then there are no hints and nothing is taken back"
    )


class MakeMove(Request):
    """Your move."""

    action: int = Field(ge=0, lt=2**62, examples=[3])


class Position(BaseModel):
    """A position: `cells` row by row where it is a grid, else text; `targets`: the cell of an action."""

    kind: str
    text: str
    rows: int
    columns: int
    cells: list[str]
    pieces: str
    turn: int | None
    targets: dict[str, int]
    names: dict[str, str]


class Play(BaseModel):
    """A game against a player as it stands. `you` is your name in the run, `result`: won, drawn or lost."""

    id: str
    run: str
    player: str
    you: str
    seat: int
    rated: bool
    moves: int
    over: bool
    your_turn: bool
    legal: list[int]
    names: dict[str, str]
    position: Position | None
    last: int | None
    result: str | None
    returns: list[float] | None


class Hint(BaseModel):
    """What the player would do in your place."""

    probabilities: dict[str, float]
    value: float | None
