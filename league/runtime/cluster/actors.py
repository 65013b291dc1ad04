"""The run's processes as Ray actors: thin shells around the coordinator, the learners and the players.

Nobody waits for anybody on the way: a worker asks for its next series while it plays, fragments go to
learners by object reference with at most two in flight a player, and weights come back with the answer.

Who starts these actors imports this module, and so does the coordinator. What learns and plays is imported
where it runs: elsewhere it would cost a second and 200 MB.
"""

from __future__ import annotations

import queue
import threading
import time
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import ray

from league.config.run import RunConfig
from league.errors import RuntimeFailedError
from league.pool.records import PlayerRecord
from league.runtime.cluster.inference import RemoteCentre
from league.runtime.cluster.object_store import fetch_or_none
from league.runtime.cluster.replicas import Replicas
from league.runtime.coordinator import Coordinator
from league.runtime.messages import LearnerOrders, LearnerReport, RolloutOrders, WeightsUpdate
from league.runtime.placements import placement_of

if TYPE_CHECKING:
    from agents.fragment import Fragment
    from agents.prefetch import PrefetchedFragment

FRAGMENTS_IN_FLIGHT = 2
TICKS_BETWEEN_CHECKS = 4
POLL_SECONDS = 0.03
ATTEMPTS = 10


def worker_name(number: int) -> str:
    return f"rollout.{number}"


class CoordinatorActor(Coordinator):
    """The coordinator, one call at a time."""


