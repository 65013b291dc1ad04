"""Injects faults into real runs and counts what is lost.

    python -m tests.faults [--times 20] [--out docs/reliability.md]   every fault so many times: `make faults`
    python -m tests.faults --soak 60 [--out docs/soak.md]             any of them for an hour: `make soak`
    python -m tests.faults --report RECORD... [--out FILE]            the table of what earlier ones found

Beside a report lies what it is made from, as JSON.

A site is two supervisors and a server over one database, restarted when they die as an init system would do
it. Its league trains meanwhile. An oracle reads the database from outside all the time.
"""

from __future__ import annotations

import argparse
import contextlib
import json
import os
import random
import shutil
import statistics
import subprocess
import tempfile
import time
from collections.abc import Iterator
from dataclasses import asdict
from pathlib import Path

import psutil

from tests.faults import kinds
from tests.faults.campaign import Campaign, Record
from tests.faults.postgres import Postgres
from tests.faults.site import Site

FOLDER = Path(__file__).parent
# A site's own disk, for the fault that fills it.
DISK_MIB = 256


def tell(line: str) -> None:
    print(f"{time.strftime('%H:%M:%S')}  {line}", flush=True)


@contextlib.contextmanager
def folder() -> Iterator[Path]:
    """A folder that is kept when something goes wrong in the block: its logs say what."""
    path = Path(tempfile.mkdtemp(prefix="league-faults-"))
    yield path
    shutil.rmtree(path, ignore_errors=True)


def soak(minutes: float, rng: random.Random) -> Record:
    """Random faults, every kind as often as the others, until the time is over."""
    with folder() as home:
        campaign = Campaign(Site(home), rng, tell)
        faults = {**kinds.KILLS, **kinds.OTHERS}
        end = time.monotonic() + 60.0 * minutes
        while time.monotonic() < end:
            for name in rng.sample(sorted(faults), len(faults)):
                if time.monotonic() < end:
                    campaign.inject(name, faults[name])
        return campaign.settle()


def each(site: Site, faults: dict[str, kinds.Fault], times: int, rng: random.Random) -> Record:
    """Every fault so many times, mixed."""
    campaign = Campaign(site, rng, tell)
    order = [name for name in faults for _ in range(times)]
    rng.shuffle(order)
    for name in order:
        campaign.inject(name, faults[name])
    return campaign.settle()


def special(times: int, rng: random.Random, parts: list[str] | None) -> Iterator[Record]:
    """The faults that need a site of their own."""
    if faults := chosen({"SQLite locked for 30 s": kinds.database_locked}, parts):
        with folder() as home:
            yield each(Site(home), faults, times, rng)
    if faults := chosen({"disk full for 10 to 30 s": kinds.disk_full}, parts):
        with folder() as home, disk(home) as mounted:
            if mounted:
                yield each(Site(home), faults, times, rng)
            else:
                tell("SKIPPED: disk full: only root can mount a disk of its own")
    if faults := chosen({"clock ±1 h, owner killed": kinds.clock_stepped}, parts):
        with folder() as home:
            if (library := clock_library(home)) is not None:
                yield each(Site(home, preload=library), faults, times, rng)
            else:
                tell("SKIPPED: clock: no C compiler (gcc) here")
    with folder() as home, Postgres(home / "postgres") as server:
        on_postgres: dict[str, kinds.Fault] = {
            "PostgreSQL restarted": lambda *_: server.restart(0.0),
            "PostgreSQL away for 30 s": lambda *_: server.restart(30.0),
            "PostgreSQL killed (kill -9)": lambda *_: server.kill(),
            "kill -9 supervisor, PostgreSQL": kinds.owner_killed,
        }
        if faults := chosen(on_postgres, parts):
            yield each(Site(home, server.url), faults, times, rng)


@contextlib.contextmanager
def disk(path: Path) -> Iterator[bool]:
    """A disk of its own at a folder; False: not allowed."""
    command = ["mount", "-t", "tmpfs", "-o", f"size={DISK_MIB}m", "none", str(path)]
    if subprocess.run(command, capture_output=True, check=False).returncode != 0:
        yield False
        return
    try:
        yield True
    finally:
        subprocess.run(["umount", "-l", str(path)], check=False)


