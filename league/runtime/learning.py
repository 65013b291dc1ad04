"""The learning players of one process: fragments in, weights, states and snapshots out.

Plain object: an actor carries it in a Ray run, the serial loop calls it directly.
"""

from __future__ import annotations

from dataclasses import asdict
from typing import Any, Protocol

import numpy as np

from agents.errors import DivergenceError, WeightsError
from agents.fragment import Fragment
from agents.learning.data_parallel import DataParallel
from agents.learning.learner import Learner, UpdateMetrics
from agents.networks import weights
from agents.prefetch import PrefetchedFragment
from league.config.run import RunConfig
from league.errors import CheckpointError
from league.pool.orders import (
    BeginOrder,
    Carried,
    FreezeOrder,
    LearnerProgress,
    Order,
    ResumeOrder,
    RollbackOrder,
    SnapshotOrder,
    TakeoverOrder,
)
from league.pool.records import PlayerRecord
from league.runtime.messages import LearnerReport, TakenOver, TakenSnapshot, WeightsUpdate
from league.runtime.placements import placement_of
from league.store.backoff import Backoff
from league.store.checkpoints import CheckpointStore


class Followers(Protocol):
    """Processes that learn as one with this one; see `league.runtime.cluster.replicas`."""

    @property
    def data_parallel(self) -> DataParallel: ...

    def follow(self, player: str, learner: Learner, fragment: Any, progress: float) -> None: ...

    def explain(self) -> None: ...


