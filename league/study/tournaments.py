"""Tournaments between a run's players: played on demand, kept apart from the league's own results."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass, field
from typing import Any, Literal

import envs
from agents.acting.policy import Policy
from agents.errors import UnknownBotError
from agents.processor import resolve_precision
from league.config.explain import nearest
from league.config.run import RunConfig
from league.errors import NotFoundError
from league.pool.records import PlayerRecord, Snapshot
from league.store.checkpoints import CheckpointStore
from league.store.policies import SEARCH, load_policy
from league.study.arena import AHEAD, EPISODES, Arena
from matchmaking.ordering import best_first
from matchmaking.payoff import PayoffMatrix
from matchmaking.rankings import rank
from matchmaking.sequential import StopRule
from matchmaking.sides import Sides
from matchmaking.tournament import Format, Gauntlet, MatchScore, RoundRobin, Swiss

# After a learning player's name: as it was before it had learnt anything.
AT_START, SEARCHING = "@start", "@search:"
MOST_GAMES_AT_ONCE = 2048


@dataclass(frozen=True)
class TournamentRules:
    """What is played.

    Attributes:
      players: members of the run, or bots by id; `main.0@start` is main.0 before it had learnt anything,
        `main.0@search:64` is main.0 looking at 64 positions before each move.
      opponents: of a gauntlet.
      rounds: of a Swiss tournament.
      greedy: networks play their best action always; else they draw from their policy, as in training.
      stop: when a pair has played enough.
    """

    form: Literal["round-robin", "swiss", "gauntlet"]
    players: tuple[str, ...]
    opponents: tuple[str, ...] = ()
    rounds: int = 1
    greedy: bool = False
    seed: int = 0
    stop: StopRule = field(default_factory=StopRule)

    def build(self) -> Format:
        """Raises: MatchmakingError: it cannot be played with these players."""
        if self.form == "gauntlet":
            return Gauntlet(self.players, self.opponents)
        return Swiss(self.players, self.rounds) if self.form == "swiss" else RoundRobin(self.players)


@dataclass(frozen=True)
class PairScore:
    """One pair's games, from the first player's side.

    `seats`: wins, draws, losses in the first seat, in the second. `low`, `high`: where its score lies, at the
    tournament's confidence however often it was looked at. `margin`: mean of what it got more, halved.
    """

    first: str
    second: str
    wins: int
    draws: int
    losses: int
    seats: tuple[tuple[int, ...], ...]
    score: float
    low: float
    high: float
    margin: float


@dataclass(frozen=True)
class Place:
    """A player in the order of strength; `rating` in Elo points above the anchor, by Bradley-Terry."""

    player: str
    rating: float
    error: float
    points: float
    games: int


@dataclass(frozen=True)
class TournamentResults:
    """What came of it.

    Attributes:
      pairs: in the order in which they met. ranking: strongest first.
      anchor: whose rating is 0; without one the mean is.
      complete: it was not broken off.
      cooperative: nobody played against anybody; the ranking's `rating` is the mean score.
    """

    pairs: tuple[PairScore, ...]
    ranking: tuple[Place, ...]
    anchor: str | None
    games: int
    complete: bool
    cooperative: bool = False

    def to_json(self) -> dict[str, Any]:
        return asdict(self)


def play(
    league: Snapshot,
    store: CheckpointStore,
    rules: TournamentRules,
    *,
    keep_on: Callable[[int], bool] = lambda _: True,
) -> TournamentResults:
    """Plays a tournament.

    Args:
      keep_on: asked at every move, told how many games have been played; False breaks off.

    Raises:
      MatchmakingError: the rules do not fit the players.
      NotFoundError: a player is neither in the run nor a bot.
      CheckpointError: a player's weights are missing or damaged.
    """
    form = rules.build()
    config = RunConfig.from_data(league.run.config, source=f"run {league.run.id}")
    policies = _policies(league, store, config, form.players, rules.seed)
    sides = _sides(league, config, form.players)
    if sides.count == 1:
        return _scores(config, policies, sides, rules, keep_on)
    payoff, rounds, complete = PayoffMatrix(), list[list[MatchScore]](), True
    arena: Arena | None = None

    while complete and (pairs := form.next_round(rounds)):
        if arena is None:
            arena = Arena(
                config.game,
                policies,
                sides=sides,
                num_envs=min(config.rollout.num_envs, MOST_GAMES_AT_ONCE, AHEAD * EPISODES * len(pairs)),
                temperature=0.0 if rules.greedy else 1.0,
                seed=rules.seed,
            )
        complete = arena.play(pairs, payoff, rules.stop.is_enough, rules.stop.max_games, keep_on)
        rounds.append([MatchScore(*pair, rules.stop.points(payoff.raw(*pair))) for pair in pairs])
    if arena is not None:
        arena.close()
    return _results(form, payoff, rounds, rules.stop, config.anchors, complete)


def _scores(
    config: RunConfig,
    policies: dict[str, Policy],
    sides: Sides,
    rules: TournamentRules,
    keep_on: Callable[[int], bool],
) -> TournamentResults:
    """In a game without opponents everybody plays alone, until the error is `precision` of the spread."""
    games = min(rules.stop.max_games, math.ceil(rules.stop.precision**-2))
    arena = Arena(
        config.game,
        policies,
        sides=sides,
        num_envs=min(config.rollout.num_envs, MOST_GAMES_AT_ONCE, games * len(policies)),
        temperature=0.0 if rules.greedy else 1.0,
        seed=rules.seed,
    )
    scores, complete = arena.scores(list(policies), games, keep_on)
    arena.close()
    played = {name: score for name, score in scores.items() if score.games}
    ranking = tuple(
        Place(name, score.mu, score.sigma, 0.0, score.games)
        for name, score in best_first(played.items(), lambda item: item[1].mu)
    )
    return TournamentResults((), ranking, None, arena.games, complete, cooperative=True)


def _sides(league: Snapshot, config: RunConfig, names: Sequence[str]) -> Sides:
    limited = config.limited_sides()
    for player in league.players:
        if player.parent in limited:
            limited[player.name] = limited[player.parent]
    for name in names:
        if (plain := plain_name(name)) in limited:
            limited[name] = limited[plain]
    return Sides(config.num_sides(), limited)


def plain_name(name: str) -> str:
    """Returns whom a name means, without `@start` or `@search:N`."""
    return name.removesuffix(AT_START).partition(SEARCHING)[0]


def _policies(
    league: Snapshot, store: CheckpointStore, config: RunConfig, names: Sequence[str], seed: int
) -> dict[str, Policy]:
    members = {p.name: p for p in league.players}
    spec, dtype = envs.make(config.game, 1).spec, resolve_precision(config.learner.precision)
    policies = {}
    for k, name in enumerate(names):
        member = members.get(plain_name(name)) or PlayerRecord(name, "anchor", "frozen", bot=name)
        checkpoint = member.learner_state if member.state == "learning" else member.checkpoint
        if name.endswith(AT_START) and member.initial_checkpoint is not None:
            checkpoint = member.initial_checkpoint
        try:
            policies[name] = load_policy(
                store, spec, bot=_bot_of(name, member), checkpoint=checkpoint, seed=seed + k, dtype=dtype
            )
        except UnknownBotError as error:
            if name in members:
                raise
            raise NotFoundError(
                f"no player {name!r}{nearest(name, members)} in run {league.run.id}; as a bot: {error}"
            ) from error
    return policies


def _bot_of(name: str, member: PlayerRecord) -> str | None:
    simulations = name.partition(SEARCHING)[2]
    return f"{SEARCH}:{simulations}" if simulations and member.bot is None else member.bot


def _results(
    form: Format,
    payoff: PayoffMatrix,
    rounds: Sequence[Sequence[MatchScore]],
    stop: StopRule,
    anchors: Sequence[str],
    complete: bool,
) -> TournamentResults:
    met = [(m.first, m.second) for matches in rounds for m in matches if payoff.games(m.first, m.second)]
    scores = []
    for first, second in met:
        record, seats = payoff.raw(first, second), payoff.by_seat(first, second).astype(int).tolist()
        low, high = stop.interval(record)
        scores.append(
            PairScore(
                first,
                second,
                int(record.wins),
                int(record.draws),
                int(record.losses),
                tuple(tuple(row) for row in seats),
                (record.wins + 0.5 * record.draws) / record.games,
                low,
                high,
                record.margin / record.games,
            )
        )
    points = form.points(rounds)
    played = [name for name in form.players if payoff.total(name).games]
    anchor = next((a for a in ("random", *anchors) if a in played), None)
    ranked = rank(payoff, played, anchor)
    ranking = tuple(
        Place(name, r.rating, r.standard_error, points[name], int(payoff.total(name).games))
        for name, r in zip(ranked.names, ranked.ratings, strict=True)
    )
    games = sum(int(payoff.games(*pair)) for pair in met)
    return TournamentResults(tuple(scores), ranking, anchor, games, complete)


def parse_rules(data: dict[str, Any]) -> TournamentRules:
    """Returns rules from their JSON, as `asdict` gives them. Raises: MatchmakingError: out of bounds."""
    fields = dict(data)
    stop = StopRule(**fields.pop("stop", {}))
    for name in ("players", "opponents"):
        fields[name] = tuple(fields.get(name, ()))
    return TournamentRules(**fields, stop=stop)


def results_of(data: dict[str, Any]) -> TournamentResults:
    """Returns results from their JSON, as `to_json` gives them."""
    pairs = tuple(PairScore(**{**p, "seats": tuple(map(tuple, p["seats"]))}) for p in data["pairs"])
    return TournamentResults(
        **{**data, "pairs": pairs, "ranking": tuple(Place(**p) for p in data["ranking"])}
    )
