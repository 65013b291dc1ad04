"""What the store keeps, as frozen objects; rows never leave the repositories."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, Literal

import numpy as np

from agents.acting.episode import Episode
from matchmaking.payoff import PairResult, PayoffMatrix
from matchmaking.ratings.base import Rating, SeriesOutcome
from matchmaking.records import Player, Role, State

RunState = Literal["pending", "running", "paused", "finished", "failed"]
DesiredState = Literal["running", "paused", "stopped"]
# The "bot" of a person: in the record like anybody, but never matched.
HUMAN = "human"


@dataclass(frozen=True)
class RunRecord:
    """One league. Times are seconds since 1970 by the database's clock; `play_seconds` leaves pauses out."""

    id: str
    name: str
    game: str
    seed: int
    config: dict[str, Any]
    state: RunState
    desired_state: DesiredState
    created_at: float
    updated_at: float
    finished_at: float | None
    play_seconds: float
    moves: int
    games: int
    next_series: int
    stop_reason: str | None
    lease_owner: str | None
    lease_token: int
    tags: tuple[str, ...] = ()
    config_revision: int = 0


@dataclass(frozen=True)
class PlayerRecord:
    """A member of the pool, with what is needed to play it and to go on learning.

    Attributes:
      bot: the id of an anchor's bot. checkpoint: sha256 of a frozen player's weights.
      initial_checkpoint: what a learning player is reset to.
      learner_state: sha256 of its full learning state at `steps`. previous_state: of the one before, for when
        that one turns out to be damaged.
      steps: decisions learnt from, all generations. snapshot_steps: the same at its last snapshot or reset.
      snapshots: how many it has left in the pool.
      qualities: of its past selves, where its role keeps them (OpenAI Five).
      hyperparameters: factors on its config's values, where its population keeps them.
      inherited_steps: its steps when it last went on as another's copy.
      label, tags: for people; the name is what everything else knows it by.
      wins, draws, losses: against everybody; kept by the store beside the payoff they are the sum of.
      first_seat, second_seat: the mean score there, likewise; None before the first game in that seat.
    """

    name: str
    role: Role
    state: State
    parent: str | None = None
    parent_role: Role | None = None
    generation: int = 0
    bot: str | None = None
    checkpoint: str | None = None
    initial_checkpoint: str | None = None
    learner_state: str | None = None
    previous_state: str | None = None
    steps: int = 0
    snapshot_steps: int = 0
    snapshots: int = 0
    qualities: dict[str, float] = field(default_factory=dict)
    hyperparameters: dict[str, float] = field(default_factory=dict)
    inherited_steps: int = 0
    label: str | None = None
    tags: tuple[str, ...] = ()
    wins: float = 0.0
    draws: float = 0.0
    losses: float = 0.0
    first_seat: float | None = None
    second_seat: float | None = None

    def for_matching(self) -> Player:
        """Returns the facts that match-making reads."""
        return Player(self.name, self.role, self.state, self.parent, self.parent_role, self.generation)


@dataclass(frozen=True)
class PairRow:
    """One pair of the payoff, from `first`'s side.

    `raw`, `decayed`: wins, draws, losses, margin. `seats`: wins, draws, losses in the first seat, the second.
    """

    first: str
    second: str
    raw: tuple[float, float, float, float]
    decayed: tuple[float, float, float, float]
    seats: tuple[tuple[int, int, int], tuple[int, int, int]]


@dataclass(frozen=True)
class SeriesRow:
    """A finished series; counts are (won, drawn, lost) of the first player in seat 0 and in seat 1.

    `generations`: the players' resets when they played it. `margin`: see `PairRecord`; of somebody who played
    alone, the returns summed. `pair`: which of the series' pairs of players this is of.
    """

    number: int
    first: str
    second: str
    generations: tuple[int, int]
    purpose: str
    branch: str
    first_seat: tuple[int, int, int]
    second_seat: tuple[int, int, int]
    margin: float
    moves: int
    pair: int = 0

    @property
    def outcome(self) -> SeriesOutcome:
        """Both seats together, from the first player's side."""
        return SeriesOutcome(*(a + b for a, b in zip(self.first_seat, self.second_seat, strict=True)))

    @property
    def result(self) -> PairResult:
        """What the payoff takes in."""
        return PairResult(self.first, self.second, (self.first_seat, self.second_seat), self.margin)