def clock_library(home: Path) -> str | None:
    """Compiles what steps the clock; None without a compiler."""
    if shutil.which("gcc") is None:
        return None
    os.environ["FAULT_CLOCK"] = str(home / "clock")
    Path(os.environ["FAULT_CLOCK"]).write_text("0")
    library = home / "clock.so"
    subprocess.run(
        ["gcc", "-O2", "-shared", "-fPIC", str(FOLDER / "clock.c"), "-o", str(library), "-ldl"], check=True
    )
    return str(library)


def chosen(faults: dict[str, kinds.Fault], parts: list[str] | None) -> dict[str, kinds.Fault]:
    """Returns the faults whose names hold one of the parts; None: all."""
    return {n: f for n, f in faults.items() if parts is None or any(part in n for part in parts)}


def table(records: list[Record]) -> list[str]:
    """Returns the faults as Markdown."""
    lines = ["| fault | times | recovery, s: median | longest |", "|---|---|---|---|"]
    found: dict[str, list[float]] = {}
    for record in records:
        for name, seconds in record.recoveries.items():
            found.setdefault(name, []).extend(seconds)
    for name, seconds in found.items():
        lines.append(f"| {name} | {len(seconds)} | {statistics.median(seconds):.1f} | {max(seconds):.1f} |")
    return lines


def report(title: str, records: list[Record]) -> str:
    """Returns it all as Markdown."""
    problems = [problem for record in records for problem in record.problems]
    wrong = [problem for problem in problems if problem.startswith(("series", "payoff"))]
    faults, results = sum(r.faults for r in records), sum(r.results for r in records)
    minutes = sum(r.minutes for r in records)
    lines = [
        f"# {title}",
        "",
        f"Written on {psutil.cpu_count()} cores by injecting {faults} faults into real runs within",
        f"{minutes:.0f} minutes. Recovery: until the league plays on",
        "and the API answers, whoever died being started again at once.",
        "",
        f"**Results: {results:,}. Lost, changed or counted twice: {len(wrong)}.**",
        "What else should not be (counters or players that went back, damaged checkpoints, processes left): "
        f"{len(problems) - len(wrong)}.",
        *(f"- {problem}" for problem in problems),
        "",
        *table(records),
    ]
    growth = {kind: pair for record in records for kind, pair in record.growth().items()}
    if growth and len(records) == 1:
        lines += ["", "| memory, MiB | first third after warm-up | last third |", "|---|---|---|"]
        lines += [f"| {kind} | {first:.0f} | {last:.0f} |" for kind, (first, last) in sorted(growth.items())]
    return "\n".join([*lines, ""])


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--times", type=int, default=20, help="of each fault")
    parser.add_argument("--soak", type=float, help="minutes of random faults instead")
    parser.add_argument("--special", action="store_true", help="only those that need a site of their own")
    parser.add_argument("--seed", type=int, default=None)
    parser.add_argument("--report", nargs="+", metavar="RECORD", help="JSON files; inject nothing")
    parser.add_argument("--only", nargs="+", metavar="FAULT", help="some kinds, by parts of their names")
    parser.add_argument("--out", help="file to write the report to, and the records beside it")
    options = parser.parse_args()
    seed = options.seed if options.seed is not None else random.SystemRandom().randrange(10**6)
    rng = random.Random(seed)
    tell(f"seed {seed}")
    if options.report:
        title = "Reliability"
        records = [Record(**r) for path in options.report for r in json.loads(Path(path).read_text())]
    elif options.soak is not None:
        title, records = "An hour of faults", [soak(options.soak, rng)]
    else:
        title, records = "Reliability", []
        common = chosen({**kinds.KILLS, **kinds.OTHERS}, options.only)
        if common and not options.special:
            with folder() as home:
                records.append(each(Site(home), common, options.times, rng))
        records += special(max(1, options.times // 4), rng, options.only)
    text = report(title, records)
    print(text)
    if options.out:
        out = Path(options.out)
        out.write_text(text)
        if not options.report:
            out.with_suffix(".json").write_text(json.dumps([asdict(r) for r in records]) + "\n")
    if any(record.problems for record in records):
        raise SystemExit(1)


if __name__ == "__main__":
    main()
