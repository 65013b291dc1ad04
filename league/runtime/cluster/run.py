"""One run on Ray: starts its actors, watches them, brings them to an end."""

from __future__ import annotations

import contextlib
import logging
import os
import shutil
import signal
import tempfile
import threading
import time
from collections.abc import Iterator
from itertools import count
from typing import Any

import ray
from ray.exceptions import RayError
from ray.util.scheduling_strategies import NodeAffinitySchedulingStrategy

from league.config.run import RunConfig
from league.config.sections import ResourcesConfig
from league.errors import LeaseLostError, RuntimeFailedError, StoreWaitsError
from league.pool.records import PlayerRecord, RunRecord
from league.runtime.cluster.actors import CoordinatorActor, LearnerActor, RolloutActor
from league.runtime.cluster.balance import Balance, Shares, threads_each
from league.runtime.cluster.inference import InferenceActor
from league.runtime.cluster.reaper import reaped
from league.runtime.cluster.replicas import LearnerReplicaActor
from league.runtime.cluster.workers import RolloutWorkers
from league.runtime.messages import RunStatus

OBJECT_STORE_BYTES = 512 * 1024 * 1024
# Ray lets go of learnt fragments once a second, 100 MB of them by then, which every process would have seen.
# What it writes down about every call is for its dashboard, which is off: 0.05 MB a second in its head.
# A head that is gone stays gone; Ray would wait for it for a minute.
SYSTEM = {
    "free_objects_period_milliseconds": 50,
    "task_events_report_interval_ms": 0,
    "gcs_rpc_server_reconnect_timeout_s": 5,
}
CONCURRENT_CALLS = 64
# Ray starts nothing beyond the cores it was told of, and workers may be added while a run runs.
SPARE_WORKERS = 256
# A cluster in which no machine has room for the learners is not waited for longer.
START_SECONDS = 300.0
# The folders of this process's Ray sessions.
_ENDED: list[str] = []


@contextlib.contextmanager
def local_ray(config: RunConfig) -> Iterator[None]:
    """A Ray of our own for the block: on loopback, without dashboard, gone at the end.

    Its servers die with this process, however it dies (Ray ties them to its driver by PR_SET_PDEATHSIG), and
    a reaper sees to the rest.
    """
    cores = os.cpu_count() or 1
    workers = cores if config.rollout.workers == "auto" else config.rollout.workers
    folder = tempfile.mkdtemp(prefix="league-ray-")
    # Ray would warn of each of these on a terminal that shows the league's progress.
    os.environ.setdefault("RAY_ACCEL_ENV_VAR_OVERRIDE_ON_ZERO", "0")
    os.environ.setdefault("RAY_USAGE_STATS_ENABLED", "0")
    with reaped(folder):
        _join(
            address="local",
            num_cpus=max(cores, workers)
            + config.learner_workers * config.learner_processes
            + config.inference.servers
            + SPARE_WORKERS,
            include_dashboard=False,
            log_to_driver=False,
            logging_level=logging.ERROR,
            object_store_memory=OBJECT_STORE_BYTES,
            _system_config=SYSTEM,
            _temp_dir=folder,
        )
        try:
            yield
        finally:
            ray.shutdown()
            for earlier in _ENDED:  # while another session lasts Ray makes them again
                shutil.rmtree(earlier, ignore_errors=True)
            _ENDED.append(folder)


@contextlib.contextmanager
def cluster_ray(address: str) -> Iterator[None]:
    """A Ray that is there already, for the block; what we start in it goes when this process goes.

    Raises:
      RuntimeFailedError: nobody answers there.
    """
    try:
        _join(address=address, log_to_driver=False, logging_level=logging.ERROR)
    except (ConnectionError, RuntimeError, ValueError) as error:
        raise RuntimeFailedError(f"no Ray cluster answers at {address}: {error}") from error
    try:
        yield
    finally:
        ray.shutdown()


def _join(**options: Any) -> None:
    """Begins or joins a Ray and keeps what answers SIGTERM: Ray's would die on the spot, ours saves first."""
    terminated = signal.getsignal(signal.SIGTERM)
    ray.init(**options)
    if threading.current_thread() is threading.main_thread():
        signal.signal(signal.SIGTERM, terminated)


def _needs(claimed: ResourcesConfig) -> dict[str, Any]:
    """What Ray is told of an actor that claims this."""
    return {"num_cpus": claimed.cpus, "num_gpus": claimed.gpus, "resources": dict(claimed.resources)}


