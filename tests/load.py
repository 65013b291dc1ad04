"""What the control plane bears: `make bench-api` (six minutes on two cores).

    python -m tests.load [--out docs/service-speed.md]

1. `act` with an MLP 128×128, 32 callers at once, each asking again as soon as it is answered.
2. A run of 2,000 players and 1,000,000 recorded games, in the same database as a league that trains at full
   speed: lists and standings polled, and what that costs the training, in alternating stretches of one run.
3. 500 event streams held meanwhile.
"""

from __future__ import annotations

import argparse
import asyncio
import gc
import json
import os
import sqlite3
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
import psutil

from league.bootstrap import Stores
from league.config.run import RunConfig
from league.store.models import EventRow, PayoffRow, PlayerRow, RatingHistoryRow, RatingRow, SeriesTable
from league.store.session import Database
from tests import command_line as cli

PLAYERS, GAMES, SERIES_GAMES = 2000, 1_000_000, 1
CALLERS, STREAMS = 32, 500
SYSTEMS = ("trueskill", "elo", "openskill", "bradley_terry", "nash", "alpha_rank")
TRAINING = {
    "name": "training",
    "game": "native:connect_four",
    "stop": {"minutes": 60},
    "players": [
        {"role": "main", "share": 2, "snapshot": {"min_steps": 5_000_000, "max_steps": 10_000_000}},
        {"role": "main_exploiter", "snapshot": {"min_steps": 5_000_000, "max_steps": 10_000_000}},
    ],
    "anchors": ["random"],
}


