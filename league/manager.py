"""The league manager: carries the rules' decisions out on the pool.

Every decision (whom to play, when to snapshot, when to reset, what a result does to a rating) is taken by
`matchmaking`; here they are applied to the players, the payoff and the ratings of one run, and what
changed is handed out as `Changes`. No Ray, no SQL, no clock: time and progress are told.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from agents.seating import Series, SeriesResult
from league.config import PlayerConfig, RunConfig
from league.records import Changes, EventRecord, PairRow, PlayerRecord, SeriesRow, Snapshot
from matchmaking.evaluation import EvaluationRule, RatedPlayer
from matchmaking.payoff import PairRecord, PayoffMatrix
from matchmaking.ratings.base import Rating, RatingSystem, SeriesOutcome
from matchmaking.ratings.elo import Elo
from matchmaking.ratings.trueskill import TrueSkill
from matchmaking.roles import Mixture, RoleRule, snapshot_due
from matchmaking.roster import Context, Roster


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
        self.payoff = PayoffMatrix(config.payoff.decay)
        for pair in snapshot.pairs:
            self.payoff.load(pair.first, pair.second, PairRecord(*pair.raw), PairRecord(*pair.decayed))
        self.systems: list[RatingSystem] = [
            TrueSkill(tau=config.ratings.trueskill_tau, draw_probability=config.ratings.draw_probability),
            Elo(k=config.ratings.elo_k),
        ]
        self._ratings = {s.name: dict(snapshot.ratings.get(s.name, {})) for s in self.systems}
        self._entries: dict[str, PlayerConfig] = config.roster()
        self._rules: dict[str, RoleRule] = {name: entry.rule() for name, entry in self._entries.items()}
        self._evaluation = EvaluationRule(coverage_share=config.evaluation.coverage_share)
        self._next_series = snapshot.run.next_series
        self._rng = np.random.default_rng([config.seed, self._next_series])
        self._leased: dict[int, Series] = {}
        self._scheduled = dict.fromkeys(self._entries, 0.0)
        self._roster: Roster | None = None
        self._orders: dict[str, SnapshotOrder] = {}
        self._dirty_players: dict[str, None] = {}
        self._dirty_pairs: dict[tuple[str, str], None] = {}
        self._cleared_pairs: dict[tuple[str, str], None] = {}
        self._dirty_ratings: dict[str, None] = {}
        self._unrecorded: dict[str, None] = {}
        self._series_rows: list[SeriesRow] = []
        self._events: list[EventRecord] = []

    def found(self, initial: dict[str, str], states: dict[str, str]) -> None:
        """Writes the first players into an empty league.

        Args:
          initial: sha256 of each learning player's first weights. states: of its first learning state.
        """
        for name, entry in self._entries.items():
            self._put(
                PlayerRecord(
                    name,
                    entry.role,
                    "learning",
                    initial_checkpoint=initial[name],
                    learner_state=states[name],
                )
            )
            self._rate_anew(name)
        for bot in self.config.anchors:
            self._put(PlayerRecord(bot, "anchor", "frozen", bot=bot))
            self._rate_anew(bot)
        self._event("run_started", players=len(self.players))

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
            match = self._rules[me].match(self._context(me))
            n = self.config.rollout.episodes_per_series
            # Against itself a player learns from both seats.
            drawn.append(
                self._lease((me, match.opponent), (True, match.opponent == me), n, "training", match.branch)
            )
            self._scheduled[me] += n * (2 if match.opponent == me else 1)
            planned += n
        floor = min(self._scheduled[n] / self._entries[n].share for n in self._scheduled)
        for name in self._scheduled:  # keeps the numbers small over weeks
            self._scheduled[name] -= floor * self._entries[name].share
        return drawn

    def next_evaluation_series(self, episodes: int) -> list[Series]:
        """Draws series for the ratings until `episodes` are planned; they teach nobody."""
        rated = [
            RatedPlayer(
                p.name,
                self.rating(p.name).mu,
                self.rating(p.name).sigma,
                p.state == "learning",
                p.role == "anchor",
            )
            for p in self.players.values()
            if p.state != "retired"
        ]
        planned, drawn = 0, []
        while planned < episodes:
            pair = self._evaluation.choose(rated, self.payoff, self._rng)
            if pair is None:
                break
            n = self.config.evaluation.episodes
            drawn.append(self._lease(pair, (False, False), n, "evaluation", "rating"))
            planned += n
        return drawn

    def record(self, results: list[SeriesResult]) -> None:
        """Takes results in, each series once: payoffs always, ratings from evaluation.

        A series of a player that has been reset since is kept in the record and moves nothing: it was
        played by somebody who is no more.
        """
        for result in results:
            series = self._leased.pop(result.series.number, None)
            if series is None:
                continue  # reported twice
            first, second = series.players
            counts = result.counts.tolist()
            self._series_rows.append(
                SeriesRow(
                    series.number,
                    first,
                    second,
                    series.purpose,
                    series.branch,
                    tuple(counts[0]),
                    tuple(counts[1]),
                    result.moves,
                )
            )
            generations = tuple(self.players[p].generation for p in series.players)
            if first == second or generations != series.generations:
                continue
            self.payoff.record(first, second, result.wins, result.draws, result.losses)
            self._dirty_pairs[min(first, second), max(first, second)] = None
            if series.purpose == "training":
                self._update_qualities(first, second, result.wins)
            else:
                self._rate(first, second, SeriesOutcome(result.wins, result.draws, result.losses))

    def learners_progressed(self, progress: list[LearnerProgress]) -> list[SnapshotOrder]:
        """Takes in where the learners are and returns what they shall do now."""
        for p in progress:
            player = self.players[p.player]
            if p.generation == player.generation:
                self._put(replace(player, steps=p.steps, learner_state=p.state))
        orders = []
        for name, rule in self._rules.items():
            player = self.players[name]
            if name in self._orders or player.state != "learning":
                continue
            since = player.steps - player.snapshot_steps
            win_rate = self._entries[name].snapshot.win_rate
            if snapshot_due(rule, name, since, self._current_roster(), self.payoff, win_rate):
                generation = player.generation + (1 if rule.resets(self._rng) else 0)
                order = SnapshotOrder(name, f"{name}.v{player.snapshots + 1}", player.generation, generation)
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
        if order.resets:
            for pair in self.payoff.clear(parent.name):
                self._dirty_pairs.pop(pair, None)
                self._cleared_pairs[pair] = None
            self._rate_anew(parent.name)
            self._event("reset", parent.name, generation=order.next_generation)

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
            history=self._some_ratings(self._unrecorded) if history else {},
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

    def _lease(
        self, players: tuple[str, str], learners: tuple[bool, bool], episodes: int, purpose: str, branch: str
    ) -> Series:
        generations = (self.players[players[0]].generation, self.players[players[1]].generation)
        series = Series(self._next_series, players, generations, learners, episodes, purpose, branch)
        self._next_series += 1
        self._leased[series.number] = series
        return series

    def _context(self, me: str) -> Context:
        return Context(
            me,
            self._current_roster(),
            self.payoff,
            self._rng,
            self._ratings["trueskill"],
            self.players[me].qualities,
        )

    def _current_roster(self) -> Roster:
        if self._roster is None:
            self._roster = Roster([p.for_matching() for p in self.players.values()])
        return self._roster

    def _update_qualities(self, me: str, beaten: str, wins: int) -> None:
        rule = self._rules.get(me)
        quality = rule.quality if isinstance(rule, Mixture) else None
        if quality is not None and self.players[beaten].parent == me:
            player, past = self.players[me], self._current_roster().history_of(me)
            self._put(replace(player, qualities=quality.after(beaten, wins, past, player.qualities)))

    def _put(self, player: PlayerRecord) -> None:
        known = self.players.get(player.name)
        if known is None or known.for_matching() != player.for_matching():
            self._roster = None
        self.players[player.name] = player
        self._dirty_players[player.name] = None

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
        self._mark_rating(player)

    def _mark_rating(self, player: str) -> None:
        self._dirty_ratings[player] = None
        self._unrecorded[player] = None

    def _some_ratings(self, players: dict[str, None]) -> dict[str, dict[str, Rating]]:
        return (
            {s.name: {p: self._ratings[s.name][p] for p in players} for s in self.systems} if players else {}
        )

    def _pair_row(self, first: str, second: str) -> PairRow:
        raw, decayed = self.payoff.raw(first, second), self.payoff.decayed(first, second)
        return PairRow(
            first,
            second,
            (raw.wins, raw.draws, raw.losses),
            (decayed.wins, decayed.draws, decayed.losses),
        )

    def _event(self, kind: str, player: str | None = None, **data: Any) -> None:
        self._events.append(EventRecord(kind, player, data))
