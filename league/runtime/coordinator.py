"""Series out, results in: the league manager with a store behind it.

Plain object: an actor carries it in a Ray run, the serial loop calls it directly.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from typing import Any

from agents.acting.seating import Series
from league.config.run import RunConfig
from league.errors import ConfigError
from league.pool.manager import LeagueManager
from league.pool.orders import Carried, Order
from league.runtime.activity import Activity
from league.runtime.messages import (
    FrozenPlayer,
    LearnerOrders,
    LearnerReport,
    RolloutOrders,
    RolloutReport,
    RunStatus,
    TakenOver,
    TakenSnapshot,
)
from league.runtime.pace import Pace
from league.runtime.placements import placement_of
from league.runtime.report_log import ReportLog
from league.store.backoff import Backoff
from league.store.repositories.league_state import LeagueRepository
from league.store.session import Database

METRICS_SECONDS = 2.0
HISTORY_SECONDS = 4.0
SURVEY_SECONDS = 10.0
RATE_WINDOW_SECONDS = 5.0
LOOK_SECONDS = 0.3
# Fewer broken episodes than this are no verdict on a game.
FEWEST_BAD = 20


class Coordinator:
    """Answers workers and learners. What it has answered is written: nothing reported is lost."""

    def __init__(
        self,
        config: RunConfig,
        database_url: str,
        run_id: str,
        token: int,
        clock: Callable[[], float] = time.monotonic,
        learner_workers: int = 1,
    ) -> None:
        """Args:
        token: the lease's; writing with an old one raises LeaseLostError. clock: in seconds.
        learner_workers: how many processes the learners are dealt out to.
        """
        self._config = config
        self._clock = clock
        self._token = token
        self._repository = LeagueRepository(Database(database_url), run_id)
        loaded = self._repository.load()
        self._manager = LeagueManager(config, loaded)
        self._learner_workers = learner_workers
        # `_stored_revision` is the store's; `_revision` counts what the processes of this life were told.
        self._stored_revision, self._revision = loaded.run.config_revision, 0
        self._orders: list[Order] = []
        self._leaving: set[str] = set()
        self._next_look = clock()
        self._moves, self._games = loaded.run.moves, loaded.run.games
        self._played_before = loaded.run.play_seconds
        self._started: float | None = None
        self._stopping = False
        self._aborted, self._last_error = 0, ""
        self._failure: str | None = None
        self._backoff = Backoff()
        self._report_log = ReportLog()
        self._activity = Activity()
        self._pace = Pace(clock(), fixed=config.topology == "sync")
        self._learner_metrics: dict[str, dict[str, float]] = {}
        self._marks: list[tuple[float, int, int]] = []
        self._last_metrics = self._last_history = self._last_write = clock()
        self._next_survey = clock() + SURVEY_SECONDS

    def create(self, initial: dict[str, str], states: dict[str, str]) -> None:
        """Writes the first players of a new league."""
        self._manager.create(initial, states)
        self._write(force=True)

    def exchange_rollout(self, worker: str, report: RolloutReport) -> RolloutOrders:
        """Takes a worker's results in and answers with what to play next. Written before it is answered."""
        begin = self._clock()
        if self._started is None:
            self._started = begin
        self._obey()
        if not self._report_log.knows(report):
            self._moves += report.moves
            self._games += report.games
            self._manager.keep_episodes(report.episodes)
        # A report whose answer was lost may come again; its series are counted already.
        fresh = [r for r in report.results if not self._manager.matchmaker.is_recorded(r)]
        self._manager.record(fresh)
        self._activity.played(worker, report, self._clock())
        for name, reason in report.unplayable.items():
            self._manager.lose(name, reason)
        self._note_bad_episodes(sum(r.aborted for r in fresh), report.errors)
        stop = self.is_finished() or worker in self._leaving
        training, evaluation = ([], []) if stop else self._draw(report, begin)
        self._activity.handed_out(worker, [*training, *evaluation])
        if worker in self._leaving:
            self._activity.left(worker)
        self._write()
        frozen = {
            name: FrozenPlayer(player.bot, player.checkpoint)
            for series in (*training, *evaluation)
            for name in series.players
            if (player := self._manager.players[name]).state != "learning"
        }
        config = self._config if report.revision != self._revision else None
        now = self._clock()
        self._pace.worked(now - begin, now)
        return RolloutOrders(
            training, evaluation, frozen, stop, self._pace.interval_seconds, config, self._revision
        )

    def _draw(self, report: RolloutReport, now: float) -> tuple[list[Series], list[Series]]:
        """Draws what a worker shall play next: for learning, and for the ratings."""
        training = self._manager.matchmaker.next_training_series(report.wanted_training, self._pace.episodes)
        rated = self._pace.rated(report.wanted_evaluation, now)
        evaluation = self._manager.matchmaker.next_evaluation_series(rated)
        self._pace.rating(sum(s.episodes for s in evaluation))
        return training, evaluation

    def exchange_learner(self, report: LearnerReport) -> LearnerOrders:
        """Takes the learners' states in and answers with what to do next. Written before it is answered."""
        self._obey()
        self._take_in(report.done)
        self._activity.learnt(report, self._clock())
        orders = self._manager.learners_progressed(report.progress)
        for player, reason in report.rolled_back.items():
            self._manager.note("rolled_back", player, reason=reason)
        self._note_waiting(report.waited)
        self._learner_metrics.update(report.metrics)
        self._write(force=True)
        stop = self.is_finished()
        if not stop:
            here = [o for o in self._orders if self._home(o) == report.worker]
            self._orders = [o for o in self._orders if o not in here]
            orders += [self._manager.steering.renewed(o) for o in here]
        config = self._config if report.revision != self._revision else None
        return LearnerOrders([] if stop else orders, self.progress(), stop, config, self._revision)

    def carry_out_commands(self, report: LearnerReport) -> LearnerOrders:
        """The same for a league that nobody plays: only what people want of it is done."""
        self._take_in(report.done)
        self._next_look = self._clock()
        self._obey()
        self._write(force=True)
        orders, self._orders = self._orders, []
        return LearnerOrders(orders, self.progress(), stop=True, config=self._config)

    def close(self) -> None:
        """Ends the connection to the database."""
        self._repository.close()

    def _take_in(self, carried: Sequence[TakenSnapshot | TakenOver | Carried]) -> None:
        """What came of orders to learners."""
        for done in carried:
            if isinstance(done, TakenSnapshot):
                self._manager.snapshot_taken(done.order, done.checkpoint, done.steps, done.state)
            elif isinstance(done, TakenOver):
                self._manager.taken_over(done.order, done.steps, done.state)
            else:
                self._manager.steering.carried(done)
                self._tell(self._manager.config)

    def dismiss(self, worker: str) -> None:
        """From now on this worker is told to stop."""
        self._leaving.add(worker)

    def admit(self, worker: str) -> None:
        """A worker of this name plays again."""
        self._leaving.discard(worker)

    def lose(self, worker: str, reason: str) -> None:
        """A worker has died: what it was to play is taken back."""
        self._manager.matchmaker.release(self._activity.left(worker))
        self.note("worker_lost", worker=worker, reason=reason)

    def _home(self, order: Order) -> int:
        return placement_of(order.player, self._config, self._learner_workers)

    def _obey(self) -> None:
        """Looks now and then for what people want: commands to players, other numbers in the config."""
        now = self._clock()
        if now < self._next_look:
            return
        self._next_look = now + LOOK_SECONDS
        steering = self._manager.steering
        revision, commands = self._backoff(self._repository.wanted)
        if revision != self._stored_revision and not steering.roster_is_growing:
            self._stored_revision = revision
            try:
                wanted = self._backoff(self._repository.config)
                config = RunConfig.from_data(wanted, "the run's config")
            except (
                ConfigError
            ) as error:  # written by another version of the program; this one goes on as it was
                self._manager.note("config_refused", reason=str(error))
            else:
                self._manager.reconfigure(config)
                self._tell(config)
        done = {command.id for command in steering.finished}
        for command in commands:
            if command.id not in steering.under_way and command.id not in done:
                order = steering.begin(command)
                if order is not None:
                    self._orders.append(order)
        self._tell(self._manager.config)
        if steering.finished:
            self._write(force=True)

    def _tell(self, config: RunConfig) -> None:
        """Has every process told of another config when it next asks."""
        if config is not self._config:
            self._config = config
            self._revision += 1

    def note(self, kind: str, player: str | None = None, **data: Any) -> None:
        """Writes an event down."""
        self._manager.note(kind, player, **data)
        self._write(force=True)

    def _note_waiting(self, waited: tuple[float, str] | None) -> None:
        """Writes down, with what is written next, that a store could not be used for a while."""
        if waited is not None:
            self._manager.note("store_waited", seconds=round(waited[0], 1), reason=waited[1])

    def _note_bad_episodes(self, aborted: int, errors: Sequence[str]) -> None:
        """Writes down what games did wrong; too much of it ends the run."""
        self._aborted += aborted
        for error in errors:
            self._manager.note("bad_episode", reason=error)
            self._last_error = error
        if self._aborted >= FEWEST_BAD and self._aborted > self._config.envs.max_bad_share * self._games:
            self._failure = (
                f"{self._aborted} of {self._games} episodes broke down, more than envs.max_bad_share="
                f"{self._config.envs.max_bad_share}; the last: {self._last_error}"
            )

    def stop(self) -> None:
        """From now on every answer says stop."""
        self._stopping = True

    def flush(self) -> None:
        """Writes whatever is not written yet, the ratings' history included."""
        self._write(force=True, history=True)
        self._write(force=True)  # that the first had to wait, if it had

    def is_finished(self) -> bool:
        return self._stopping or self._failure is not None or self.progress() >= 1.0

    def play_seconds(self) -> float:
        return self._played_before + (0.0 if self._started is None else self._clock() - self._started)

    def progress(self) -> float:
        """Returns how far the run is towards its stop rule, in [0, 1]."""
        stop = self._config.stop
        fractions = [0.0]
        if stop.minutes is not None:
            fractions.append(self.play_seconds() / (60.0 * stop.minutes))
        if stop.moves is not None:
            fractions.append(self._moves / stop.moves)
        return min(1.0, max(fractions))

    def status(self) -> RunStatus:
        """Returns where the run is, having looked for what people want of it."""
        self._obey()
        moves_rate, steps_rate = self._rates()
        lags = [m["policy_lag"] for m in self._learner_metrics.values() if "policy_lag" in m]
        return RunStatus(
            play_seconds=self.play_seconds(),
            moves=self._moves,
            games=self._games,
            moves_per_second=moves_rate,
            learner_steps_per_second=steps_rate,
            policy_lag=sum(lags) / len(lags) if lags else 0.0,
            snapshots=sum(p.role == "historical" for p in self._manager.players.values()),
            progress=self.progress(),
            finished=self.is_finished(),
            failure=self._failure,
            workers=None if self._config.rollout.workers == "auto" else self._config.rollout.workers,
            workers_wait=self._activity.mean_waiting,
            learners_wait=self._activity.learners_waiting,
        )

    def _rates(self) -> tuple[float, float]:
        """Moves and learner steps a second over the last seconds."""
        now = self._clock()
        self._marks.append((now, self._moves, sum(p.steps for p in self._manager.learners)))
        self._marks = [m for m in self._marks if m[0] >= now - RATE_WINDOW_SECONDS]
        (then, moves, steps), (_, moves_now, steps_now) = self._marks[0], self._marks[-1]
        seconds = now - then
        return ((moves_now - moves) / seconds, (steps_now - steps) / seconds) if seconds > 0.1 else (0.0, 0.0)

    def _write(self, *, force: bool = False, history: bool = False) -> None:
        now = self._clock()
        metrics = None
        if now - self._last_metrics >= METRICS_SECONDS and self._started is not None:
            self._last_metrics = now
            status = self.status()
            metrics = {
                "moves": status.moves,
                "players": len(self._manager.players),
                "snapshots": status.snapshots,
                "moves_per_second": status.moves_per_second,
                "learner_steps_per_second": status.learner_steps_per_second,
                "policy_lag": status.policy_lag,
                "rollout_waiting": self._activity.mean_waiting,
                "learners": self._learner_metrics,
            }
        if now - self._last_history >= HISTORY_SECONDS:
            history = True
        if now >= self._next_survey or (history and force):
            self._manager.survey()
            # A larger pool is ranked less often: at most a fiftieth of the time goes into it.
            self._next_survey = now + max(SURVEY_SECONDS, 50.0 * (self._clock() - now))
        if history:
            self._last_history = now
        changes = self._manager.changes(
            play_seconds=self.play_seconds(),
            moves=self._moves,
            games=self._games,
            history=history,
            metrics=metrics,
            doing=None if metrics is None else self._activity.as_json(now, self._pace.interval_seconds),
        )
        if force or changes.series or metrics or now - self._last_write >= 1.0:
            self._backoff(lambda: self._repository.save(changes, self._token))
            self._stored_revision += len(changes.entries)
            self._manager.written(changes)
            self._note_waiting(self._backoff.take_waited())
            self._last_write = now
