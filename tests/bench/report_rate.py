"""What one coordinator bears: `python -m tests.bench.report_rate` (a minute; 10,000 workers take seven more).

A real coordinator over a real database is asked by as many workers as wanted, at the pace it sets. Their
games are drawn from players of known strength instead of being played, and nobody waits for the clock: a
moment in which the coordinator has nothing to do is over at once.
"""

from __future__ import annotations

import argparse
import heapq
import pickle
import tempfile
import time
from dataclasses import dataclass, field, replace
from pathlib import Path

import numpy as np

from agents.acting.seating import Series, SeriesResult
from league.bootstrap import Stores
from league.config.run import RunConfig
from league.runtime.coordinator import Coordinator
from league.runtime.messages import RolloutOrders, RolloutReport
from league.store.repositories.runs import RunRepository
from league.study.simulation import STEPS_PER_EPISODE, Truth

# What a core plays a second of Connect Four, by which a worker's reports are sized.
GAMES_A_SECOND = 20_000.0
RATED_SHARE = 0.1
# As when it has run for hours.
NEVER = 10**12
PLAYERS = {"role": "main", "count": 4, "snapshot": {"min_steps": NEVER, "max_steps": NEVER}}


@dataclass(frozen=True)
class Load:
    """Of one coordinator asked by so many workers, over the last part of the time.

    Attributes:
      exchange_ms: the median. busy: the share of its time in exchanges. interval_seconds: between two reports
        of a worker. episodes: of a training series. series: reported a second by all. report_bytes: of a
      report and its answer on their way, the median. database_mb: that the database grows in an hour.
    """

    workers: int
    exchange_ms: float
    busy: float
    interval_seconds: float
    episodes: int
    series: float
    report_bytes: int
    database_mb: float


@dataclass
class Worker:
    """Plays what it is told in the order it is told, in no time."""

    last: float = 0.0
    reports: int = 0
    training: list[tuple[Series, int]] = field(default_factory=list)
    evaluation: list[tuple[Series, int]] = field(default_factory=list)

    def report(self, now: float, truth: Truth, num_envs: int) -> RolloutReport:
        games = int(GAMES_A_SECOND * (now - self.last))
        rated = int(RATED_SHARE * games)
        self.last, self.reports = now, self.reports + 1
        results: list[SeriesResult] = []
        wanted = []
        for queue, played in ((self.training, games), (self.evaluation, rated)):
            left = played
            while queue and left >= queue[0][1]:
                series, rest = queue.pop(0)
                left -= rest
                results += truth.play([series])
            if queue:
                queue[0] = (queue[0][0], queue[0][1] - left)
            wanted.append(max(0, 2 * max(num_envs, played) - sum(rest for _, rest in queue)))
        moves, life = 2 * STEPS_PER_EPISODE * (games + rated), str(id(self))
        return RolloutReport(results, moves, games + rated, *wanted, {}, life=life, number=self.reports)

    def take(self, orders: RolloutOrders) -> None:
        self.training += [(s, s.episodes) for s in orders.training]
        self.evaluation += [(s, s.episodes) for s in orders.evaluation]


class Clock:
    """Time that passes while the coordinator works, and is skipped while it does not."""

    def __init__(self) -> None:
        self._offset, self._real = 0.0, time.perf_counter()

    def __call__(self) -> float:
        return self._offset + time.perf_counter() - self._real

    def rewind(self, to: float) -> None:
        """Sets what time it is: whatever else was done meanwhile took none."""
        self._offset, self._real = to, time.perf_counter()


def measure(workers: int, seconds: float) -> Load:
    """Lets so many workers ask for so many seconds of their time, at least until each has reported thrice."""
    rng, clock = np.random.default_rng(0), Clock()
    truth = Truth(400.0, rng)
    config = RunConfig.from_data(
        {"name": "load", "players": [PLAYERS], "stop": {"minutes": 100_000}, "rollout": {"workers": workers}}
    )
    with tempfile.TemporaryDirectory() as home:
        stores = Stores(f"sqlite:///{Path(home) / 'league.db'}", str(Path(home) / "checkpoints"))
        database = stores.open_database(upgrade=True)
        run = stores.service().launch(config)
        token = RunRepository(database).claim(run.id, "bench", 86_400.0)
        if token is None:
            raise RuntimeError("a run that nobody owns could not be claimed")
        clock.rewind(0.0)
        coordinator = Coordinator(config, stores.database_url, run.id, token, clock)
        nothing = dict.fromkeys(config.roster(), "0" * 64)
        coordinator.create(nothing, nothing)
        truth.strength = {name: float(rng.normal(0.0, 400.0)) for name in [*nothing, "random"]}
        size = Path(home, "league.db").stat().st_size
        load = _ask(coordinator, clock, truth, workers, seconds)
        coordinator.close()
        database.close()
        grown = Path(home, "league.db").stat().st_size - size
        return replace(load, database_mb=grown / 2**20 * 3600.0 / clock())


def _ask(coordinator: Coordinator, clock: Clock, truth: Truth, workers: int, seconds: float) -> Load:
    pool = [Worker() for _ in range(workers)]
    due = [(0.0, number) for number in range(workers)]
    spent: list[tuple[float, float]] = []
    passed: list[tuple[float, int, int]] = []
    now, reports = 0.0, 0
    while now < seconds or reports < 4 * workers:
        at, number = heapq.heappop(due)
        worker = pool[number]
        report = worker.report(max(now, at), truth, 4096)
        clock.rewind(max(now, at))
        begin = clock()
        orders = coordinator.exchange_rollout(f"rollout.{number}", report)
        now = clock()
        worker.take(orders)
        spent.append((begin, now - begin))
        passed.append((begin, len(report.results), len(pickle.dumps((report, orders), 5))))
        clock.rewind(now)
        heapq.heappush(due, (now + orders.interval_seconds, number))
        reports += 1
    window = max(5.0, 2.0 * orders.interval_seconds)
    last = [cost for begin, cost in spent if begin >= now - window]
    busy = sum(last) / window
    lately = [(count, size) for begin, count, size in passed if begin >= now - window]
    series = sum(count for count, _ in lately) / window
    report_bytes = int(np.median([size for _, size in lately]))
    episodes = max((s.episodes for s in orders.training), default=0)
    exchange_ms, interval = 1e3 * float(np.median(last)), orders.interval_seconds
    return Load(workers, exchange_ms, busy, interval, episodes, series, report_bytes, 0.0)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--workers", type=int, nargs="*", default=[1, 10, 100, 1000])
    parser.add_argument("--seconds", type=float, default=30.0, help="of the workers' time")
    options = parser.parse_args()
    print(
        "| workers | an exchange, ms | coordinator busy | report every | episodes of a series | series/s | "
        "report and answer, KB | database, MB an hour |"
    )
    print("|---|---|---|---|---|---|---|---|")
    for workers in options.workers:
        load = measure(workers, options.seconds)
        figures = f"{load.exchange_ms:.1f} | {100 * load.busy:.0f} % | {load.interval_seconds:g} s"
        more = f"{load.series:,.0f} | {load.report_bytes / 1024:.1f} | {load.database_mb:,.0f}"
        print(f"| {workers:,} | {figures} | {load.episodes:,} | {more} |", flush=True)


if __name__ == "__main__":
    main()
