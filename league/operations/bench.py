"""How fast the parts are on this machine, each alone on one core, and the whole on all of them.

Connect Four, MLP 128×128 ReLU, 4,096 games, one learner against 16 opponents. The parts are measured in turn,
several times over, because machines drift; what is told is the median.
"""

from __future__ import annotations

import statistics
import tempfile
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import torch

import envs
from agents.acting.collector import Collector
from agents.acting.policy import NetworkPolicy
from agents.acting.search import SearchPolicy
from agents.acting.seating import Series
from agents.algorithms.config import LearningConfig
from agents.fragment import Fragment
from agents.learning.learner import Learner
from agents.networks.build import build
from agents.networks.spec import NetworkSpec
from agents.processor import keep_freed_pages, resolve_precision
from league.bootstrap import Stores
from league.config.run import RunConfig
from league.runtime.supervisor import Supervisor

GAME, NUM_ENVS, OPPONENTS = "native:connect_four", 4096, 16
TREES, SIMULATIONS = 1024, 16
END_TO_END = {
    "game": GAME,
    "players": [{"role": "main", "snapshot": {"min_steps": 1_000_000, "max_steps": 2_000_000}}],
    "stop": {"minutes": 0.75},
}


@dataclass(frozen=True)
class Figure:
    """Rates a second of one part: the median and the extremes of its repetitions."""

    name: str
    median: float
    lowest: float
    highest: float


def measure_parts(repeats: int = 5, seconds: float = 1.0) -> list[Figure]:
    """Returns the limits: moves or decisions a second of each part alone on one core."""
    torch.set_num_threads(1)
    keep_freed_pages()
    parts = {
        "game alone, moves/s": _game_alone(),
        f"forward over {OPPONENTS} policies, rows/s": _forward_alone(),
        "learner alone, decisions/s": _learner_alone(),
        f"play against {OPPONENTS} opponents, moves/s": _play_alone(),
        f"one network over {TREES:,} positions, rows/s": _network_alone(),
        f"search, {TREES:,} trees of {SIMULATIONS}, simulations/s": _search_alone(),
    }
    rates: dict[str, list[float]] = {name: [] for name in parts}
    for part in parts.values():
        part()  # compiles and warms up
    for _ in range(repeats):
        for name, part in parts.items():
            done, begin = 0, time.perf_counter()
            while (spent := time.perf_counter() - begin) < seconds:
                done += part()
            rates[name].append(done / spent)
    return [Figure(n, statistics.median(r), min(r), max(r)) for n, r in rates.items()]


def measure_league() -> Figure:
    """Returns moves a second, played and learnt from, of a whole league on this machine."""
    rates: list[float] = []
    with tempfile.TemporaryDirectory() as home:
        stores = Stores(f"sqlite:///{home}/league.db", f"{home}/checkpoints")
        stores.open_database(upgrade=True).close()
        service = stores.service()
        run_id = service.launch(RunConfig.from_data(END_TO_END)).id
        supervisor = Supervisor(stores.database_url, stores.checkpoint_url)
        stop = threading.Event()
        token = supervisor.wait_for_claim(run_id, stop, lambda _: None)
        supervisor.supervise(run_id, token, stop, lambda status: rates.append(status.moves_per_second))
        run = service.run(run_id)
    return Figure(
        "league, moves/s played and learnt from", run.moves / run.play_seconds, min(rates), max(rates)
    )


def _game_alone() -> Callable[[], int]:
    game = envs.make(GAME, NUM_ENVS, 0)
    actions = np.zeros(NUM_ENVS, np.int64)

    def play() -> int:
        # The first legal column: next to no time, and every mask is read.
        np.argmax(game.turns().legal, axis=1, out=actions)
        game.step(actions)
        return NUM_ENVS

    return play


def _network_alone() -> Callable[[], int]:
    game = envs.make(GAME, TREES, 0)
    policy = NetworkPolicy(build(_network(), 0), resolve_precision("auto"))

    def look() -> int:
        policy.heads(game.turns().obs.reshape(TREES, -1))
        return TREES

    return look


def _search_alone() -> Callable[[], int]:
    game, env = envs.make(GAME, TREES, 0), np.arange(TREES, dtype=np.int32)
    policy = NetworkPolicy(build(_network(), 0), resolve_precision("auto"))
    search = SearchPolicy(policy, game.spec, SIMULATIONS)

    def look_ahead() -> int:
        search.search(game, env)
        return TREES * SIMULATIONS

    return look_ahead


def _network() -> NetworkSpec:
    spec = envs.make(GAME, 1).spec
    return NetworkSpec(spec.observation_size, spec.num_actions)


def _forward_alone() -> Callable[[], int]:
    dtype = resolve_precision("auto")
    policies = [NetworkPolicy(build(_network(), i), dtype) for i in range(OPPONENTS)]
    rows = np.random.default_rng(0).integers(0, 2, (NUM_ENVS // OPPONENTS, 84), np.uint8)

    def forward() -> int:
        for policy in policies:
            policy.heads(rows)
        return NUM_ENVS

    return forward


def _learner_alone() -> Callable[[], int]:
    learner = Learner(_network(), LearningConfig(), 0)
    rng, shape = np.random.default_rng(0), (16, 1024)
    fragment = Fragment(
        "main",
        0,
        0,
        rng.integers(0, 2, (17, 1024, 84), np.uint8),
        np.ones((*shape, 7), np.bool_),
        rng.integers(0, 7, shape, np.int32),
        np.full(shape, -np.log(7), np.float32),
        np.zeros((17, 1024), np.float32),
        rng.choice(np.array([-1, 0, 0, 1], np.float32), shape),
        rng.random(shape) < 0.1,
    )

    def learn() -> int:
        learner.version = 0  # the same fragment must not grow too old
        learner.update(fragment, 0.5)
        return fragment.steps

    return learn


def _play_alone() -> Callable[[], int]:
    dtype = resolve_precision("auto")
    collector = Collector(
        envs.make(GAME, NUM_ENVS, 0), ["main"], fragment_length=16, fragment_lanes=1024, seed=0
    )
    collector.update_learner("main", NetworkPolicy(build(_network(), 0), dtype), 0, 0)
    for i in range(OPPONENTS):
        collector.put_policy(f"past.{i}", NetworkPolicy(build(_network(), i), dtype))
    numbers = iter(range(10**9))

    def play() -> int:
        while collector.queued_episodes < NUM_ENVS:
            number = next(numbers)
            players = ("main", f"past.{number % OPPONENTS}")
            collector.add_series(Series(number, players, (0, 0), (True, False), 512, "training", "bench"))
        collector.tick()
        collector.take_results()
        while collector.ready_fragments("main"):
            collector.take_fragment("main")
        return NUM_ENVS

    return play
