"""A league of ten thousand players: how soon it plays, and what its coordinator holds.

    python -m tests.large_league [--players 10000]

A real league is begun and interrupted; copies of its main with weights of their own are added, as a month of
snapshots would leave them, with ratings in six systems and payoffs of 300,000 pairs. Then it is resumed.
"""

from __future__ import annotations

import argparse
import contextlib
import signal
import statistics
import tempfile
import time
from pathlib import Path
from typing import Any

import numpy as np
import psutil

from agents.networks.build import build
from agents.networks.weights import dump_network
from league.bootstrap import Stores
from league.config.run import RunConfig
from league.errors import LeagueError
from league.pool.manager import LeagueManager
from league.store.checkpoints import CheckpointStore
from league.store.models import PayoffRow, PlayerRow, RatingRow
from league.store.repositories.league_state import LeagueRepository
from tests import command_line as cli

PAIRS = 300_000
SYSTEMS = ("trueskill", "elo", "openskill", "bradley_terry", "nash", "alpha_rank")
CONFIG = """
name: large
stop: {minutes: 1000}
players: [{role: main, snapshot: {min_steps: 500000000, max_steps: 1000000000}}]
anchors: [random]
network: {hidden: [16]}
"""


def fill(stores: Stores, run_id: str, players: int) -> None:
    """Adds the copies."""
    config = RunConfig.from_data(stores.service().run(run_id).config)
    spec = config.network_spec(config.players[0], config.game_spec())
    store, rng = CheckpointStore(stores.checkpoint_url), np.random.default_rng(0)
    here: dict[str, Any] = {"run_id": run_id}
    names = [f"main.0.v{k}" for k in range(100_001, 100_001 + players)]
    rows = [
        here
        | {"name": name, "role": "historical", "state": "frozen", "parent": "main.0", "parent_role": "main"}
        | {"generation": 0, "checkpoint": store.put(dump_network(build(spec, seed=k), spec)), "steps": k}
        | {"snapshot_steps": 0, "snapshots": 0, "tags": [], "created_at": float(k)}
        for k, name in enumerate(names)
    ]
    ratings = [
        here | {"player": n, "system": s, "mu": float(rng.normal(25, 8)), "sigma": 1.0, "games": 100}
        for s in SYSTEMS
        for n in names
    ]
    first = rng.integers(players, size=PAIRS)
    second = (first + 1 + rng.integers(players - 1, size=PAIRS)) % players
    pairs = {(min(a, b), max(a, b)) for a, b in zip(first.tolist(), second.tolist(), strict=True)}
    counts = {"wins": 10.0, "draws": 0.0, "losses": 9.0}
    payoffs = [
        here
        | {"first": names[a], "second": names[b]}
        | counts
        | {f"decayed_{k}": v for k, v in counts.items()}
        for a, b in pairs
    ]
    with stores.open_database(upgrade=False).write() as session:
        for table, values in ((PlayerRow, rows), (RatingRow, ratings), (PayoffRow, payoffs)):
            session.execute(table.__table__.insert(), values)


def play(home: str, *arguments: str) -> tuple[float, float]:
    """Runs until it plays; returns seconds from the command to its first moves, and the coordinator's MiB."""
    stores = Stores.from_environment(home)

    def moves() -> int:
        with contextlib.suppress(LeagueError):
            return sum(run.moves for run in stores.service().runs())
        return 0

    before = moves()
    begin = time.perf_counter()
    with cli.started("run", *arguments, "--home", home, "--no-web") as process:
        cli.wait_until(lambda: moves() > before, "moves", 120)
        spent = time.perf_counter() - begin
        held = 0.0
        for _ in range(25):
            time.sleep(1.0)
            for member in cli.family(process):
                with contextlib.suppress(psutil.Error):
                    if "CoordinatorActor" in " ".join(member.cmdline()):
                        held = max(held, member.memory_info().rss / 2**20)
        process.send_signal(signal.SIGINT)
        process.wait(timeout=60)
    return spent, held


def load_seconds(stores: Stores, run_id: str) -> float:
    """Returns how long a coordinator takes to read the league and be ready to match."""
    begin = time.perf_counter()
    snapshot = LeagueRepository(stores.open_database(upgrade=False), run_id).load()
    manager = LeagueManager(RunConfig.from_data(snapshot.run.config), snapshot)
    manager.matchmaker.next_training_series(1000)
    return time.perf_counter() - begin


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--players", type=int, default=10_000)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as home:
        config = Path(home, "large.yaml")
        config.write_text(CONFIG)
        small, held_small = play(home, str(config))
        stores = Stores.from_environment(home)
        (run,) = stores.service().runs()
        print(f"2 players: {small:.1f} s to the first moves, coordinator {held_small:.0f} MiB", flush=True)
        fill(stores, run.id, options.players)
        start = statistics.median(load_seconds(stores, run.id) for _ in range(3))
        resumed, held = play(home, "--resume", run.id)
        print(
            f"{options.players:,} players: read and matched in {start:.1f} s (asked 10), resumed to its "
            f"first moves in {resumed:.1f} s (asked 20), coordinator {held:.0f} MiB (asked 1024)"
        )


if __name__ == "__main__":
    main()
