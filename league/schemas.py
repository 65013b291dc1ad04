"""What the REST API takes and answers with, for the server and its client. Times are seconds since 1970."""

from __future__ import annotations

from typing import Annotated, Any, Literal

from pydantic import BaseModel, ConfigDict, Field, StringConstraints, model_validator

from league.records import (
    CommandRecord,
    EpisodeRecord,
    MatchRecord,
    PlayerRecord,
    RunRecord,
    TournamentRecord,
    WebhookRecord,
)
from league.services import run_as_json

RUN_ID = r"^[A-Za-z0-9_-]{1,32}$"
PLAYER_NAME = r"^[A-Za-z0-9][A-Za-z0-9._@:+-]{0,99}$"
Name = Annotated[str, StringConstraints(pattern=PLAYER_NAME)]
RunId = Annotated[str, StringConstraints(pattern=RUN_ID)]
Text = Annotated[str, StringConstraints(min_length=1, max_length=100, pattern=r"^[^\x00-\x1f\x7f]*$")]
Tag = Annotated[str, StringConstraints(pattern=r"^[A-Za-z0-9_][A-Za-z0-9_ .:/+-]{0,49}$")]
Tags = Annotated[list[Tag], Field(max_length=20, examples=[["baseline"]])]
Sha = Annotated[str, StringConstraints(pattern=r"^[0-9a-f]{64}$")]
Role = Literal["main", "main_exploiter", "league_exploiter"]
System = Literal["trueskill", "elo", "openskill", "bradley_terry", "nash", "alpha_rank", "score"]


class Request(BaseModel):
    """A request's body. Unknown keys are errors, not silence."""

    model_config = ConfigDict(extra="forbid", allow_inf_nan=False, strict=True)


class Fault(BaseModel):
    """One part of a request that is wrong."""

    where: str
    what: str


class Problem(BaseModel):
    """What went wrong (RFC 9457)."""

    type: str = Field(examples=["/problems/not-found"], description="stable; see docs/rest.md")
    title: str = Field(examples=["Not Found"])
    status: int = Field(examples=[404])
    detail: str = Field(examples=["no run 'nope'; `league runs` lists them"])
    errors: list[Fault] = Field(default=[], description="of an invalid request, part by part")


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
    """One row of the standings; see the fields of league.services.Standing."""

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
    """Games between players of a run, members or bots; `NAME@start` is a learner before it had learnt."""

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


class Act(Request):
    """Observations to act on."""

    observation: list[Any] = Field(
        description="the numbers of one observation, or rows of them", examples=[[0.0] * 84]
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
    """What to play, a number for each observation. `memory`: of a player with one, for the next time."""

    actions: list[int]
    memory: list[list[float]] | None = None
    values: list[float] | None = None
    probabilities: list[list[float]] | None = None


class Checkpoint(BaseModel):
    """Uploaded weights. `kind`: safetensors, onnx or torchscript."""

    sha256: str
    kind: str
    bytes: int
    summary: dict[str, Any]


class CreateToken(Request):
    """An access token to make."""

    name: Text = Field(examples=["ci"])
    scope: Literal["read", "operate", "admin"]
    expires: str | None = Field(
        None, pattern=r"^[1-9]\d{0,5}[smhdw]$", description="from now; never by default", examples=["30d"]
    )


class Token(BaseModel):
    """An access token: everything but itself."""

    id: str
    name: str
    scope: str
    created_at: float
    created_by: str
    expires_at: float | None
    revoked_at: float | None
    last_used_at: float | None


class NewToken(Token):
    """A token just made: `token` is shown this once."""

    token: str


class TokenList(BaseModel):
    items: list[Token]


class Audited(BaseModel):
    """Something that somebody did by the control plane."""

    id: int
    at: float
    by: str
    action: str
    target: str
    data: dict[str, Any]


class AuditList(BaseModel):
    items: list[Audited]
    next_cursor: str | None = None


class AddWebhook(Request):
    """Where to send events."""

    url: str = Field(max_length=2000, examples=["https://example.org/hooks/league"])
    kinds: Annotated[
        list[Annotated[str, StringConstraints(pattern=r"^[a-z_]{1,32}$")]], Field(max_length=50)
    ] = Field(default=[], description="which events; all by default", examples=[["snapshot", "retired"]])
    run: RunId | None = Field(None, description="only this run's")


class Webhook(BaseModel):
    """A receiver of events; `last_error` says why the last try failed."""

    id: str
    url: str
    kinds: list[str]
    run: str | None
    created_at: float
    created_by: str
    delivered: int
    failures: int
    last_error: str | None

    @classmethod
    def of(cls, w: WebhookRecord) -> Webhook:
        return cls(
            id=w.id, url=w.url, kinds=list(w.kinds), run=w.run_id, created_at=w.created_at,
            created_by=w.created_by, delivered=w.delivered, failures=w.failures, last_error=w.last_error,
        )  # fmt: skip


class NewWebhook(Webhook):
    """A webhook just made: `secret` is shown this once."""

    secret: str


class WebhookList(BaseModel):
    items: list[Webhook]


class GameList(BaseModel):
    items: list[str]


class Game(BaseModel):
    """What a game is like; `sides` names the seats of each team."""

    game_id: str
    seats: int
    sides: list[list[str]]
    observation: list[int]
    dtype: str
    actions: list[int]
    turns: str
    zero_sum: bool
    outcome: str


class Health(BaseModel):
    status: str


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


class CheckedConfig(BaseModel):
    """A config that would do: its game, and who would be in the pool at the beginning."""

    game: str
    players: list[str]
