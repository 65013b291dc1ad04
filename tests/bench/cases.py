"""The leagues that are measured, each one against a pool that is there from the start."""

from __future__ import annotations

import tempfile
import threading
import time
from dataclasses import dataclass, field
from typing import Any

from agents.networks.build import build
from agents.networks.weights import dump_network
from league.bootstrap import Stores
from league.config.run import RunConfig
from league.control.access import LOCAL
from league.control.sources import NewPlayer
from league.runtime.messages import RunStatus
from league.runtime.supervisor import Supervisor

WARM_UP_SECONDS = 8.0
CONNECT_FOUR = "native:connect_four"
NEVER = 10**12
LEARNER = {
    "role": "main",
    "opponents": [{"sampler": "uniform", "pool": "everyone"}],
    "snapshot": {"min_steps": NEVER, "max_steps": NEVER},
}


@dataclass(frozen=True)
class Case:
    """A league of one learner, or more, against a pool of frozen players of random weights."""

    name: str
    game: str = CONNECT_FOUR
    opponents: int = 16
    learners: int = 1
    config: dict[str, Any] = field(default_factory=dict)


@dataclass(frozen=True)
class Rates:
    """Of a stretch at full speed: moves of all seats, decisions learnt from; a second. Lag in versions."""

    moves: float
    learnt: float
    lag: float


def measure(case: Case, seconds: float) -> Rates:
    """Runs a case's league on this machine and returns its rates after warm-up."""
    with tempfile.TemporaryDirectory() as home:
        stores = Stores(f"sqlite:///{home}/league.db", f"{home}/checkpoints")
        stores.open_database(upgrade=True).close()
        run_id = _launch(case, stores)
        meter = _Meter(seconds)
        supervisor = Supervisor(stores.database_url, stores.checkpoint_url)
        token = supervisor.wait_for_claim(run_id, meter.over, lambda _: None)
        supervisor.supervise(run_id, token, meter.over, meter.look)
    return meter.rates()


def _launch(case: Case, stores: Stores) -> str:
    players = [{**LEARNER, "count": case.learners}]
    data = {"name": "bench", "game": case.game, "players": players, "anchors": []}
    config = RunConfig.from_data({**data, "stop": {"minutes": 60}, **case.config})
    services = stores.services()
    run_id = services.league.launch(config).id
    spec = config.network_spec(config.players[0], config.game_spec())
    for k in range(case.opponents):
        weights = dump_network(build(spec, seed=1000 + k), spec)
        sha, _ = services.control.upload(weights, None, LOCAL)
        services.control.add_player(run_id, NewPlayer(f"past.{k}", upload=sha), LOCAL)
    return run_id


class _Meter:
    """Looks at a run's status until enough has been seen."""

    def __init__(self, seconds: float) -> None:
        self.over = threading.Event()
        self._seconds = seconds
        self._began: float | None = None
        self._seen: list[tuple[float, RunStatus]] = []

    def look(self, status: RunStatus) -> None:
        now = time.perf_counter()
        if self._began is None:
            self._began = now if status.learner_steps_per_second > 0 else None
        elif now - self._began >= WARM_UP_SECONDS:
            self._seen.append((now, status))
            if now - self._seen[0][0] >= self._seconds:
                self.over.set()

    def rates(self) -> Rates:
        (begin, first), (end, last) = self._seen[0], self._seen[-1]
        count = len(self._seen)
        return Rates(
            moves=(last.moves - first.moves) / (end - begin),
            learnt=sum(s.learner_steps_per_second for _, s in self._seen) / count,
            lag=sum(s.policy_lag for _, s in self._seen) / count,
        )
