"""The league manager: carries the rules' decisions out on the pool.

Every decision (whom to play, when to snapshot, when to reset, what a result does to a rating) is taken by
`matchmaking`; here they are applied to the players, the payoff and the ratings of one run, and what
changed is handed out as `Changes`. No Ray, no SQL, no clock: time and progress are told.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import combinations
from typing import Any

import numpy as np

from agents.seating import PairOutcome, Series, SeriesResult
from league.config import PlayerConfig, RunConfig
from league.records import Changes, EventRecord, PairRow, PlayerRecord, SeriesRow, Snapshot
from matchmaking.errors import DuplicateResultError, ResultError
from matchmaking.evaluation import TRIES, RatedPlayer, RatedPool
from matchmaking.rankings import rank
from matchmaking.ratings.base import Rating, RatingSystem, SeriesOutcome
from matchmaking.ratings.elo import Elo
from matchmaking.ratings.openskill import OpenSkill
from matchmaking.ratings.score import UNKNOWN, Score
from matchmaking.ratings.trueskill import TrueSkill
from matchmaking.roles import Mixture, RoleRule, snapshot_due
from matchmaking.roster import Context, Memo, Roster
from matchmaking.sides import Sides

# Rankings of the whole pool, kept like ratings; the equilibrium and α-Rank are of its best players.
FITTED = ("bradley_terry", "nash", "alpha_rank")
META_LIMIT = 100


@dataclass(frozen=True)
class SnapshotOrder:
    """What a learner shall do: copy itself under a name, and perhaps start over as `next_generation`."""

    player: str
    snapshot: str
    generation: int
    next_generation: int

    @property
    def resets(self) -> bool:
        return self.next_generation != self.generation


@dataclass(frozen=True)
class TakeoverOrder:
    """What a learner shall do: go on as a copy of another's stored state, with these hyper-parameters.

    `state`: sha256 of the source's learning state.
    """

    player: str
    source: str
    state: str
    next_generation: int
    hyperparameters: dict[str, float]


Order = SnapshotOrder | TakeoverOrder


@dataclass(frozen=True)
class LearnerProgress:
    """Where a learning player is, its state safely stored.

    `steps`: decisions learnt from in all generations. `state`: sha256 of its full learning state.
    """

    player: str
    generation: int
    steps: int
    state: str


class LeagueManager:
    """One run's pool, in memory; the repository keeps what it hands out.

    Attributes:
      players: by name, in the order they joined.
      payoff: who scored what against whom.
    """

    def __init__(self, config: RunConfig, snapshot: Snapshot) -> None:
        """Args: snapshot: the league as last written; a new run has no players yet: see `found`."""
        self.config = config
        self.players = {p.name: p for p in snapshot.players}
        self.payoff = snapshot.payoff(config.payoff.decay)
        self._entries: dict[str, PlayerConfig] = config.roster()
        limited = config.limited_sides()
        for player in snapshot.players:
            if player.parent in limited:
                limited[player.name] = limited[player.parent]
        self._sides = Sides(config.num_sides(), limited)
        # A game of many is counted as games of two; each is worth less.
        pairs_of_one = max(1, self._sides.count - 1)
        self.systems: list[RatingSystem] = [
            TrueSkill(tau=config.ratings.trueskill_tau, draw_probability=config.ratings.draw_probability),
            Elo(k=config.ratings.elo_k / pairs_of_one),
            OpenSkill(tau=config.ratings.trueskill_tau),
        ]
        self._score = Score() if self._sides.count == 1 else None
        systems = [*(s.name for s in self.systems), *FITTED, *(["score"] if self._score else [])]
        self._ratings = {name: dict(snapshot.ratings.get(name, {})) for name in systems}
        self._rules: dict[str, RoleRule] = {name: entry.rule() for name, entry in self._entries.items()}
        self._populations = {n: e.population.build() for n, e in self._entries.items() if e.population}
        self._evaluation = config.evaluation.build()
        self._next_series = snapshot.run.next_series
        self._rng = np.random.default_rng([config.seed, self._next_series])
        self._leased: dict[int, Series] = {}
        self._scheduled = dict.fromkeys(self._entries, 0.0)
        self._roster = Roster()
        # For each side whom one can meet there; the same for all where everybody can play every side.
        every = range(self._sides.count)
        self._opposite = [Roster() for _ in every] if limited else [self._roster for _ in every]
        for player in snapshot.players:
            self._note_member(player)
        self._rated = RatedPool()
        self._memos: dict[tuple[str, int], Memo] = {}
        self._orders: dict[str, Order] = {}
        self._verified: set[tuple[str, str]] = set()
        self._dirty_players: dict[str, None] = {}
        self._dirty_pairs: dict[tuple[str, str], None] = {}
        self._cleared_pairs: dict[tuple[str, str], None] = {}
        self._dirty_ratings: dict[str, None] = {}
        self._unrecorded: dict[str, None] = {}
        self._series_rows: list[SeriesRow] = []
        self._events: list[EventRecord] = []
        for player in snapshot.players:
            self._note_rated(player.name)

    def found(self, initial: dict[str, str], states: dict[str, str]) -> None:
        """Writes the first players into an empty league.

        Args:
          initial: sha256 of each learning player's first weights. states: of its first learning state.
        """
        first = self.config.first_hyperparameters()
        for name, entry in self._entries.items():
            self._put(
                PlayerRecord(
                    name,
                    entry.role,
                    "learning",
                    initial_checkpoint=initial[name],
                    learner_state=states[name],
                    hyperparameters=first[name],
                )
            )
            self._rate_anew(name)
        for bot in self.config.anchors:
            self.add(PlayerRecord(bot, "anchor", "frozen", bot=bot))
        self._event("run_started", players=len(self.players))

    def add(self, player: PlayerRecord) -> None:
        """Takes a player into the pool, rated like anybody nobody has seen."""
        self._put(player)
        self._rate_anew(player.name)

    def adopt(self, snapshot: PlayerRecord) -> None:
        """The same for a snapshot that one of the learners has left behind."""
        self.add(snapshot)
        parent = self.players[snapshot.parent or ""]
        self._share_sides(snapshot.name, parent.name)
        self._put(replace(parent, snapshots=parent.snapshots + 1))

    @property
    def learners(self) -> list[PlayerRecord]:
        return [p for p in self.players.values() if p.state == "learning"]

    def rating(self, player: str, system: str = "trueskill") -> Rating:
        return self._ratings[system][player]

    def next_training_series(self, episodes: int) -> list[Series]:
        """Draws series until `episodes` are planned, learning players served by their shares."""
        planned, drawn = 0, []
        while planned < episodes:
            me = min(self._scheduled, key=lambda n: self._scheduled[n] / self._entries[n].share)
            n = self.config.rollout.episodes_per_series
            side = self._sides.draw(me, self._rng)
            others = [k for k in range(self._sides.count) if k != side]
            matches = [self._rules[me].match(self._context(me, k)) for k in others]
            # Against itself a player learns from every seat.
            learners = (True, *(match.opponent == me for match in matches))
            branch = matches[0].branch if matches else "cooperation"
            players = (me, *(match.opponent for match in matches))
            drawn.append(self._lease(players, learners, n, "training", branch, (side, *others)))
            self._scheduled[me] += n * sum(learners)
            planned += n
        floor = min(self._scheduled[n] / self._entries[n].share for n in self._scheduled)
        for name in self._scheduled:  # keeps the numbers small over weeks
            self._scheduled[name] -= floor * self._entries[name].share
        return drawn

    def next_evaluation_series(self, episodes: int) -> list[Series]:
        """Draws series for the ratings until `episodes` are planned; they teach nobody."""
        planned, drawn = 0, []
        while planned < episodes:
            players = self._rated_players()
            sides = None if players is None else self._sides.seat(players)
            if players is None or sides is None:
                break
            n = self.config.evaluation.episodes
            learners = (False,) * len(players)
            drawn.append(self._lease(players, learners, n, "evaluation", "rating", sides))
            planned += n
        return drawn

    def series_among(self, players: Sequence[str], episodes: int) -> list[Series]:
        """Draws a rating series for each pair of these players."""
        return [
            self._lease(pair, (False, False), episodes, "evaluation", "round_robin", (0, 1))
            for pair in combinations(players, 2)
        ]

    def is_recorded(self, result: SeriesResult) -> bool:
        """Whether a result has been taken in before: a report that came twice."""
        number = result.series.number
        return number < self._next_series and number not in self._leased

    def record(self, results: list[SeriesResult]) -> None:
        """Takes results in: payoffs always, ratings from evaluation.

        A series of a player that has been reset since is kept in the record and moves nothing: it was
        played by somebody who is no more.

        Raises:
          DuplicateResultError: a series is reported a second time.
          ResultError: a series was never drawn, for these players, or its counts cannot be. Of the results
            none was taken in.
        """
        self._require_leased(results)
        for result in results:
            series = self._leased.pop(result.series.number)
            if len(series.players) == 1:
                self._take_in_score(result)
            for pair, outcome in enumerate(result.pairs()):
                self._take_in(series, pair, outcome, result.moves if pair == 0 else 0)

    def _take_in(self, series: Series, pair: int, outcome: PairOutcome, moves: int) -> None:
        """Takes in what one player of a series got against another."""
        first, second = series.players[outcome.first], series.players[outcome.second]
        generations = (series.generations[outcome.first], series.generations[outcome.second])
        in_first, in_second = (tuple(row) for row in outcome.counts.tolist())
        row = (generations, series.purpose, series.branch, in_first, in_second, outcome.margin, moves, pair)
        self._series_rows.append(SeriesRow(series.number, first, second, *row))
        if first == second or generations != tuple(self.players[p].generation for p in (first, second)):
            return
        wins, draws, losses = outcome.wins, outcome.draws, outcome.losses
        if wins + draws + losses == 0:  # every episode broke down
            return
        self.payoff.record(first, second, wins, draws, losses, margin=outcome.margin, seats=outcome.counts)
        self._dirty_pairs[min(first, second), max(first, second)] = None
        if series.purpose == "training":
            self._update_qualities(first, second, wins)
        else:
            self._rate(first, second, SeriesOutcome(wins, draws, losses))

    def _take_in_score(self, result: SeriesResult) -> None:
        """Takes in what somebody got who played every seat."""
        series = result.series
        (name,), (generation,) = series.players, series.generations
        total, squares = float(result.scores[0]), float(result.squares[0])
        counts = (0, result.episodes, 0), (0, 0, 0)
        row = ((generation,) * 2, series.purpose, series.branch, *counts, total, result.moves)
        self._series_rows.append(SeriesRow(series.number, name, name, *row))
        rated = series.purpose != "training" and generation == self.players[name].generation
        if self._score and rated and result.episodes:
            moves, table = self.players[name].state == "learning", self._ratings["score"]
            table[name] = self._score.rate(table[name], total, squares, result.episodes, moves=moves)
            self._mark_rating(name)

    def learners_progressed(self, progress: list[LearnerProgress]) -> list[Order]:
        """Takes in where the learners are and returns what they shall do now."""
        for p in progress:
            player = self.players[p.player]
            if p.generation == player.generation:
                self._put(replace(player, steps=p.steps, learner_state=p.state))
        orders: list[Order] = []
        for name, rule in self._rules.items():
            player = self.players[name]
            if name in self._orders or player.state != "learning":
                continue
            since = player.steps - player.snapshot_steps
            win_rate = self._entries[name].snapshot.win_rate
            others = [k for k in range(self._sides.count) if k != self._sides.of(name)[0]]
            roster = self._opposite[others[0]] if others else self._roster
            if snapshot_due(rule, name, since, roster, self.payoff, win_rate):
                generation = player.generation + (1 if rule.resets(self._rng) else 0)
                order: Order = SnapshotOrder(
                    name, f"{name}.v{player.snapshots + 1}", player.generation, generation
                )
            elif (takeover := self._takeover(player)) is not None:
                order = takeover
            else:
                continue
            self._orders[name] = order
            orders.append(order)
        return orders

    def snapshot_taken(self, order: SnapshotOrder, checkpoint: str, steps: int, state: str) -> None:
        """Adds the snapshot to the pool and, if the learner started over, forgets what it was.

        Args:
          checkpoint: sha256 of the copy. steps: the learner's, when it was taken.
          state: sha256 of the learner's state after the order.
        """
        if self._orders.pop(order.player, None) is None:
            return
        parent = self.players[order.player]
        self._share_sides(order.snapshot, parent.name)
        self._put(
            PlayerRecord(
                order.snapshot,
                "historical",
                "frozen",
                parent=parent.name,
                parent_role=parent.role,
                checkpoint=checkpoint,
                steps=steps,
            )
        )
        if self._score:
            self._ratings["score"][order.snapshot] = self._score.initial()
        for system in self.systems:
            # The copy is exactly as strong as its parent; only the parent's rating may lag behind it.
            mine, fresh = self._ratings[system.name][parent.name], system.initial()
            self._ratings[system.name][order.snapshot] = Rating(mine.mu, max(mine.sigma, fresh.sigma / 3))
        self._mark_rating(order.snapshot)
        self._event("snapshot", order.snapshot, parent=parent.name, steps=steps)
        self._put(
            replace(
                parent,
                generation=order.next_generation,
                steps=steps,
                snapshot_steps=steps,
                snapshots=parent.snapshots + 1,
                learner_state=state,
                qualities={} if order.resets else parent.qualities,
            )
        )
        self._verified = {(p, branch) for p, branch in self._verified if p != parent.name}
        if order.resets:
            self._forget(parent.name)
            self._event("reset", parent.name, generation=order.next_generation)

    def taken_over(self, order: TakeoverOrder, steps: int, state: str | None) -> None:
        """Notes that a learner goes on as a copy of another.

        Args:
          steps: the learner's own, as ever. state: sha256 of its state after the order, None when the
            source's state was gone; then everything stays as it was.
        """
        if self._orders.pop(order.player, None) is None or state is None:
            return
        self._put(
            replace(
                self.players[order.player],
                generation=order.next_generation,
                steps=steps,
                learner_state=state,
                hyperparameters=order.hyperparameters,
                inherited_steps=steps,
            )
        )
        self._forget(order.player)
        for system in self.systems:  # it is exactly as strong as its source
            mine = self._ratings[system.name][order.source]
            self._ratings[system.name][order.player] = Rating(mine.mu, mine.sigma)
        self._mark_rating(order.player)
        self._event("inherited", order.player, source=order.source, **order.hyperparameters)

    def survey(self) -> None:
        """Ranks the pool as a whole: Bradley-Terry, equilibrium, α-Rank, as ratings like any other."""
        names = [p.name for p in self.players.values() if p.state != "retired"]
        anchor = next((a for a in ("random", *self.config.anchors) if a in self.players), None)
        moving = {p.name for p in self.learners}
        ranked = rank(self.payoff, names, anchor, moving, META_LIMIT)
        fitted = {
            name: Rating(r.rating, r.standard_error)
            for name, r in zip(ranked.names, ranked.ratings, strict=True)
        }
        self._ratings["bradley_terry"] = fitted
        for system, shares in (("nash", ranked.nash), ("alpha_rank", ranked.alpha_rank)):
            self._ratings[system] = {
                name: Rating(float(shares[k]) if k < len(shares) else 0.0)
                for k, name in enumerate(ranked.names)
            }
        for name in names:
            self._dirty_ratings[name] = self._unrecorded[name] = None

    def note(self, kind: str, player: str | None = None, **data: Any) -> None:
        """Adds an event to what will be written."""
        self._event(kind, player, **data)

    def changes(
        self, *, play_seconds: float, moves: int, games: int, history: bool, metrics: dict[str, Any] | None
    ) -> Changes:
        """Returns everything that changed since `written`.

        Args:
          play_seconds, moves, games: the run's totals.
          history: also append the changed ratings to the record.
          metrics: a row for the charts.
        """
        return Changes(
            play_seconds=play_seconds,
            moves=moves,
            games=games,
            next_series=self._next_series,
            players=[self.players[name] for name in self._dirty_players],
            pairs=[self._pair_row(*pair) for pair in self._dirty_pairs],
            cleared_pairs=list(self._cleared_pairs),
            series=list(self._series_rows),
            ratings=self._some_ratings(self._dirty_ratings),
            history=self._some_ratings(self._unrecorded, unknown=False) if history else {},
            steps={name: self.players[name].steps for name in self._unrecorded} if history else {},
            events=list(self._events),
            metrics=metrics,
        )

    def written(self, changes: Changes) -> None:
        """Forgets changes that are safely stored."""
        self._dirty_players.clear()
        self._dirty_pairs.clear()
        self._cleared_pairs.clear()
        self._dirty_ratings.clear()
        self._series_rows.clear()
        self._events.clear()
        if changes.history:
            self._unrecorded.clear()

    def _rated_players(self) -> tuple[str, ...] | None:
        """Draws who plays the next rating series, one for each side; None: nobody can."""
        if self._sides.count == 1:
            alone = self._evaluation.one(self._rated, self._rng)
            return None if alone is None else (alone,)
        may_meet = self._sides.may_meet if self._sides.limited else None
        for _ in range(TRIES):
            pair = self._evaluation.choose(self._rated, self.payoff, self._rng, may_meet)
            if pair is None:
                return None
            rest = (
                self._evaluation.near(self._rated, pair[0], self._rng) for _ in range(self._sides.count - 2)
            )
            players = (*pair, *rest)
            if self._sides.seat(players) is not None:
                return players
        return None

    def _lease(
        self,
        players: tuple[str, ...],
        learners: tuple[bool, ...],
        episodes: int,
        purpose: str,
        branch: str,
        sides: tuple[int, ...],
    ) -> Series:
        generations = tuple(self.players[p].generation for p in players)
        rotates = self._sides.rotate(players)
        series = Series(
            self._next_series, players, generations, learners, episodes, purpose, branch, sides, rotates
        )
        self._next_series += 1
        if branch.startswith("verify") and (players[0], branch) not in self._verified:
            self._verified.add((players[0], branch))  # once a snapshot: the feed is for people
            rate = self.payoff.win_rate(players[0], players[1])
            self._event(
                "verification", players[0], branch=branch, opponent=players[1], win_rate=round(rate, 3)
            )
        self._leased[series.number] = series
        return series

    def _require_leased(self, results: list[SeriesResult]) -> None:
        seen: set[int] = set()
        for result in results:
            series = result.series
            leased = self._leased.get(series.number)
            if self.is_recorded(result) or series.number in seen:
                raise DuplicateResultError(f"series {series.number} has been reported before")
            if leased is None:
                raise ResultError(f"series {series.number} was never drawn; the next is {self._next_series}")
            if leased != series:
                raise ResultError(
                    f"series {series.number} is of {' and '.join(leased.players)}, "
                    f"a result came for {' and '.join(series.players)}"
                )
            shape = (len(series.pairs), 2, 3)
            if result.counts.shape != shape or bool((result.counts < 0).any()):
                raise ResultError(
                    f"series {series.number}: counts must be six numbers from 0 for each pair, "
                    f"not {result.counts.tolist()}"
                )
            if not (np.isfinite(result.margins).all() and np.isfinite(result.scores).all()):
                raise ResultError(
                    f"series {series.number}: margin {result.margins.tolist()} or score "
                    f"{result.scores.tolist()} is not a finite number"
                )
            seen.add(series.number)

    def _takeover(self, player: PlayerRecord) -> TakeoverOrder | None:
        rule = self._populations.get(player.name)
        if rule is None:
            return None
        entry, trueskill = self._entries[player.name], self.systems[0]
        others = [
            n for n, e in self._entries.items() if e is entry and n != player.name and n not in self._orders
        ]
        ratings = self._ratings[trueskill.name]
        name = rule.source(
            player.steps - player.inherited_steps,
            others,
            lambda other: trueskill.win_probability(ratings[player.name], ratings[other]),
            self._rng,
        )
        if name is None or (state := self.players[name].learner_state) is None:
            return None
        perturbed = rule.perturbed(self.players[name].hyperparameters, self._rng)
        return TakeoverOrder(player.name, name, state, player.generation + 1, perturbed)

    def _context(self, me: str, side: int) -> Context:
        """What a decision about whom `me` meets on a side may look at."""
        return Context(
            me,
            self._opposite[side],
            self.payoff,
            self._rng,
            self._ratings["trueskill"],
            self.players[me].qualities,
            self._memos.setdefault((me, side), Memo()),
        )

    def _forget(self, player: str) -> None:
        """Clears the results and the ratings of somebody who is somebody else now."""
        for pair in self.payoff.clear(player):
            self._dirty_pairs.pop(pair, None)
            self._cleared_pairs[pair] = None
        self._rate_anew(player)

    def _update_qualities(self, me: str, beaten: str, wins: int) -> None:
        rule = self._rules.get(me)
        quality = rule.quality if isinstance(rule, Mixture) else None
        if quality is not None and self.players[beaten].parent == me:
            player, past = self.players[me], self._roster.history_of(me)
            self._put(replace(player, qualities=quality.after(beaten, wins, past, player.qualities)))

    def _put(self, player: PlayerRecord) -> None:
        known = self.players.get(player.name)
        if known is None or known.for_matching() != player.for_matching():
            self._note_member(player)
        self.players[player.name] = player
        self._dirty_players[player.name] = None

    def _note_member(self, player: PlayerRecord) -> None:
        facts = player.for_matching()
        self._roster.put(facts)
        if self._sides.limited:
            for side in self._sides.of(player.name):
                self._opposite[side].put(facts)

    def _share_sides(self, name: str, parent: str) -> None:
        """Lets a snapshot play what its parent can."""
        if parent in self._sides.limited:
            self._sides = replace(self._sides, limited={**self._sides.limited, name: self._sides.of(parent)})

    def _rate(self, first: str, second: str, outcome: SeriesOutcome) -> None:
        moves = {p: self.players[p].state == "learning" for p in (first, second)}
        for system in self.systems:
            table = self._ratings[system.name]
            table[first], table[second] = system.rate(
                table[first], table[second], outcome, a_moves=moves[first], b_moves=moves[second]
            )
        self._mark_rating(first)
        self._mark_rating(second)

    def _rate_anew(self, player: str) -> None:
        for system in self.systems:
            self._ratings[system.name][player] = system.initial()
        if self._score:
            self._ratings["score"][player] = self._score.initial()
        self._mark_rating(player)

    def _note_rated(self, name: str) -> None:
        player = self.players[name]
        rating = self._ratings["score" if self._score else "trueskill"].get(name)
        if player.state == "retired" or rating is None:
            self._rated.remove(name)
        else:
            learning = player.state == "learning"
            anchor = player.role == "anchor" and self._score is None
            self._rated.put(RatedPlayer(name, rating.mu, rating.sigma, learning, anchor))

    def _mark_rating(self, player: str) -> None:
        self._note_rated(player)
        self._dirty_ratings[player] = None
        self._unrecorded[player] = None

    def _some_ratings(
        self, players: dict[str, None], *, unknown: bool = True
    ) -> dict[str, dict[str, Rating]]:
        """Args: unknown: also scores of those who have not played."""
        known = {
            s: {p: table[p] for p in players if p in table and (unknown or table[p].sigma < UNKNOWN)}
            for s, table in self._ratings.items()
        }
        return {system: ratings for system, ratings in known.items() if ratings}

    def _pair_row(self, first: str, second: str) -> PairRow:
        raw, decayed = self.payoff.raw(first, second), self.payoff.decayed(first, second)
        in_first, in_second = self.payoff.by_seat(first, second).astype(int).tolist()
        return PairRow(first, second, raw.row, decayed.row, (tuple(in_first), tuple(in_second)))

    def _event(self, kind: str, player: str | None = None, **data: Any) -> None:
        self._events.append(EventRecord(kind, player, data))