def large_run(stores: Stores, players: int = PLAYERS, games: int = GAMES) -> str:
    """Writes a run of many players and games, as a long league leaves it; returns its id."""
    config = RunConfig.from_data({**TRAINING, "name": "large"})
    run = stores.service().launch(config)
    rng = np.random.default_rng(0)
    names = ["main.0", "main_exploiter.0", "random", *(f"main.0.v{k}" for k in range(1, players - 2))]
    here: dict[str, Any] = {"run_id": run.id}
    first = rng.integers(players, size=games)
    second = (first + 1 + rng.integers(players - 1, size=games)) % players
    won = rng.random(games) < 0.5
    database = Database(stores.database_url)
    seats = {f"{k}_seat_{s}": 0 for s in (0, 1) for k in ("wins", "draws", "losses")}
    totals = np.zeros((players, 2), np.int64)
    np.add.at(totals, (first, np.where(won, 0, 1)), 1)
    np.add.at(totals, (second, np.where(won, 1, 0)), 1)
    with database.write() as session:
        session.execute(
            PlayerRow.__table__.insert(),
            [
                here
                | {
                    "name": name,
                    "role": "main" if k == 0 else "anchor" if name == "random" else "historical",
                    "state": "frozen",
                    "parent": "main.0" if ".v" in name else None,
                    "generation": 0,
                    "bot": "random" if name == "random" else None,
                    "steps": k * 1000,
                    "snapshot_steps": 0,
                    "snapshots": 0,
                    "qualities": {},
                    "hyperparameters": {},
                    "inherited_steps": 0,
                    "tags": [],
                    "wins": float(totals[k, 0]),
                    "draws": 0.0,
                    "losses": float(totals[k, 1]),
                    "created_at": float(k),
                }
                for k, name in enumerate(names)
            ],
        )
        session.execute(
            RatingRow.__table__.insert(),
            [
                here | {"player": n, "system": s, "mu": float(rng.normal(25, 8)), "sigma": 1.0, "games": 100}
                for s in SYSTEMS
                for n in names
            ],
        )
        session.execute(
            RatingHistoryRow.__table__.insert(),
            [
                here
                | {"player": n, "system": "trueskill", "mu": 25.0 + k % 9, "sigma": 1.0}
                | {"play_seconds": 60.0 * moment, "moves": moment, "steps": moment}
                for moment in range(20)
                for k, n in enumerate(names)
            ],
        )
        session.execute(
            EventRow.__table__.insert(),
            [
                here | {"at": float(k), "kind": "snapshot", "player": n, "data": {"steps": k}}
                for k, n in enumerate(names)
            ],
        )
        for begin in range(0, games, 100_000):
            session.execute(
                SeriesTable.__table__.insert(),
                [
                    here
                    | seats
                    | {
                        "number": k,
                        "pair": 0,
                        "first": names[first[k]],
                        "second": names[second[k]],
                        "first_generation": 0,
                        "second_generation": 0,
                        "purpose": "evaluation" if k % 3 else "training",
                        "branch": "rating",
                        "wins_seat_0" if won[k] else "losses_seat_0": 1,
                        "margin": 0.0,
                        "moves": 30,
                        "at": 1.7e9 + k * 0.01,
                    }
                    for k in range(begin, min(begin + 100_000, games))
                ],
            )
        low, high = np.minimum(first, second), np.maximum(first, second)
        pairs, counts = np.unique(low * players + high, return_counts=True)
        for part in np.array_split(np.arange(len(pairs)), 10):
            session.execute(
                PayoffRow.__table__.insert(),
                [
                    here
                    | seats
                    | {
                        "first": min(names[pairs[k] // players], names[pairs[k] % players]),
                        "second": max(names[pairs[k] // players], names[pairs[k] % players]),
                        "wins": float(counts[k]),
                        "draws": 0.0,
                        "losses": 0.0,
                        "decayed_wins": float(counts[k]),
                        "decayed_draws": 0.0,
                        "decayed_losses": 0.0,
                        "margin": 0.0,
                        "decayed_margin": 0.0,
                    }
                    for k in part.tolist()
                ],
            )
    stores.service().want(run.id, "stopped")
    return run.id


@contextmanager
def served(home: Path) -> Iterator[tuple[str, psutil.Process]]:
    """A server of its own process."""
    port = cli.free_port()
    environment = {**os.environ, "LEAGUE_RATE_LIMIT": "1000000", "LEAGUE_ACT_RATE_LIMIT": "1000000"}
    with subprocess.Popen(
        [cli.LEAGUE, "serve", "--home", str(home), "--port", str(port)],
        stdout=subprocess.DEVNULL,
        env=environment,
    ) as process:
        url = f"http://127.0.0.1:{port}"
        try:
            cli.wait_until(lambda: cli.get(f"{url}/readyz"), "the server")
            yield url, psutil.Process(process.pid)
        finally:
            process.terminate()


class Connection:
    """One kept connection: requests out, answers back, nothing more, so that the caller costs little."""

    def __init__(self, port: int) -> None:
        self._port = port

    async def __aenter__(self) -> Connection:
        self._reader, self._writer = await asyncio.open_connection("127.0.0.1", self._port)
        return self

    async def __aexit__(self, *_: object) -> None:
        self._writer.close()

    async def ask(self, request: bytes) -> tuple[int, bytes]:
        """Returns status and body."""
        self._writer.write(request)
        head = await self._reader.readuntil(b"\r\n\r\n")
        length = int(head.lower().split(b"content-length: ")[1].split(b"\r\n")[0])
        body = await self._reader.readexactly(length)
        return int(head.split(b" ", 2)[1]), body


def request_of(method: str, path: str, body: bytes = b"") -> bytes:
    head = f"{method} {path} HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n"
    return f"{head}Content-Length: {len(body)}\r\n\r\n".encode() + body


async def measure_act(port: int, run: str, seconds: float) -> dict[str, float]:
    """Returns requests a second and their times in ms."""
    rng = np.random.default_rng(0)
    path = f"/api/v1/players/{run}:main.0/act"
    times: list[float] = []

    async def call(deadline: float) -> None:
        async with Connection(port) as connection:
            while (begin := time.perf_counter()) < deadline:
                obs = (rng.random(84) < 0.3).astype(int).tolist()
                body = json.dumps({"observation": obs, "legal": [0, 1, 2, 3, 4]}).encode()
                status, _ = await connection.ask(request_of("POST", path, body))
                assert status == 200, status
                times.append(time.perf_counter() - begin)

    await asyncio.gather(*(call(time.perf_counter() + 4) for _ in range(CALLERS)))
    times.clear()
    gc.collect()
    gc.freeze()  # a pause of the caller's is not the server's
    begin = time.perf_counter()
    await asyncio.gather(*(call(begin + seconds) for _ in range(CALLERS)))
    rate = len(times) / (time.perf_counter() - begin)
    p50, p99 = np.percentile(times, [50, 99]) * 1000
    return {"requests_per_second": rate, "p50_ms": float(p50), "p99_ms": float(p99)}


async def poll(port: int, paths: dict[str, str], seconds: float, times: dict[str, list[float]]) -> None:
    """Asks for every path about once a second, as a dashboard does."""
    deadline = time.perf_counter() + seconds
    async with Connection(port) as connection:
        while time.perf_counter() < deadline:
            for name, path in paths.items():
                begin = time.perf_counter()
                status, _ = await connection.ask(request_of("GET", path))
                assert status == 200, (path, status)
                times[name].append(time.perf_counter() - begin)
                await asyncio.sleep(1.0 / len(paths))


async def hold_streams(port: int, run: str, count: int, seconds: float) -> tuple[int, int]:
    """Opens event streams and holds them; returns how many are open at the end, and messages a stream."""
    streams = []
    for _ in range(count):
        reader, writer = await asyncio.open_connection("127.0.0.1", port, limit=2**20)
        # From near the end: what is measured is holding them, not reading the past again.
        writer.write(
            f"GET /api/v1/runs/{run}/events?after=100000000 HTTP/1.1\r\nHost: localhost\r\n\r\n".encode()
        )
        streams.append((reader, writer))
    seen = [0] * count

    async def listen(k: int) -> None:
        reader, _ = streams[k]
        while line := await reader.readline():
            seen[k] += line.startswith(b"event:")

    tasks = [asyncio.create_task(listen(k)) for k in range(count)]
    await asyncio.sleep(seconds)
    alive = sum(not task.done() for task in tasks)
    for task in tasks:
        task.cancel()
    for _, writer in streams:
        writer.close()
    return alive, min(seen)


def moves_of(database: Path, run: str) -> tuple[int, float]:
    """Returns moves and seconds of play, of the same moment: they are written twice a second."""
    with sqlite3.connect(f"file:{database}?mode=ro", uri=True, timeout=30) as connection:
        row = connection.execute("select moves, play_seconds from runs where id = ?", (run,)).fetchone()
        return int(row[0]), float(row[1])


def measure(home: Path, rounds: int, stretch: float) -> dict[str, Any]:
    """Returns every figure."""
    stores = Stores.from_environment(str(home))
    stores.open_database(upgrade=True).close()
    print("writing 2,000 players and 1,000,000 games …", flush=True)
    large = large_run(stores)
    training = stores.service().launch(RunConfig.from_data(TRAINING)).id
    found: dict[str, Any] = {}
    with served(home) as (url, server):
        port = int(url.rpartition(":")[2])
        supervisor = subprocess.Popen(
            [cli.LEAGUE, "supervise", "--home", str(home)], stdout=subprocess.DEVNULL
        )
        try:
            database = home / "league.db"
            cli.wait_until(lambda: moves_of(database, training)[0] > 5_000_000, "training", 180)
            base = f"/api/v1/runs/{large}"
            paths = {
                "standings": f"{base}/standings",
                "standings, first 100": f"{base}/standings?limit=100",
                "payoffs of 60": f"{base}/payoffs",
                "players": f"{base}/players?limit=100",
                "matches": f"{base}/matches?limit=100",
                "matches of a player": f"{base}/matches?limit=100&player=main.0&outcome=won",
                "events": f"{base}/events/log?limit=100",
                "standings of the training run": f"/api/v1/runs/{training}/standings",
            }
            times: dict[str, list[float]] = {name: [] for name in paths}
            rates: dict[str, list[float]] = {"alone": [], "polled": []}
            busy = {"alone": 0.0, "polled": 0.0}
            for number in range(rounds):
                # In turn, and each first as often as second: this machine drifts more than is measured.
                for kind in ("alone", "polled") if number % 2 else ("polled", "alone"):
                    begin, (moves, played) = time.perf_counter(), moves_of(database, training)
                    used = sum(server.cpu_times()[:2])
                    if kind == "polled":
                        asyncio.run(poll(port, paths, stretch, times))
                    else:
                        time.sleep(stretch)
                    seconds = time.perf_counter() - begin
                    moves_now, played_now = moves_of(database, training)
                    rates[kind].append((moves_now - moves) / (played_now - played))
                    busy[kind] += (sum(server.cpu_times()[:2]) - used) / (rounds * seconds)
                print({k: round(v[-1]) for k, v in rates.items()}, flush=True)
            found["polling"] = {
                name: {
                    "p50_ms": float(np.percentile(t, 50)) * 1000,
                    "p95_ms": float(np.percentile(t, 95)) * 1000,
                }
                for name, t in times.items()
            }
            ratios = [p / a for a, p in zip(rates["alone"], rates["polled"], strict=True)]
            found["training"] = {
                "alone": statistics.mean(rates["alone"]),
                "polled": statistics.mean(rates["polled"]),
                "slowed_by": 1.0 - sum(rates["polled"]) / sum(rates["alone"]),
                "standard_error": statistics.stdev(ratios) / len(ratios) ** 0.5,
                "server_cpu": busy,
            }
            before = server.memory_info().rss
            alive, least = asyncio.run(hold_streams(port, training, STREAMS, 20.0))
            found["streams"] = {
                "held": alive,
                "messages_each_at_least": least,
                "server_mib": server.memory_info().rss / 2**20,
                "grown_mib": (server.memory_info().rss - before) / 2**20,
            }
        finally:
            supervisor.terminate()
            supervisor.wait(timeout=40)
        print("act …", flush=True)
        acts = [asyncio.run(measure_act(port, training, 8.0)) for _ in range(3)]
        found["act"] = {k: statistics.median(a[k] for a in acts) for k in acts[0]}
    return found


def as_page(f: dict[str, Any]) -> str:
    """Returns the figures as Markdown."""
    t, s, a = f["training"], f["streams"], f["act"]
    cpu = t["server_cpu"]["polled"]
    lines = [
        "# Speed of the control plane",
        "",
        f"Written by `make bench-api` on {os.cpu_count()} cores. A run of {PLAYERS:,} players and {GAMES:,}",
        "recorded games lies in the same SQLite database as a league that trains at full speed meanwhile;",
        "each list is asked for about once a second.",
        "",
        "| list | p50 | p95 |",
        "|---|---|---|",
        *(f"| {n} | {x['p50_ms']:.1f} ms | {x['p95_ms']:.1f} ms |" for n, x in f["polling"].items()),
        "",
        f"- Training: {t['alone']:,.0f} moves/s alone, {t['polled']:,.0f} while polled, in alternating "
        f"stretches of one run: slowed by {t['slowed_by']:.1%} ± {t['standard_error']:.1%} (standard error). "
        f"The server uses {cpu:.1%} of one core meanwhile, {cpu / (os.cpu_count() or 1):.1%} of the machine.",
        f"- {s['held']} event streams held for 20 s, each told of every change (at least "
        f"{s['messages_each_at_least']} messages); the server's memory {s['server_mib']:.0f} MiB, "
        f"{s['grown_mib']:.0f} MiB of it for them.",
        f"- `act`, MLP 128×128, {CALLERS} callers at once, caller and server on the same machine: "
        f"{a['requests_per_second']:,.0f} requests/s, p50 {a['p50_ms']:.1f} ms, p99 {a['p99_ms']:.1f} ms.",
        "",
    ]
    return "\n".join(lines)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--out", type=Path)
    parser.add_argument("--rounds", type=int, default=50)
    parser.add_argument("--stretch", type=float, default=3.0, help="seconds")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        page = as_page(measure(Path(folder), options.rounds, options.stretch))
    print(page)
    if options.out:
        options.out.write_text(page)
    sys.exit(0)


if __name__ == "__main__":
    main()