@dataclass(frozen=True)
class BranchCount:
    """How often a player met somebody by one branch of its rule, and its mean score there."""

    player: str
    purpose: str
    branch: str
    series: int
    games: int
    score: float


@dataclass(frozen=True)
class EventRecord:
    """Something that happened, for the feed. `actor`: who wanted it, None for the league itself."""

    kind: str
    player: str | None = None
    data: dict[str, Any] = field(default_factory=dict)
    id: int = 0
    at: float = 0.0
    actor: str | None = None


@dataclass(frozen=True)
class CommandRecord:
    """What somebody wants of a league's players. `state`: pending, done or failed, then with `error`."""

    id: int
    kind: str
    player: str
    data: dict[str, Any]
    actor: str
    state: str = "pending"
    error: str | None = None
    at: float = 0.0


@dataclass(frozen=True)
class Snapshot:
    """A league as of one committed moment, to go on from."""

    run: RunRecord
    players: list[PlayerRecord]
    pairs: list[PairRow]
    ratings: dict[str, dict[str, Rating]]

    def payoff(self, decay: float = 1.0) -> PayoffMatrix:
        """Returns who scored what against whom; `decay` is of the games still to come."""
        count = len(self.pairs)
        return PayoffMatrix.from_stored(
            [(p.first, p.second) for p in self.pairs],
            np.array([p.raw for p in self.pairs], np.float64).reshape(count, 4),
            np.array([p.decayed for p in self.pairs], np.float64).reshape(count, 4),
            np.array([p.seats for p in self.pairs], np.float64).reshape(count, 2, 3),
            decay,
        )


@dataclass(frozen=True)
class Changes:
    """Everything that changed since the last write; written in one transaction or not at all.

    Attributes:
      ratings, history: by system, then player; history is also appended to the record.
      steps: of the players whose ratings changed.
      metrics: one row for the charts, or None.
      doing: what the processes of the run are at, as JSON; None: as before.
      commands: those carried out or refused.
      entries: of the roster, appended to the config: the players that began to learn by command.
      episodes: games kept move by move.
    """

    play_seconds: float
    moves: int
    games: int
    next_series: int
    players: list[PlayerRecord]
    pairs: list[PairRow]
    cleared_pairs: list[tuple[str, str]]
    series: list[SeriesRow]
    ratings: dict[str, dict[str, Rating]]
    history: dict[str, dict[str, Rating]]
    steps: dict[str, int]
    events: list[EventRecord]
    metrics: dict[str, Any] | None
    commands: list[CommandRecord] = field(default_factory=list)
    entries: list[dict[str, Any]] = field(default_factory=list)
    episodes: list[Episode] = field(default_factory=list)
    doing: dict[str, Any] | None = None


@dataclass(frozen=True)
class EpisodeRecord:
    """A stored game, see `agents.acting.episode.Episode`. `moves`: None of a heading alone."""

    id: int
    run_id: str
    at: float
    series: int
    players: list[str]
    returns: list[float]
    length: int
    moves: list[dict[str, Any]] | None


@dataclass(frozen=True)
class TournamentRecord:
    """A tournament: its rules and, as far as it has been played, what came of it, as JSON.

    `state`: pending, running, done, cancelled or failed.
    """

    id: int
    run_id: str
    at: float
    rules: dict[str, Any]
    results: dict[str, Any]
    state: str = "done"
    actor: str | None = None
    games: int = 0
    error: str | None = None


@dataclass(frozen=True)
class MatchRecord:
    """A stored series with its moment."""

    series: SeriesRow
    at: float


@dataclass(frozen=True)
class TokenRecord:
    """An access token as it may be shown: everything but itself."""

    id: str
    name: str
    scope: str
    created_at: float
    created_by: str
    expires_at: float | None
    revoked_at: float | None
    last_used_at: float | None


@dataclass(frozen=True)
class AuditRecord:
    """What somebody did by the control plane."""

    id: int
    at: float
    actor: str
    action: str
    target: str
    data: dict[str, Any]


@dataclass(frozen=True)
class WebhookRecord:
    """Where events are sent: `kinds` empty means all, `run_id` None all runs."""

    id: str
    url: str
    kinds: tuple[str, ...]
    run_id: str | None
    created_at: float
    created_by: str
    last_event: int
    failures: int
    next_try_at: float
    last_error: str | None
    delivered: int
