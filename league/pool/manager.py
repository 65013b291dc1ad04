"""The league manager: carries the rules' decisions out on the pool.

Every decision (whom to play, when to snapshot, when to reset, what a result does to a rating) is taken by
`matchmaking`; here they are applied to the players, the payoff and the ratings of one run, and what
changed is handed out as `Changes`. No Ray, no SQL, no clock: time and progress are told.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from agents.acting.episode import Episode
from agents.acting.seating import PairOutcome, Series, SeriesResult
from league.config.players import PlayerConfig
from league.config.run import RunConfig
from league.errors import ConfigError, SteeringError
from league.pool.journal import Journal
from league.pool.matchmaker import Matchmaker
from league.pool.orders import LearnerProgress, Order, SnapshotOrder, TakeoverOrder
from league.pool.ratings import PoolRatings
from league.pool.records import Changes, PairRow, PlayerRecord, SeriesRow, Snapshot
from league.pool.retention import needed
from league.pool.steering import Steering
from matchmaking.ratings.base import Rating, SeriesOutcome
from matchmaking.roles import Mixture, snapshot_due
from matchmaking.sides import Sides

# Copies are thinned when there are so many times those that shall be kept.
SURPLUS = 1.1


class LeagueManager:
    """One run's pool, in memory; the repository keeps what it hands out.

    Attributes:
      players: by name, in the order they joined.
      payoff: who scored what against whom.
      matchmaker: draws who plays whom.
      orders: what learners have been told and not yet done, one a player.
      steering: carries out what people want.
    """

    def __init__(self, config: RunConfig, snapshot: Snapshot) -> None:
        """Args: snapshot: the league as last written; a new run has no players yet: see `create`."""
        self.config = config
        self.players = {p.name: p for p in snapshot.players}
        self.payoff = snapshot.payoff(config.payoff.decay)
        self._entries: dict[str, PlayerConfig] = config.roster()
        limited = config.limited_sides()
        for player in snapshot.players:
            if player.parent in limited:
                limited[player.name] = limited[player.parent]
        sides = Sides(config.num_sides(), limited)
        self._ratings = PoolRatings(config.ratings, sides.count, snapshot.ratings)
        self._populations = {n: e.population.build() for n, e in self._entries.items() if e.population}
        self._journal = Journal()
        self.matchmaker = Matchmaker(
            config,
            self.players,
            self.payoff,
            self._ratings,
            sides,
            snapshot.run.next_series,
            self._journal,
        )
        for player in snapshot.players:
            self.matchmaker.note_member(player)
        self.orders: dict[str, Order] = {}
        self.steering = Steering(self)
        for player in snapshot.players:
            self._ratings.see(player)

    def create(self, initial: dict[str, str], states: dict[str, str]) -> None:
        """Writes the first players into an empty league.

        Args:
          initial: sha256 of each learning player's first weights. states: of its first learning state.
        """
        first = self.config.first_hyperparameters()
        for name, entry in self._entries.items():
            self.put(
                PlayerRecord(
                    name,
                    entry.role,
                    "learning",
                    initial_checkpoint=initial[name],
                    learner_state=states[name],
                    hyperparameters=first[name],
                )
            )
            self._ratings.begin(self.players[name])
        for bot in self.config.anchors:
            self.add(PlayerRecord(bot, "anchor", "frozen", bot=bot))
        self._journal.note("run_started", players=len(self.players))

    def add(self, player: PlayerRecord) -> None:
        """Takes a player into the pool, rated like anybody nobody has seen."""
        self.put(player)
        self._ratings.begin(self.players[player.name])

    def adopt(self, snapshot: PlayerRecord) -> None:
        """The same for a snapshot that one of the learners has left behind."""
        self.add(snapshot)
        parent = self.players[snapshot.parent or ""]
        self.matchmaker.share_sides(snapshot.name, parent.name)
        self.put(replace(parent, snapshots=parent.snapshots + 1))

    @property
    def learners(self) -> list[PlayerRecord]:
        return [p for p in self.players.values() if p.state == "learning"]

    def rating(self, player: str, system: str = "trueskill") -> Rating:
        return self._ratings.of(player, system)

    def record(self, results: list[SeriesResult]) -> None:
        """Takes results in: payoffs always, ratings from evaluation.

        A series of a player that has been reset since is kept in the record and moves nothing: it was
        played by somebody who is no more.

        Raises:
          DuplicateResultError: a series is reported a second time.
          ResultError: a series was never drawn, for these players, or its counts cannot be. Of the results
            none was taken in.
        """
        self.matchmaker.require_leased(results)
        for result in results:
            series = result.series
            self.matchmaker.take_back(series)
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
        self._journal.series.append(SeriesRow(series.number, first, second, *row))
        if first == second or generations != tuple(self.players[p].generation for p in (first, second)):
            return
        wins, draws, losses = outcome.wins, outcome.draws, outcome.losses
        if wins + draws + losses == 0:  # every episode broke down
            return
        self.payoff.record(first, second, wins, draws, losses, margin=outcome.margin, seats=outcome.counts)
        self._journal.pair_changed(first, second)
        if series.purpose == "training":
            self._update_qualities(first, second, wins)
        else:
            outcomes = SeriesOutcome(wins, draws, losses)
            self._ratings.rate(self.players[first], self.players[second], outcomes)

    def _take_in_score(self, result: SeriesResult) -> None:
        """Takes in what somebody got who played every seat."""
        series = result.series
        (name,), (generation,) = series.players, series.generations
        counts = (0, result.episodes, 0), (0, 0, 0)
        total = float(result.scores[0])
        row = ((generation,) * 2, series.purpose, series.branch, *counts, total, result.moves)
        self._journal.series.append(SeriesRow(series.number, name, name, *row))
        if series.purpose != "training" and generation == self.players[name].generation:
            self._ratings.rate_alone(self.players[name], result)

    def learners_progressed(self, progress: list[LearnerProgress]) -> list[Order]:
        """Takes in where the learners are and returns what they shall do now."""
        for p in progress:
            player = self.players[p.player]
            if p.generation == player.generation and player.state == "learning":
                self.put(replace(player, steps=p.steps, learner_state=p.state))
        orders: list[Order] = []
        for name in (p.player for p in progress):
            rule, player = self.matchmaker.rules[name], self.players[name]
            if name in self.orders or player.state != "learning":
                continue
            since = player.steps - player.snapshot_steps
            win_rate = self._entries[name].snapshot.win_rate
            roster = self.matchmaker.roster_against(name)
            if snapshot_due(rule, name, since, roster, self.payoff, win_rate):
                generation = player.generation + (1 if rule.resets(self.matchmaker.rng) else 0)
                order: Order = SnapshotOrder(
                    name, f"{name}.v{player.snapshots + 1}", player.generation, generation
                )
            elif (takeover := self._takeover(player)) is not None:
                order = takeover
            else:
                continue
            self.orders[name] = order
            orders.append(order)
        return orders

    def snapshot_taken(self, order: SnapshotOrder, checkpoint: str, steps: int, state: str) -> None:
        """Adds the snapshot to the pool and, if the learner started over, forgets what it was.

        Args:
          checkpoint: sha256 of the copy. steps: the learner's, when it was taken.
          state: sha256 of the learner's state after the order.
        """
        if self.orders.pop(order.player, None) is None:
            return
        parent = self.players[order.player]
        self.matchmaker.share_sides(order.snapshot, parent.name)
        self.put(
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
        self._ratings.begin_copy(self.players[order.snapshot], parent.name, exact=False)
        self._journal.note("snapshot", order.snapshot, parent=parent.name, steps=steps)
        self.put(
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
        self.matchmaker.verify_again(parent.name)
        self.steering.snapshot_taken(order)
        if order.resets:
            self._forget(parent.name)
            self._journal.note("reset", parent.name, generation=order.next_generation)

    def taken_over(self, order: TakeoverOrder, steps: int, state: str | None) -> None:
        """Notes that a learner goes on as a copy of another.

        Args:
          steps: the learner's own, as ever. state: sha256 of its state after the order, None when the
            source's state was gone; then everything stays as it was.
        """
        if self.orders.pop(order.player, None) is None or state is None:
            return
        self.put(
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
        self._ratings.begin_copy(self.players[order.player], order.source, exact=True)
        facts: dict[str, Any] = {"source": order.source, **order.hyperparameters}
        self._journal.note("inherited", order.player, **facts)

    @property
    def roster_names(self) -> list[str]:
        """Everybody who learns or has learnt in this run."""
        return list(self._entries)

    def entry(self, player: str) -> PlayerConfig:
        """Returns the roster entry of somebody who learns or has learnt."""
        return self._entries[player]

    def add_copy(self, player: PlayerRecord, source: str) -> None:
        """Takes a copy of a member into the pool, rated as its source is."""
        self.matchmaker.share_sides(player.name, source)
        self.put(player)
        self._ratings.begin_copy(player, source, exact=False)

    def become_copy(self, player: str, source: str) -> None:
        """Forgets what a player got: it is another's copy now."""
        self._forget(player)
        self._ratings.begin_copy(self.players[player], source, exact=False)

    def require_others_to_play(self, name: str) -> None:
        """Raises: SteeringError: without this main nobody would stand for its side of the game."""
        if self.players[name].role != "main":
            return
        mains = [p.name for p in self.players.values() if p.role == "main" and p.state != "retired"]
        for side in self.matchmaker.sides.of(name):
            if not any(side in self.matchmaker.sides.of(main) for main in mains if main != name):
                raise SteeringError(f"{name} is the last main of its side; branch another before it retires")

    def record_played(self, players: tuple[str, ...], returns: tuple[float, ...], moves: int) -> None:
        """Takes in a rated game of two that was played outside the league's own. Args: by seat."""
        series = self.matchmaker.lease(players, (False, False), 1, "evaluation", "played", (0, 1))
        margin = 0.5 * (returns[0] - returns[1])
        counts = np.zeros((2, 3), np.int64)
        counts[0, 0 if margin > 0 else 2 if margin < 0 else 1] = 1
        self.record([SeriesResult.of_two(series, counts, margin, moves)])

    def extend_roster(self, entry: dict[str, Any]) -> str:
        """Appends an entry of one player; returns the name it will have.

        Raises:
          SteeringError: the config would not hold.
        """
        data = self.config.model_dump(mode="json", exclude_none=True)
        data["players"].append(entry)
        before = set(self._entries)
        try:
            config = RunConfig.from_data(data)
        except ConfigError as error:
            raise SteeringError(str(error)) from error
        (name,) = set(config.roster()) - before
        self.reconfigure(config)
        return name

    def shrink_roster(self) -> None:
        """Takes the last entry back: it could not begin."""
        self.reconfigure(self.config.model_copy(update={"players": self.config.players[:-1]}))

    def reconfigure(self, config: RunConfig) -> None:
        """Goes on by other numbers; who is in the roster may have grown, nothing else of it has changed."""
        self.config = config
        self._entries = config.roster()
        self._populations = {n: e.population.build() for n, e in self._entries.items() if e.population}
        self.payoff.decay = config.payoff.decay
        self.matchmaker.configure(config)

    def lose(self, name: str, reason: str) -> None:
        """Retires a frozen player whose weights cannot be had any more: nobody is to meet it again."""
        player = self.players[name]
        if player.state == "frozen":
            self.put(replace(player, state="retired"))
            self.note("lost", name, reason=reason)

    def keep_episodes(self, episodes: Sequence[Episode]) -> None:
        """Hands games that were written down on to the store."""
        self._journal.episodes += episodes

    def survey(self) -> None:
        """Ranks the pool as a whole: Bradley-Terry, equilibrium, α-Rank, as ratings like any other."""
        names = [p.name for p in self.players.values() if p.state != "retired"]
        anchor = next((a for a in ("random", *self.config.anchors) if a in self.players), None)
        self._ratings.survey(self.payoff, names, anchor, {p.name for p in self.learners})
        self._thin()

    def _thin(self) -> None:
        """Retires copies that the league hardly needs, when there are more than it shall keep."""
        keep = self.config.retention.copies
        copies = [p for p in self.players.values() if p.role == "historical" and p.state == "frozen"]
        if keep is None or len(copies) <= SURPLUS * keep:
            return
        strength = {n: r.mu - 3.0 * r.sigma for n, r in self._ratings.table("trueskill").items()}
        shares = {n: r.mu for n, r in self._ratings.table("nash").items()}
        stay = needed(self.players.values(), strength, shares, keep)
        dropped = [p for p in copies if p.name not in stay]
        for player in dropped:
            self.put(replace(player, state="retired"))
        if dropped:
            self.note("thinned", retired=sorted(p.name for p in dropped), deleted=0)

    def note(self, kind: str, player: str | None = None, *, actor: str | None = None, **data: Any) -> None:
        """Adds an event to what will be written. Args: actor: who wanted it."""
        self._journal.note(kind, player, actor=actor, **data)

    def changes(
        self,
        *,
        play_seconds: float,
        moves: int,
        games: int,
        history: bool,
        metrics: dict[str, Any] | None,
        doing: dict[str, Any] | None = None,
    ) -> Changes:
        """Returns everything that changed since `written`.

        Args:
          play_seconds, moves, games: the run's totals.
          history: also append the changed ratings to the record.
          metrics: a row for the charts. doing: what the run's processes are at.
        """
        journal = self._journal
        return Changes(
            play_seconds=play_seconds,
            moves=moves,
            games=games,
            next_series=self.matchmaker.next_series,
            players=[self._with_totals(self.players[name]) for name in journal.players],
            pairs=[self._pair_row(*pair) for pair in journal.pairs],
            cleared_pairs=list(journal.cleared),
            series=list(journal.series),
            ratings=self._ratings.changed(),
            history=self._ratings.unrecorded() if history else {},
            steps={n: self.players[n].steps for n in self._ratings.unrecorded_players} if history else {},
            events=list(journal.events),
            metrics=metrics,
            commands=list(self.steering.finished),
            entries=list(self.steering.entries),
            episodes=list(journal.episodes),
            doing=doing,
        )

    def written(self, changes: Changes) -> None:
        """Forgets changes that are safely stored."""
        self._journal.clear()
        self.steering.finished.clear()
        self.steering.entries.clear()
        self._ratings.written(history=bool(changes.history))

    def _takeover(self, player: PlayerRecord) -> TakeoverOrder | None:
        rule = self._populations.get(player.name)
        if rule is None:
            return None
        entry, trueskill = self._entries[player.name], self._ratings.trueskill
        others = [
            n for n, e in self._entries.items() if e is entry and n != player.name and n not in self.orders
        ]
        ratings = self._ratings.table("trueskill")
        name = rule.source(
            player.steps - player.inherited_steps,
            others,
            lambda other: trueskill.win_probability(ratings[player.name], ratings[other]),
            self.matchmaker.rng,
        )
        if name is None or (state := self.players[name].learner_state) is None:
            return None
        perturbed = rule.perturbed(self.players[name].hyperparameters, self.matchmaker.rng)
        return TakeoverOrder(player.name, name, state, player.generation + 1, perturbed)

    def _with_totals(self, player: PlayerRecord) -> PlayerRecord:
        total, seats = self.payoff.total(player.name), self.payoff.total_by_seat(player.name)
        first, second = (
            float((won + 0.5 * drawn) / (won + drawn + lost)) if won + drawn + lost else None
            for won, drawn, lost in seats
        )
        return replace(
            player,
            wins=total.wins,
            draws=total.draws,
            losses=total.losses,
            first_seat=first,
            second_seat=second,
        )

    def _forget(self, player: str) -> None:
        """Clears the results and the ratings of somebody who is somebody else now."""
        self._journal.pairs_cleared(self.payoff.clear(player))
        self._ratings.begin(self.players[player])

    def _update_qualities(self, me: str, beaten: str, wins: int) -> None:
        rule = self.matchmaker.rules.get(me)
        quality = rule.quality if isinstance(rule, Mixture) else None
        if quality is not None and self.players[beaten].parent == me:
            player, past = self.players[me], self.matchmaker.history_of(me)
            self.put(replace(player, qualities=quality.after(beaten, wins, past, player.qualities)))

    def put(self, player: PlayerRecord) -> None:
        """Takes a player's new record over."""
        known = self.players.get(player.name)
        if known is not None and player.learner_state not in (None, known.learner_state):
            player = replace(player, previous_state=known.learner_state)
        if known is None or known.for_matching() != player.for_matching():
            self.matchmaker.note_member(player)
            self._ratings.see(player)
        self.players[player.name] = player
        self._journal.player_changed(player.name)

    def _pair_row(self, first: str, second: str) -> PairRow:
        raw, decayed = self.payoff.raw(first, second), self.payoff.decayed(first, second)
        in_first, in_second = self.payoff.by_seat(first, second).astype(int).tolist()
        return PairRow(first, second, raw.row, decayed.row, (tuple(in_first), tuple(in_second)))