class LearnerActor:
    """Learns in one thread; others take fragments in and hand weights out."""

    def __init__(
        self,
        config: RunConfig,
        checkpoint_url: str,
        worker: int,
        workers: int,
        coordinator: Any,
        replicas: list[Any],
        *,
        local: bool,
    ) -> None:
        """Args: replicas: `LearnerReplicaActor`s that learn with it. local: they are on this machine."""
        from agents.processor import prepare_process
        from league.runtime.learning import LearnerPool

        prepare_process()
        self._config, self._revision = config, 0
        self._replicas = Replicas(replicas, config.learner.device, local=local) if replicas else None
        self._pool = LearnerPool(config, checkpoint_url, worker, workers, self._replicas)
        self._coordinator = coordinator
        self._fragments: queue.Queue[tuple[Fragment | PrefetchedFragment, Any]] = queue.Queue()
        self._room: dict[str, threading.Semaphore] = {}
        self._latest: dict[str, WeightsUpdate] = {}
        self._refs: dict[str, tuple[WeightsUpdate, Any]] = {}
        self._lock = threading.Lock()
        self._stopping = threading.Event()
        self._threads = 1
        # Seconds since the last report.
        self._reported, self._learnt, self._waited = time.monotonic(), 0.0, 0.0

    def create(self) -> tuple[dict[str, str], dict[str, str]]:
        """Stores the learners as they begin."""
        return self._pool.create()

    def resume(self, players: list[PlayerRecord]) -> list[tuple[str, str]]:
        """Goes on from the stored states; see `LearnerPool.resume`."""
        return self._pool.resume(players)

    def publish(self) -> None:
        """Makes the present weights available to workers."""
        for name in self._pool.learners:
            self._publish(name)

    def push(self, fragment: Fragment, known: tuple[int, int]) -> list[Any]:
        """Takes a fragment, waiting while too many of its player's are unlearnt.

        Returns:
          [reference to a WeightsUpdate] when there are weights newer than `known`, else [].
        """
        while not self._room_of(fragment.player).acquire(timeout=0.5):
            if self._stopping.is_set():
                return []
        shared = None if self._replicas is None else self._replicas.hand_out(fragment)
        self._fragments.put((self._pool.prefetch(fragment), shared))
        return self.weights(fragment.player, known)

    def weights(self, player: str, known: tuple[int, int]) -> list[Any]:
        """Returns [reference to a WeightsUpdate] newer than `known` (generation, version), or []."""
        latest = self._latest[player]
        if (latest.generation, latest.version) == known:
            return []
        with self._lock:  # one object a version, however many workers ask
            update, ref = self._refs.get(player, (None, None))
            if update is not latest:
                ref = ray.put(latest)
                self._refs[player] = (latest, ref)
        return [ref]

    def use_threads(self, count: int) -> None:
        """Learns in so many threads from the next fragment on."""
        self._threads = count

    def stop(self) -> None:
        """Ends `run` after the update in progress."""
        self._stopping.set()

    def run(self) -> None:
        """Learns until told to stop, reporting to the coordinator about once a second."""
        import torch

        threads = 1
        asked: Any = None
        last_report = self._reported = time.monotonic()
        while not self._stopping.is_set():
            if threads != self._threads:
                threads = self._threads
                torch.set_num_threads(threads)  # counts for the thread that calls it
                if self._replicas is not None:
                    self._replicas.use_threads(threads)
            begin = time.monotonic()
            try:
                fragment, shared = self._fragments.get(timeout=0.05)
            except queue.Empty:
                self._waited += time.monotonic() - begin
            else:
                got = time.monotonic()
                self._pool.learn(fragment, shared)
                self._waited += got - begin
                self._learnt += time.monotonic() - got
                self._room_of(fragment.player).release()
                self._publish(fragment.player)
            now = time.monotonic()
            if asked is None and now - last_report >= self._config.save_interval_seconds:
                last_report = now
                asked = self._coordinator.exchange_learner.remote(self._report())
            elif asked is not None and ray.wait([asked], timeout=0)[0]:
                orders: LearnerOrders = ray.get(asked)
                asked = None
                self._pool.forget_old_states()
                self._pool.progress = orders.progress
                if orders.config is not None:
                    self._config, self._revision = orders.config, orders.revision
                    self._pool.reconfigure(orders.config)
                if orders.orders:
                    self._pool.obey(orders.orders)
                    self.publish()
                    last_report = 0.0  # the pool should have its new member at once
                if orders.stop:
                    break
        if asked is not None:
            ray.get(asked)
        ray.get(self._coordinator.exchange_learner.remote(self._report()))
        self._pool.forget_old_states()
        self._stopping.set()

    def _report(self) -> LearnerReport:
        report = replace(self._pool.report(), revision=self._revision)
        now = time.monotonic()
        seconds = max(now - self._reported, 1e-3)
        learning, waiting = self._learnt / seconds, self._waited / seconds
        self._reported, self._learnt, self._waited = now, 0.0, 0.0
        spent = {"learning": learning, "transfer": max(0.0, 1.0 - learning - waiting), "waiting": waiting}
        return replace(report, spent=spent)

    def _room_of(self, player: str) -> threading.Semaphore:
        """What a player's fragments wait for, so that no worker runs far ahead of its learner."""
        with self._lock:
            room = self._room.get(player)
            if room is None:
                room = threading.Semaphore(FRAGMENTS_IN_FLIGHT)
                self._room[player] = room
            return room

    def _publish(self, player: str) -> None:
        update = self._pool.weights(player)
        assert update is not None  # noqa: S101  nothing was said to be known
        self._latest[player] = update


