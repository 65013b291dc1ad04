"""Claims runs and keeps them going: the only one who may, by lease and fencing token."""

from __future__ import annotations

import contextlib
import os
import secrets
import socket
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial
from typing import TypeVar

from agents.errors import DeviceError
from league.config.run import RunConfig
from league.config.sections import PlacementConfig
from league.errors import (
    BadGamesError,
    LeaseLostError,
    RunBusyError,
    RuntimeFailedError,
    StoreWaitsError,
)
from league.pool.records import DesiredState, EventRecord, RunRecord, RunState
from league.runtime.coordinator import Coordinator
from league.runtime.messages import RunStatus
from league.runtime.restarts import Restarts
from league.store.backoff import Backoff
from league.store.checkpoints import CheckpointStore
from league.store.repositories.league_state import LeagueRepository
from league.store.repositories.runs import RunRepository
from league.store.session import Database
from league.store.thin import thin_held_run

LEASE_SECONDS = 10.0
HEARTBEAT_SECONDS = 2.0
STATUS_SECONDS = 0.5
REASON_LENGTH = 1000

OnStatus = Callable[[RunStatus], None]
T = TypeVar("T")


class Supervisor:
    """Runs leagues out of a database: claims, starts, watches, restarts, releases."""

    def __init__(self, database_url: str, checkpoint_url: str, ray_address: str | None = None) -> None:
        """Args: ray_address: of a cluster to spread runs over; None: a Ray of each run's own on this machine.

        Raises:
          DatabaseError, CheckpointError: a store cannot be opened.
        """
        self._ray_address = ray_address
        self._database = Database(database_url)
        self._database.require_current()
        self._runs = RunRepository(self._database)
        self._checkpoint_url = CheckpointStore(checkpoint_url).url
        self._owner = f"{socket.gethostname()}:{os.getpid()}"

    def is_owner(self, owner: str | None) -> bool:
        """Whether a lease's owner is this supervisor."""
        return owner == self._owner

    def wait_for_claim(self, run_id: str, stop: threading.Event, on_wait: Callable[[float], None]) -> int:
        """Claims a run, waiting out the lease of an owner that has died.

        Args:
          on_wait: called once with the seconds to wait.

        Raises:
          RunBusyError: its owner is alive: the lease was prolonged while waiting.
        """
        waited_for: float | None = None
        while True:
            token = self._runs.claim(run_id, self._owner, LEASE_SECONDS)
            if token is not None:
                return token
            left = self._runs.lease_left(run_id)
            if waited_for is None:
                waited_for = left
                on_wait(left)
            elif left > waited_for or stop.is_set():
                owner = self._runs.get(run_id).lease_owner
                raise RunBusyError(f"run {run_id} is being run by {owner}; stop it there first")
            else:
                waited_for = left
            time.sleep(0.5)

    def supervise(self, run_id: str, token: int, stop: threading.Event, on_status: OnStatus) -> RunRecord:
        """Runs a claimed run until it is finished, paused, told to stop, or lost.

        Args:
          stop: set from outside to pause the run (Ctrl-C).
          on_status: called about twice a second while it plays.

        Raises:
          LeaseLostError: somebody else owns the run now.
          StoreWaitsError: told to stop while the database was away; the run goes on from it another time.
          RuntimeFailedError: its processes died more often than they may; the run is marked failed.
        """
        with self._heartbeats(run_id, token) as desired:
            restarts = Restarts()
            while True:
                restarts.begin()
                try:
                    # Read anew each time: somebody may have changed it, or a player begun to learn.
                    record = self._when_it_works(stop, lambda: self._runs.get(run_id))
                    config = RunConfig.from_data(record.config, f"run {run_id}")
                    self._when_it_works(stop, partial(self._make_room, config, run_id, token))
                    finished = self._play(config, run_id, token, stop, desired, on_status)
                    break
                except (BadGamesError, DeviceError) as error:
                    self._runs.release(run_id, token, "failed", str(error)[:REASON_LENGTH])
                    raise
                except RuntimeFailedError as error:
                    self._when_it_works(stop, partial(self._note, run_id, "restarted", str(error)))
                    if (delay := restarts.delay()) is None:
                        self._runs.release(run_id, token, "failed", str(error)[:REASON_LENGTH])
                        raise
                    stop.wait(delay)
                except StoreWaitsError as error:
                    # Full or away for longer: the processes have ended, and start when it is back.
                    self._when_it_works(stop, partial(self._note, run_id, "store_waited", str(error)))
            state: RunState
            if finished:
                state, reason = "finished", "reached its stop rule"
            elif desired() == "stopped":
                state, reason = "finished", "stopped"
            else:
                state, reason = "paused", "interrupted" if stop.is_set() else "paused"
            Backoff()(lambda: self._runs.release(run_id, token, state, reason))
        return self._runs.get(run_id)

    def _make_room(self, config: RunConfig, run_id: str, token: int) -> None:
        """Deletes the weights of copies that the run does not keep, while nobody plays them."""
        if config.retention.copies is not None:
            store = CheckpointStore(self._checkpoint_url)
            thin_held_run(self._database, store, run_id, token, config.retention.copies)

    def _note(self, run_id: str, kind: str, reason: str) -> None:
        event = EventRecord(kind, data={"reason": reason[:REASON_LENGTH]})
        LeagueRepository(self._database, run_id).add_event(event)

    def _when_it_works(self, stop: threading.Event, do: Callable[[], T]) -> T:
        """Does something with the database as soon as that can be used.

        Raises:
          StoreWaitsError: it was told to stop before.
        """
        while True:
            try:
                return do()
            except StoreWaitsError:
                if stop.wait(1.0):
                    raise

    def serve(self, stop: threading.Event, on_status: OnStatus, poll_seconds: float = 1.0) -> None:
        """Claims and runs whatever shall run, one run after another, until told to stop."""
        while not stop.wait(poll_seconds):
            # What went wrong is in the run's events; the next run is not to suffer.
            with contextlib.suppress(LeaseLostError, RuntimeFailedError, DeviceError, StoreWaitsError):
                for run in self._runs.claimable():
                    token = self._runs.claim(run.id, self._owner, LEASE_SECONDS)
                    if token is not None:
                        self.supervise(run.id, token, stop, on_status)
                        break

    def _play(
        self,
        config: RunConfig,
        run_id: str,
        token: int,
        stop: threading.Event,
        desired: Callable[[], DesiredState],
        on_status: OnStatus,
    ) -> bool:
        """Plays until the end or until told to stop; returns whether the stop rule was reached."""

        def wanted() -> bool:
            return not stop.is_set() and desired() == "running"

        record, players = self._when_it_works(stop, LeagueRepository(self._database, run_id).load_roster)
        if config.topology == "sync":
            _require_hardware(config)
            return self._play_serially(config, run_id, token, wanted, on_status)
        if self._ray_address is None:
            # Ray reads this when it is imported. By its name it is for other systems; what it does is keep
            # every Ray server on loopback, which ray.init's own node address does not.
            os.environ["RAY_ENABLE_WINDOWS_OR_OSX_CLUSTER"] = "0"
            # Others on this machine may knock at loopback, too: they lack the token.
            os.environ["RAY_AUTH_MODE"] = "token"
            os.environ.setdefault("RAY_AUTH_TOKEN", secrets.token_hex(32))
        # Half a second that a serial run need not pay.
        from league.runtime.cluster.run import RayRun, cluster_ray, local_ray

        if self._ray_address is None:  # on one machine the processes share what there is
            _require_hardware(config)
            config = config.model_copy(update={"placement": PlacementConfig()})
        with cluster_ray(self._ray_address) if self._ray_address else local_ray(config):
            run = RayRun(
                config,
                record,
                players,
                database_url=self._database.url,
                checkpoint_url=self._checkpoint_url,
                token=token,
                local=self._ray_address is None,
            )
            if players:
                run.note("resumed", play_seconds=record.play_seconds)
            status = run.status()
            while wanted() and not status.finished:
                stop.wait(STATUS_SECONDS)
                status = run.status()
                run.balance(status)
                on_status(status)
            if not wanted():
                run.note("interrupted" if stop.is_set() else desired())
            finished = status.finished
            run.finish()
            if finished:
                on_status(run.status())
            if status.failure is not None:
                raise BadGamesError(status.failure)
            return finished

    def _play_serially(
        self, config: RunConfig, run_id: str, token: int, wanted: Callable[[], bool], on_status: OnStatus
    ) -> bool:
        import torch

        from league.runtime.cluster.inference import new_server
        from league.runtime.learning import LearnerPool
        from league.runtime.rollout import RolloutPlayer
        from league.runtime.serial import run_serial

        record, players = LeagueRepository(self._database, run_id).load_roster()
        torch.set_num_threads(1)  # the order of sums must not depend on the machine
        coordinator = Coordinator(config, self._database.url, run_id, token)
        learning = LearnerPool(config, self._checkpoint_url)
        centre = new_server(config, self._checkpoint_url) if config.has_central else None
        seed = (config.seed * 10_007 + record.next_series) % 2**31
        rollout = RolloutPlayer(config, self._checkpoint_url, 0, seed, centre)
        if players:
            for name, problem in learning.resume(players):
                coordinator.note("checkpoint_damaged", name, reason=problem)
        else:
            coordinator.create(*learning.create())

        def exchanged(status: RunStatus) -> bool:
            on_status(status)
            return wanted()

        with contextlib.closing(rollout):
            run_serial(
                coordinator,
                rollout,
                learning,
                on_exchange=exchanged,
            )
        failure = coordinator.status().failure
        if failure is not None:
            raise BadGamesError(failure)
        return coordinator.progress() >= 1.0

    @contextmanager
    def _heartbeats(self, run_id: str, token: int) -> Iterator[Callable[[], DesiredState]]:
        """Prolongs the lease in a thread of its own: starting processes may take longer than a lease."""
        desired: list[DesiredState] = ["running"]
        over = threading.Event()

        def beat() -> None:
            while not over.wait(HEARTBEAT_SECONDS):
                try:
                    desired[0] = self._runs.heartbeat(run_id, token, LEASE_SECONDS)
                except LeaseLostError:
                    desired[0] = "paused"  # nothing can be written any more; the loop ends by itself
                    return
                except StoreWaitsError:
                    continue  # who claims the run meanwhile has it; nobody can while it is locked or away

        thread = threading.Thread(target=beat, name="heartbeat", daemon=True)
        thread.start()
        try:
            yield lambda: desired[0]
        finally:
            over.set()
            thread.join()


def _require_hardware(config: RunConfig) -> None:
    """Raises: DeviceError: a learner or a server is to run on what this machine does not have."""
    learners = [config.learner, *(e.learner for e in config.players if e.learner is not None)]
    if any(learner.device == "cuda" for learner in learners) or config.inference.device == "cuda":
        from agents.processor import resolve_device  # torch: not needed to say yes to a CPU

        resolve_device("cuda")
    if any(learner.compile for learner in learners):
        from agents.processor import require_compiler

        require_compiler()
