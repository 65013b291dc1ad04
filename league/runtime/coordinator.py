"""Series out, results in: the league manager with a store behind it.

Plain object: an actor carries it in a Ray run, the serial loop calls it directly.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from typing import Any

from league.config import RunConfig
from league.db.league_state import LeagueRepository
from league.db.session import Database
from league.manager import LeagueManager
from league.runtime.messages import (
    FrozenPlayer,
    LearnerOrders,
    LearnerReport,
    RolloutOrders,
    RolloutReport,
    RunStatus,
    TakenSnapshot,
)

METRICS_SECONDS = 2.0
HISTORY_SECONDS = 4.0
SURVEY_SECONDS = 10.0
RATE_WINDOW_SECONDS = 5.0
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
    ) -> None:
        """Args: token: the lease's; writing with an old one raises LeaseLostError. clock: in seconds."""
        self._config = config
        self._clock = clock
        self._token = token
        self._repository = LeagueRepository(Database(database_url), run_id)
        loaded = self._repository.load()
        self._manager = LeagueManager(config, loaded)
        self._moves, self._games = loaded.run.moves, loaded.run.games
        self._played_before = loaded.run.play_seconds
        self._started: float | None = None
        self._stopping = False
        self._aborted, self._last_error = 0, ""
        self._failure: str | None = None
        self._waiting: dict[str, float] = {}
        self._learner_metrics: dict[str, dict[str, float]] = {}
        self._marks: list[tuple[float, int, int]] = []
        self._last_metrics = self._last_history = self._last_write = clock()
        self._next_survey = clock() + SURVEY_SECONDS

    def found(self, initial: dict[str, str], states: dict[str, str]) -> None:
        """Writes the first players of a new league."""
        self._manager.found(initial, states)
        self._write(force=True)

    def exchange_rollout(self, worker: str, report: RolloutReport) -> RolloutOrders:
        """Takes a worker's results in and answers with what to play next. Written before it is answered."""
        if self._started is None:
            self._started = self._clock()
        self._moves += report.moves
        self._games += report.games
        self._waiting[worker] = report.waiting
        # A report whose answer was lost comes again; its series are counted already.
        fresh = [r for r in report.results if not self._manager.is_recorded(r)]
        self._manager.record(fresh)
        self._note_bad_episodes(sum(r.aborted for r in fresh), report.errors)
        stop = self.is_finished()
        training = [] if stop else self._manager.next_training_series(report.wanted_training)
        evaluation = [] if stop else self._manager.next_evaluation_series(report.wanted_evaluation)
        self._write()
        frozen = {
            name: FrozenPlayer(player.bot, player.checkpoint)
            for series in (*training, *evaluation)
            for name in series.players
            if (player := self._manager.players[name]).state != "learning"
        }
        return RolloutOrders(training, evaluation, frozen, stop)

    def exchange_learner(self, report: LearnerReport) -> LearnerOrders:
        """Takes the learners' states in and answers with what to do next. Written before it is answered."""
        for done in report.done:
            if isinstance(done, TakenSnapshot):
                self._manager.snapshot_taken(done.order, done.checkpoint, done.steps, done.state)
            else:
                self._manager.taken_over(done.order, done.steps, done.state)
        orders = self._manager.learners_progressed(report.progress)
        for player, reason in report.rolled_back.items():
            self._manager.note("rolled_back", player, reason=reason)
        self._learner_metrics.update(report.metrics)
        self._write(force=True)
        stop = self.is_finished()
        return LearnerOrders([] if stop else orders, self.progress(), stop)

    def note(self, kind: str, player: str | None = None, **data: Any) -> None:
        """Writes an event down."""
        self._manager.note(kind, player, **data)
        self._write(force=True)

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
        """Returns where the run is."""
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
                "moves_per_second": status.moves_per_second,
                "learner_steps_per_second": status.learner_steps_per_second,
                "policy_lag": status.policy_lag,
                "rollout_waiting": sum(self._waiting.values()) / max(len(self._waiting), 1),
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
        )
        if force or changes.series or metrics or now - self._last_write >= 1.0:
            self._repository.save(changes, self._token)
            self._manager.written(changes)
            self._last_write = now