class RayRun:
    """The actors of one run."""

    def __init__(
        self,
        config: RunConfig,
        record: RunRecord,
        players: list[PlayerRecord],
        *,
        database_url: str,
        checkpoint_url: str,
        token: int,
        local: bool,
    ) -> None:
        """Starts the actors and founds the league, or goes on.

        Args:
          players: the run's, without its snapshots; nobody when it is new.
          local: this machine is all there is.

        Raises:
          LeaseLostError: another supervisor owns the run.
          RuntimeFailedError: an actor did not start.
        """
        run_id = record.id
        workers = min(config.learner_workers, len(config.roster()))
        self._config, self._checkpoint_url, self._is_local = config, checkpoint_url, local
        # A resumed run must not draw the games of its first life again.
        self._seed = config.seed * 10_007 + record.next_series * 101
        with _translated():
            # The database may be a file of this machine.
            here = NodeAffinitySchedulingStrategy(ray.get_runtime_context().get_node_id(), soft=False)
            self._coordinator = (
                ray.remote(CoordinatorActor)
                .options(num_cpus=0, scheduling_strategy=here)
                .remote(config, database_url, run_id, token, learner_workers=workers)
            )
            make_learner = ray.remote(LearnerActor).options(
                max_concurrency=CONCURRENT_CALLS, **_needs(config.placement.learner)
            )
            make_replica = ray.remote(LearnerReplicaActor).options(**_needs(config.placement.learner))
            self._replicas = [
                [make_replica.remote() for _ in range(config.learner_processes - 1)] for _ in range(workers)
            ]
            self._learners = [
                make_learner.remote(
                    config, checkpoint_url, i, workers, self._coordinator, replicas, local=local
                )
                for i, replicas in enumerate(self._replicas)
            ]
            make_rollout = ray.remote(RolloutActor).options(
                max_concurrency=2,  # one plays, the other hears that it shall stop
                **_needs(config.placement.rollout),
            )
            make_server = ray.remote(InferenceActor).options(
                max_concurrency=CONCURRENT_CALLS, **_needs(config.placement.inference)
            )
            servers = [
                make_server.remote(config, checkpoint_url)
                for _ in range(config.inference.servers if config.has_central else 0)
            ]
            self._servers = servers  # they live as long as somebody knows them
            lives = count()

            def new_rollout(number: int) -> Any:
                seed = (self._seed + 10 * number + 1_000_003 * next(lives)) % 2**31
                server = servers[number % len(servers)] if servers else None
                home = (config, checkpoint_url, number, seed, self._coordinator, self._learners, server)
                return make_rollout.remote(*home)

            self._rollouts = RolloutWorkers(new_rollout, self._coordinator)
            self._learning_cores = workers * config.learner_processes
            self._balance = Balance(self._cores(), self._learning_cores, time.monotonic())
            wanted = config.rollout.workers
            first = self._balance.workers if wanted == "auto" else wanted
            self._rollouts.prepare(first)
            self._threads = 1
            if local:
                self._give_threads(threads_each(self._cores(), first, self._learning_cores))
            if players:
                for problems in ray.get(
                    [a.resume.remote(players) for a in self._learners], timeout=START_SECONDS
                ):
                    for name, problem in problems:
                        self.note("checkpoint_damaged", name, reason=problem)
            else:
                initial: dict[str, str] = {}
                states: dict[str, str] = {}
                for founded in ray.get([a.create.remote() for a in self._learners], timeout=START_SECONDS):
                    initial |= founded[0]
                    states |= founded[1]
                ray.get(self._coordinator.create.remote(initial, states))
            ray.get([a.publish.remote() for a in self._learners])
            self._learning = [a.run.remote() for a in self._learners]
            self._rollouts.start()

    def status(self) -> RunStatus:
        """Returns where the run is, having replaced rollout workers that died.

        Raises:
          LeaseLostError: another supervisor owns the run. RuntimeFailedError: another actor died.
        """
        with _translated():
            done, _ = ray.wait(self._learning, num_returns=len(self._learning), timeout=0)
            ray.get(done)  # raises what ended a loop that should not have ended
            self._rollouts.watch()
            status: RunStatus = ray.get(self._coordinator.status.remote(), timeout=60)
            return status

    def balance(self, status: RunStatus) -> None:
        """Lets as many workers play as shall, or as go well with the learners. Raises: as `status`."""
        with _translated():
            workers = status.workers
            if workers is None:
                now = time.monotonic()
                self._balance.resize(self._cores(), now)
                self._balance.look(Shares(status.workers_wait, status.learners_wait), now)
                workers = self._balance.workers
            self._rollouts.scale(workers)
            if self._is_local:
                self._give_threads(threads_each(self._cores(), workers, self._learning_cores))

    def _cores(self) -> int:
        """Of this machine, or as many workers as the cluster has room for, and the learners' beside them."""
        if self._is_local:
            return os.cpu_count() or 1
        room: dict[str, float] = ray.cluster_resources()
        placement = self._config.placement
        learners = self._learning_cores
        left = max(0.0, room.get("CPU", 0.0) - learners * placement.learner.cpus)
        workers = int(left / placement.rollout.cpus)
        for kind, claimed in placement.rollout.resources.items():
            workers = min(workers, int(room.get(kind, 0.0) / claimed))
        return workers + learners

    def _give_threads(self, threads: int) -> None:
        if threads != self._threads:
            self._threads = threads
            ray.get([a.use_threads.remote(threads) for a in self._learners])

    def note(self, kind: str, player: str | None = None, **data: Any) -> None:
        """Writes an event down."""
        with _translated():
            ray.get(self._coordinator.note.remote(kind, player, **data))

    def finish(self, timeout: float = 20.0) -> None:
        """Stops play, saves the learners, writes everything. Raises: as `status`."""
        with _translated():
            ray.get(self._coordinator.stop.remote())
            self._rollouts.finish(timeout)
            for learner in self._learners:
                ray.get(learner.stop.remote())
            ray.get(self._learning, timeout=timeout)
            ray.get(self._coordinator.flush.remote())


@contextlib.contextmanager
def _translated() -> Iterator[None]:
    """Ray's errors as the league's."""
    try:
        yield
    except RayError as error:
        cause = getattr(error, "cause", None)
        for kind in (LeaseLostError, StoreWaitsError):
            if isinstance(cause, kind):
                raise kind(str(cause)) from error
        last_line = str(error).strip().splitlines()[-1]
        raise RuntimeFailedError(f"a process of the run failed: {last_line}") from error
