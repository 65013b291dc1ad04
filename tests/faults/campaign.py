"""Faults one after the other at a site, each waited for until the league plays again and the API answers."""

from __future__ import annotations

import os
import random
import statistics
import time
from collections.abc import Callable
from dataclasses import dataclass, field

from league.errors import DatabaseError
from tests.faults.kinds import Fault, damaged_state
from tests.faults.oracle import Oracle
from tests.faults.site import Site

RECOVERED_MOVES = 2_000
LONGEST_SECONDS = 240.0
REST_SECONDS = 4.0


@dataclass
class Record:
    """What came of it.

    Attributes:
      recoveries: seconds until the league played again, by fault. memory: MiB by kind of process, with the
        time at which each was seen. results: seen and still there. problems: what should not be.
    """

    recoveries: dict[str, list[float]] = field(default_factory=dict)
    memory: dict[str, list[tuple[float, float]]] = field(default_factory=dict)
    results: int = 0
    problems: list[str] = field(default_factory=list)
    minutes: float = 0.0

    @property
    def faults(self) -> int:
        return sum(map(len, self.recoveries.values()))

    def growth(self) -> dict[str, tuple[float, float]]:
        """Returns MiB of each kind of process, medians of the first and the last third after warm-up."""
        found = {}
        for kind, seen in self.memory.items():
            warm = [held for at, held in seen if at > 0.1 * 60.0 * self.minutes]
            third = len(warm) // 3
            if third:
                found[kind] = (statistics.median(warm[:third]), statistics.median(warm[-third:]))
        return found


class Campaign:
    """Injects faults into one site."""

    def __init__(self, site: Site, rng: random.Random, tell: Callable[[str], None]) -> None:
        self._site, self._rng, self._tell = site, rng, tell
        self._oracle = Oracle(site, clock_jumps="FAULT_CLOCK" in os.environ)
        self.record = Record()
        self._begin = time.monotonic()
        self._recover(0.0, "start")

    def inject(self, name: str, fault: Fault) -> None:
        """Does it, and waits until it is overcome."""
        told = len(self._oracle.problems)
        self._rest()
        if fault is damaged_state:
            self._oracle.expect_damage()
        is_over = fault(self._site, self._rng)
        begin = time.monotonic()
        while is_over is not None and not is_over() and time.monotonic() < begin + LONGEST_SECONDS:
            self._site.keep()
            time.sleep(0.3)
        self._recover(self._moves(), name)
        seconds = time.monotonic() - begin
        self.record.recoveries.setdefault(name, []).append(seconds)
        self._tell(f"{name}: {seconds:.1f} s")
        for problem in self._oracle.problems[told:]:
            self._tell(f"  {problem}")

    def settle(self) -> Record:
        """Ends the site and counts everything again."""
        self.record.minutes = (time.monotonic() - self._begin) / 60.0
        left = self._site.close()
        self._oracle.settle()
        self.record.results = self._oracle.results
        self.record.problems = [*self._oracle.problems, *left]
        return self.record

    def _rest(self) -> None:
        end = time.monotonic() + self._rng.uniform(0.0, 2.0 * REST_SECONDS)
        self._remember_memory()
        while time.monotonic() < end:
            self._look()
            time.sleep(0.3)

    def _recover(self, moves: float, name: str) -> None:
        end = time.monotonic() + LONGEST_SECONDS
        while time.monotonic() < end:
            self._site.keep()
            if self._look() > moves + RECOVERED_MOVES and self._site.answers():
                return
            time.sleep(0.3)
        raise AssertionError(f"{name}: not overcome in {LONGEST_SECONDS:.0f} s; see {self._site.home}/*.log")

    def _moves(self) -> float:
        """Returns the moves so far, once they can be read."""
        while True:
            if (moves := self._look()) >= 0:
                return moves
            time.sleep(0.3)

    def _look(self) -> float:
        try:
            return self._oracle.look()["moves"]
        except DatabaseError:
            return -1.0

    def _remember_memory(self) -> None:
        at = time.monotonic() - self._begin
        for kind, held in self._site.memory().items():
            self.record.memory.setdefault(kind, []).append((at, held))