class RolloutActor:
    """Plays until told to stop."""

    def __init__(
        self,
        config: RunConfig,
        checkpoint_url: str,
        worker: int,
        seed: int,
        coordinator: Any,
        learners: list[Any],
        server: Any = None,
    ) -> None:
        """Args: learners: the actors that learn, see `placement_of`. server: an `InferenceActor` to ask."""
        from agents.processor import prepare_process
        from league.runtime.rollout import RolloutPlayer

        prepare_process()
        self._config = config
        self._name = worker_name(worker)
        centre = None if server is None else RemoteCentre(server)
        self._player = RolloutPlayer(config, checkpoint_url, worker, seed, centre)
        self._coordinator = coordinator
        self._learner_actors = learners
        self._learners = {name: self._home(name) for name in self._player.learners}
        self._pushes: dict[str, list[Any]] = {name: [] for name in self._learners}
        self._asked: Any = None
        self._last_exchange = self._last_poll = self._interval = 0.0
        self._stopping = False
        self._told_to_stop = threading.Event()
        self._playing_since = time.monotonic()
        self._evaluated = 0.0

    def ready(self) -> bool:
        """Returns when the games are made and everything is compiled."""
        return True

    def stop(self) -> None:
        """Ends `run` without waiting for the next report; called while it runs."""
        self._told_to_stop.set()

    def run(self) -> None:
        """Plays until told to stop, by the coordinator or by `stop`."""
        self._answer(ray.get(self._coordinator.exchange_rollout.remote(self._name, self._player.report())))
        self._playing_since = self._last_exchange = time.monotonic()
        while not self._stopping and not self._told_to_stop.is_set():
            for _ in range(TICKS_BETWEEN_CHECKS):
                self._player.play_training()
            if self._evaluated < self._player.evaluation_share * (time.monotonic() - self._playing_since):
                self._evaluate()
            begin = time.monotonic()
            waited = self._send_fragments()
            self._exchange()
            self._player.add_transfer(time.monotonic() - begin - waited)
        self._stopping = True
        if self._asked is not None:
            ray.get(self._asked)
        ray.get(self._coordinator.exchange_rollout.remote(self._name, self._player.report()))
        self._player.close()

    def _evaluate(self) -> None:
        begin = time.monotonic()
        if not self._player.play_evaluation() and self._player.is_idle:
            time.sleep(0.001)
        self._evaluated += time.monotonic() - begin

    def _send_fragments(self) -> float:
        """Returns the seconds for which learners had to be waited for."""
        waited = 0.0
        for name, learner in self._learners.items():
            pushes = self._pushes[name]
            while self._player.ready_fragments(name) and not self._stopping:
                if pushes:
                    done, pushes[:] = ray.wait(pushes, num_returns=len(pushes), timeout=0)
                    for ref in done:
                        self._take_weights(fetch_or_none(ref) or [])
                if len(pushes) >= FRAGMENTS_IN_FLIGHT:
                    if self._player.ready_fragments(name) < 2:
                        break
                    # Playing on would only make data that is old when it is learnt from.
                    begin = time.monotonic()
                    self._player.play_while_waiting()
                    ray.wait(pushes, timeout=0.002)
                    spent = time.monotonic() - begin
                    self._player.add_waiting(spent)
                    waited += spent
                    self._exchange()
                    continue
                fragment = self._player.fragment(name)
                if fragment is None:  # weights of a new generation came just now and cleared the old one's
                    break
                pushes.append(learner.push.remote(fragment, self._player.version(name)))
        return waited

    def _take_weights(self, refs: list[Any]) -> bool:
        update = fetch_or_none(refs[0]) if refs else None
        if update is not None:
            self._player.apply_weights(update)
        return update is not None

    def _exchange(self) -> None:
        now = time.monotonic()
        if self._asked is None and now - self._last_exchange >= self._interval:
            self._last_exchange = now
            self._asked = self._coordinator.exchange_rollout.remote(self._name, self._player.report())
        elif self._asked is not None and now - self._last_poll >= POLL_SECONDS:
            self._last_poll = now
            if not ray.wait([self._asked], timeout=0)[0]:
                return
            orders: RolloutOrders = ray.get(self._asked)
            self._asked = None
            self._answer(orders)

    def _answer(self, orders: RolloutOrders) -> None:
        self._stopping, self._interval = orders.stop, orders.interval_seconds
        if orders.config is not None:
            self._config = orders.config
        for name in self._player.reconfigure(orders):
            if name not in self._learners:
                self._learners[name], self._pushes[name] = self._home(name), []
            for _ in range(ATTEMPTS):
                if self._take_weights(ray.get(self._learners[name].weights.remote(name, (-1, -1)))):
                    break
            else:
                raise RuntimeFailedError(f"the weights of {name} were lost on the way {ATTEMPTS} times")
        self._player.apply_orders(orders)

    def _home(self, player: str) -> Any:
        return self._learner_actors[placement_of(player, self._config, len(self._learner_actors))]
