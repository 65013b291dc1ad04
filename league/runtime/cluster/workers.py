"""The rollout workers of a run on Ray: as many as are wanted, and another for each that dies.

A worker has nothing that is not written down elsewhere. When one dies its games are lost and nothing else:
the coordinator takes back the series it had, and another worker begins under its number.
"""

from __future__ import annotations

import contextlib
import time
from collections import deque
from collections.abc import Callable
from typing import Any

import ray
from ray.exceptions import GetTimeoutError, ObjectLostError, RayActorError, RayError

from league.errors import RuntimeFailedError
from league.runtime.cluster.actors import worker_name

# So many deaths a worker, and some more, within so long a time: then the whole run is begun anew.
LOSSES_ALLOWED, LOSSES_EACH, WINDOW_SECONDS = 5, 1, 600.0
LONGEST_DELAY_SECONDS = 30.0
START_SECONDS = 60.0


class RolloutWorkers:
    """Starts, watches and replaces workers; none of the calls waits for a game."""

    def __init__(
        self, make: Callable[[int], Any], coordinator: Any, clock: Callable[[], float] = time.monotonic
    ) -> None:
        """Args: make: starts the actor of a number. clock: in seconds."""
        self._make, self._coordinator, self._clock = make, coordinator, clock
        self._wanted = 0
        self._actors: dict[int, Any] = {}
        self._ready: dict[int, Any] = {}
        self._loops: dict[int, Any] = {}  # by number, of those that play
        self._leaving: dict[int, Any] = {}
        self._due: dict[int, float] = {}  # when the successor of a dead one starts
        self._losses: deque[float] = deque()

    def prepare(self, count: int) -> None:
        """Starts the processes of the first workers; they make their games and wait."""
        self._wanted = count
        for number in range(count):
            self._start_process(number)

    def start(self) -> None:
        """Lets the first workers play; returns when one is ready, or none has found room for a minute.

        The others begin as they can.

        Raises:
          RayError: it did not start.
        """
        for number, actor in self._actors.items():
            self._loops[number] = actor.run.remote()
        first, _ = ray.wait(list(self._ready.values()), num_returns=1, timeout=START_SECONDS)
        ray.get(first)

    def watch(self) -> None:
        """Replaces the dead, at once at first and ever later when they keep dying.

        Raises:
          RayError: a worker ended on an error of its own. RuntimeFailedError: they keep dying.
        """
        loops = {**self._loops, **self._leaving}
        for number in _done(loops, 0.0):
            try:
                ray.get(loops[number])
            except (RayActorError, ObjectLostError) as error:
                self._lost(number, error)
            else:
                if number in self._leaving:
                    self._forget(number)
        now = self._clock()
        for number in [n for n, due in self._due.items() if due <= now]:
            del self._due[number]
            self._begin(number)

    def scale(self, count: int) -> None:
        """Lets so many play: starts more, or has the last ones finish and leave."""
        if count == self._wanted:
            return
        self._wanted = count
        for number in [n for n in self._loops if n >= count]:
            ray.get(self._coordinator.dismiss.remote(worker_name(number)))
            self._actors[number].stop.remote()
            self._leaving[number] = self._loops.pop(number)
        for number in [n for n in self._due if n >= count]:
            del self._due[number]
        for number in range(count):
            if number not in self._actors and number not in self._due:
                self._begin(number)

    def finish(self, timeout: float) -> None:
        """Has all stop and waits for it; those that die meanwhile have stopped, too.

        Raises:
          RayError: one ended on an error of its own, or some have not stopped in time.
        """
        loops = {**self._loops, **self._leaving}
        for number in loops:
            self._actors[number].stop.remote()
        # A worker that never found room to start has nothing to report.
        begun = _done({n: self._ready[n] for n in loops}, 0.0)
        stopped = _done({n: loops[n] for n in begun}, timeout)
        for number in stopped:
            with contextlib.suppress(RayActorError, ObjectLostError):
                ray.get(loops[number])
        if len(stopped) < len(begun):
            late = ", ".join(worker_name(n) for n in begun if n not in stopped)
            raise GetTimeoutError(f"{late} did not stop in {timeout:.0f} s")

    def _begin(self, number: int) -> None:
        ray.get(self._coordinator.admit.remote(worker_name(number)))
        self._start_process(number)
        self._loops[number] = self._actors[number].run.remote()

    def _start_process(self, number: int) -> None:
        actor = self._actors[number] = self._make(number)
        self._ready[number] = actor.ready.remote()

    def _lost(self, number: int, error: RayError) -> None:
        was_leaving = number in self._leaving
        reason = str(error).strip().splitlines()[0]
        ray.kill(self._actors[number])  # one that is only out of reach must not come back as a second
        self._forget(number)
        ray.get(self._coordinator.lose.remote(worker_name(number), reason))
        if was_leaving:
            return
        now = self._clock()
        while self._losses and self._losses[0] < now - WINDOW_SECONDS:
            self._losses.popleft()
        self._losses.append(now)
        lost = len(self._losses)
        if lost > LOSSES_ALLOWED + LOSSES_EACH * self._wanted:
            raise RuntimeFailedError(
                f"rollout workers died {lost} times in {WINDOW_SECONDS / 60:.0f} minutes; the last: {reason}"
            )
        delay = 0.0 if lost <= self._wanted else 2.0 ** (lost - self._wanted)
        self._due[number] = now + min(delay, LONGEST_DELAY_SECONDS)

    def _forget(self, number: int) -> None:
        self._loops.pop(number, None)
        self._leaving.pop(number, None)
        del self._actors[number], self._ready[number]


def _done(calls: dict[int, Any], timeout: float) -> list[int]:
    """Returns the numbers of those calls that have come back, waiting so many seconds for all."""
    if not calls:
        return []
    done, _ = ray.wait(list(calls.values()), num_returns=len(calls), timeout=timeout)
    return [number for number, call in calls.items() if call in done]