class LearnerPool:
    """One learner for each learning player of the run."""

    def __init__(
        self,
        config: RunConfig,
        checkpoint_url: str,
        worker: int = 0,
        workers: int = 1,
        replicas: Followers | None = None,
    ) -> None:
        """Args:
        worker: which of the run's learner processes this is, of `workers`; see `placement_of`.
        replicas: the processes that learn with it, if there are any.
        """
        self._replicas = replicas
        self._store, self._backoff = CheckpointStore(checkpoint_url), Backoff()
        self._config = config
        self._worker, self._workers = worker, workers
        self.learners = {
            name: self._new_learner(name)
            for name in config.roster()
            if placement_of(name, config, workers) == worker
        }
        for name, factors in config.first_hyperparameters().items():
            if name in self.learners:
                self.learners[name].factors = factors
        self.progress = 0.0
        self._initial: dict[str, str] = {}
        self._states: dict[str, list[str]] = {name: [] for name in self.learners}
        self._last_good: dict[str, bytes] = {}
        self._resting: set[str] = set()
        self._done: list[TakenSnapshot | TakenOver | Carried] = []
        self._metrics: dict[str, list[UpdateMetrics]] = {}
        self._rolled_back: dict[str, str] = {}

    def create(self) -> tuple[dict[str, str], dict[str, str]]:
        """Stores every learner as it begins; returns the sha256 of weights and of states, by player.

        Raises:
          CheckpointError: a teacher is missing or damaged. WeightsError: it is another network's.
        """
        for name, learner in self.learners.items():
            if (teacher := self._config.roster()[name].teacher) is not None:
                learner.follow(self._store.get(teacher))
        self._initial = {name: self._put(learner.checkpoint()) for name, learner in self.learners.items()}
        return dict(self._initial), {p.player: p.state for p in self._save()}

    def resume(self, players: list[PlayerRecord]) -> list[tuple[str, str]]:
        """Goes on from stored states; where the last is damaged from the one before, or initial weights.

        Returns:
          (player, what was damaged and what it goes on from) of those that did not find their last state.

        Raises:
          CheckpointError: initial weights are missing or damaged too. WeightsError: another network's state.
        """
        result = []
        for player in players:
            if player.name in self.learners and player.state != "learning":
                self._resting.add(player.name)
                self._initial[player.name] = player.initial_checkpoint or ""
            elif player.name in self.learners and player.initial_checkpoint:
                self._initial[player.name] = player.initial_checkpoint
                if (problem := self._restore(player)) is not None:
                    result.append((player.name, problem))
        return result

    def _restore(self, player: PlayerRecord) -> str | None:
        """Returns what was wrong with a learner's last state, None when nothing was."""
        learner, name = self.learners[player.name], player.name
        problem = None if player.learner_state else "no state of it is left"
        for sha in (player.learner_state, player.previous_state):
            if sha is None:
                continue
            try:
                state = self._store.get(sha)
            except CheckpointError as error:
                self._store.quarantine(sha)
                problem = problem or str(error)
                continue
            learner.restore(state)
            if learner.generation != player.generation:
                break  # of the time before a reset
            self._states[name] = [s for s in (player.previous_state, player.learner_state) if s]
            self._last_good[name] = state
            return None if problem is None else f"{problem}; it goes on from the state before, {sha[:12]}"
        learner.reset(self._store.get(player.initial_checkpoint or ""), player.generation)
        learner.steps = player.steps
        self._states[name] = []
        self._store_state(name)
        return f"{problem}; it starts over from its initial weights"

    def reconfigure(self, config: RunConfig) -> None:
        """Goes on by other numbers; learners that have come into the roster wait to be told to begin."""
        self._config = config
        for name, learner in self.learners.items():
            entry = config.roster()[name]
            learner.configure((entry.learner or config.learner).build())

    def is_resting(self, player: str) -> bool:
        """Whether a learning player has been frozen."""
        return player in self._resting

    def prefetch(self, fragment: Fragment) -> Fragment | PrefetchedFragment:
        """Copies a fragment to where its player learns; may be called while another is learnt from."""
        learner = self.learners.get(fragment.player)
        return fragment if learner is None else PrefetchedFragment.of(fragment, learner.device)

    def learn(self, fragment: Fragment | PrefetchedFragment, shared: Any = None) -> None:
        """Updates a player from a fragment; a learner that diverges returns to its last stored state.

        Args:
          shared: the fragment for the replicas, from `Replicas.hand_out`.
        """
        if fragment.player in self._resting or fragment.player not in self.learners:
            return
        learner = self.learners[fragment.player]
        if self._replicas is not None:
            self._replicas.follow(fragment.player, learner, shared, self.progress)
        try:
            metrics = learner.update(fragment, self.progress)
        except DivergenceError as error:
            learner.restore(self._last_good[fragment.player])
            self._rolled_back[fragment.player] = str(error)
            return
        except RuntimeError:
            if self._replicas is not None:
                self._replicas.explain()
            raise
        if metrics is not None:
            self._metrics.setdefault(fragment.player, []).append(metrics)

    def weights(self, player: str, known: tuple[int, int] = (-1, -1)) -> WeightsUpdate | None:
        """Returns a player's weights, None when `known` (generation, version) is what they are."""
        learner = self.learners[player]
        if known == (learner.generation, learner.version):
            return None
        return WeightsUpdate(player, learner.generation, learner.version, learner.weights())

    def obey(self, orders: list[Order]) -> None:
        """Carries orders out; what comes of it is in the next report."""
        for order in orders:
            if isinstance(order, SnapshotOrder):
                self._done.append(self._snapshot(order))
            elif isinstance(order, TakeoverOrder):
                self._done.append(self._take_over(order))
            elif not isinstance(order, BeginOrder) or self._is_placed_here(order.player):
                self._done.append(self._carry_out(order))

    def report(self) -> LearnerReport:
        """Stores every learner's state and returns where they are, with the means of their metrics."""
        means = {
            player: {key: float(np.mean([asdict(u)[key] for u in updates])) for key in asdict(updates[0])}
            for player, updates in self._metrics.items()
        }
        progress, waited = self._save(), self._backoff.take_waited()
        report = LearnerReport(progress, self._done, means, self._rolled_back, self._worker, waited=waited)
        self._metrics, self._done, self._rolled_back = {}, [], {}
        return report

    def take_done(self) -> LearnerReport:
        """Returns what has been carried out, and nothing else: no state is stored anew."""
        done, self._done = self._done, []
        return LearnerReport([], done, {}, {}, self._worker)

    def forget_old_states(self) -> None:
        """Deletes states but the last two that the record names; call when a report has been answered."""
        for states in self._states.values():
            while len(states) > 2:
                self._store.delete(states.pop(0))

    def _snapshot(self, order: SnapshotOrder) -> TakenSnapshot:
        learner = self.learners[order.player]
        checkpoint = self._put(learner.checkpoint())
        if order.resets:
            learner.reset(self._store.get(self._initial[order.player]), order.next_generation)
        return TakenSnapshot(order, checkpoint, learner.steps, self._store_state(order.player))

    def _take_over(self, order: TakeoverOrder) -> TakenOver:
        learner = self.learners[order.player]
        try:
            learner.inherit(self._store.get(order.state), order.next_generation, order.hyperparameters)
        except (CheckpointError, WeightsError):
            return TakenOver(
                order, learner.steps, None
            )  # the source has moved on; the next order names a newer
        return TakenOver(order, learner.steps, self._store_state(order.player))

    def _carry_out(self, order: FreezeOrder | ResumeOrder | RollbackOrder | BeginOrder) -> Carried:
        name = order.player
        try:
            if isinstance(order, FreezeOrder):
                self._resting.add(name)
            elif isinstance(order, ResumeOrder):
                self.learners[name].restore(self._store.get(order.state))
                self._states[name] = [order.state]
                self._resting.discard(name)
            elif isinstance(order, RollbackOrder):
                self.learners[name].reset(self._store.get(order.checkpoint), order.next_generation)
            else:
                learner = self._new_learner(name)
                network, spec = weights.load_network(self._store.get(order.weights))
                learner.reset(weights.dump_network(network, spec), 0)
                self.learners[name] = learner
                self._states[name] = []
        except (CheckpointError, WeightsError) as error:
            return Carried(order, 0, None, None, str(error), gone=isinstance(error, CheckpointError))
        learner = self.learners[name]
        checkpoint = self._put(learner.checkpoint())
        if isinstance(order, BeginOrder):
            self._initial[name] = checkpoint
        return Carried(order, learner.steps, checkpoint, self._store_state(name))

    def _new_learner(self, name: str) -> Learner:
        config = self._config
        entry = config.roster()[name]
        return Learner(
            config.network_spec(entry, config.game_spec()),
            (entry.learner or config.learner).build(),
            seed=config.seed + list(config.roster()).index(name),
            data_parallel=None if self._replicas is None else self._replicas.data_parallel,
        )

    def _is_placed_here(self, name: str) -> bool:
        return placement_of(name, self._config, self._workers) == self._worker

    def _save(self) -> list[LearnerProgress]:
        return [
            LearnerProgress(name, learner.generation, learner.steps, self._store_state(name))
            for name, learner in self.learners.items()
            if name not in self._resting
        ]

    def _put(self, data: bytes) -> str:
        """Stores bytes, waiting for room. Raises: StoreWaitsError: there is none for too long."""
        return self._backoff(lambda: self._store.put(data))

    def _store_state(self, player: str) -> str:
        state = self.learners[player].state()
        sha = self._put(state)
        self._last_good[player] = state
        if sha not in self._states[player]:
            self._states[player].append(sha)
        return sha
