"""What the pages bear: `make bench-web` (32 minutes; the most of them to watch the server's memory).

    python -m tests.web_load [--out docs/page-speed.md] [--minutes 30]

1. A run of 2,000 players and 1,000,000 recorded games in Chromium: how soon after navigation the standings
   can be scrolled and filtered, how soon a far part of the table is there, how soon the map is drawn.
2. Twenty pages open for half an hour, over that run and over a league that has a day behind it and trains
   on, at low priority: does the server's memory grow? The league's pool does not, as what is held grows
   with it.
"""

from __future__ import annotations

import argparse
import os
import statistics
import subprocess
import tempfile
import time
from pathlib import Path
from typing import Any

import numpy as np
from playwright.sync_api import Browser, Page, sync_playwright

from agents.learning.learner import UpdateMetrics
from league.bootstrap import Stores
from league.config.run import RunConfig
from league.store.models import MetricsRow, RatingHistoryRow
from league.store.repositories.runs import find_run
from league.store.session import Database
from tests import command_line as cli
from tests.browser.chromium import ARGUMENTS, CHROMIUM
from tests.load import GAMES, PLAYERS, TRAINING, large_run, moves_of, served

DAY_SECONDS = 86_400.0
PAGES, REPEATS, WARM_UP_SECONDS, SAMPLE_SECONDS = 20, 7, 300.0, 10.0
NEVER = 10**12
READY = "() => document.documentElement.dataset.ready === 'true'"
DRAWN = "() => Number(document.querySelector('#map').dataset.cells) > 0"
KINDS = (
    "",
    "/now",
    "/charts",
    "/payoffs",
    "/events",
    "/lineage",
    "/matches",
    "/games",
    "/players/main.0",
    "/play",
)


def seconds_until(page: Page, url: str, true: str) -> float:
    """Returns seconds from the start of the navigation until a condition holds, by the browser's clock."""
    page.goto(url, wait_until="commit")
    page.wait_for_function(true)
    found: float = page.evaluate("performance.now() / 1000")
    return found


def measure_pages(browser: Browser, url: str, run: str) -> dict[str, list[float]]:
    """Returns seconds of each look at the large run; every look has a browser without a cache."""
    times: dict[str, list[float]] = {"standings": [], "scrolled": [], "map": []}
    for _ in range(REPEATS):
        context = browser.new_context(viewport={"width": 1440, "height": 1000})
        page = context.new_page()
        times["standings"].append(seconds_until(page, f"{url}/runs/{run}", READY))
        begin = time.perf_counter()
        page.evaluate(
            "document.querySelector('.tall').scrollTop = document.querySelector('.tall').scrollHeight"
        )
        page.wait_for_selector(f"tr[data-rank='{PLAYERS}']")
        times["scrolled"].append(time.perf_counter() - begin)
        times["map"].append(seconds_until(page, f"{url}/runs/{run}/payoffs?limit=500", DRAWN))
        context.close()
    return times


def watch_memory(
    browser: Browser, url: str, runs: tuple[str, str], server: Any, minutes: float
) -> list[tuple[float, float]]:
    """Keeps pages open and returns (minutes, the server's resident MiB)."""
    context = browser.new_context(viewport={"width": 1280, "height": 800})
    pages = [context.new_page() for _ in range(PAGES)]
    for k, page in enumerate(pages):
        page.goto(f"{url}/runs/{runs[k // len(KINDS) % len(runs)]}{KINDS[k % len(KINDS)]}")
    begin, samples = time.perf_counter(), []
    while (passed := time.perf_counter() - begin) < 60.0 * minutes:
        samples.append((passed / 60.0, server.memory_info().rss / 2**20))
        # One after the other comes to the front, which is when it is renewed.
        pages[int(passed / SAMPLE_SECONDS) % PAGES].bring_to_front()
        pages[0].wait_for_timeout(1000 * SAMPLE_SECONDS)
        if len(samples) % 12 == 0:
            print(f"{samples[-1][0]:.0f} min: {samples[-1][1]:.0f} MiB", flush=True)
    context.close()
    return samples


def long_running(stores: Stores) -> str:
    """Launches a league that looks as if it had run for a day: its charts have all their points."""
    snapshot = {"min_steps": NEVER, "max_steps": NEVER}
    players = [{**entry, "snapshot": snapshot} for entry in TRAINING["players"]]
    config = {**TRAINING, "players": players, "stop": {"minutes": 6000}}
    run_id = stores.service().launch(RunConfig.from_data(config)).id
    learner = dict.fromkeys((*UpdateMetrics.__dataclass_fields__,), 0.5)
    figures = {"moves": 1, "moves_per_second": 5e5, "learner_steps_per_second": 3e5, "policy_lag": 3.0}
    data = {**figures, "rollout_waiting": 0.1, "learners": {"main.0": learner, "main_exploiter.0": learner}}
    here: dict[str, Any] = {"run_id": run_id}
    with Database(stores.database_url).write() as session:
        row = find_run(session, run_id, lock=True)
        row.play_seconds, row.created_at = DAY_SECONDS, row.created_at - DAY_SECONDS
        seconds = np.linspace(0.0, DAY_SECONDS, 4000).tolist()
        session.execute(
            MetricsRow.__table__.insert(),
            [here | {"at": row.created_at + s, "play_seconds": s, "data": data} for s in seconds],
        )
        session.execute(
            RatingHistoryRow.__table__.insert(),
            [
                here
                | {"player": name, "system": "trueskill", "mu": 25.0, "sigma": 1.0}
                | {"play_seconds": s, "moves": int(s), "steps": int(s)}
                for s in seconds
                for name in ("main.0", "main_exploiter.0", "random", *(f"main.0.v{k}" for k in range(1, 15)))
            ],
        )
    return run_id


def measure(home: Path, minutes: float) -> dict[str, Any]:
    """Returns every figure."""
    stores = Stores.from_environment(str(home))
    stores.open_database(upgrade=True).close()
    print("writing 2,000 players and 1,000,000 games …", flush=True)
    large = large_run(stores)
    training = long_running(stores)
    with served(home) as (url, server), sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=CHROMIUM, args=ARGUMENTS)
        times = measure_pages(browser, url, large)
        print({k: round(statistics.median(v), 2) for k, v in times.items()}, flush=True)
        supervisor = subprocess.Popen(
            ["nice", "-n", "15", cli.LEAGUE, "supervise", "--home", str(home)], stdout=subprocess.DEVNULL
        )
        try:
            cli.wait_until(lambda: moves_of(home / "league.db", training)[0] > 1_000_000, "training", 180)
            memory = watch_memory(browser, url, (training, large), server, minutes)
        finally:
            supervisor.terminate()
            supervisor.wait(timeout=40)
        browser.close()
    return {"times": times, "memory": memory}


def as_page(found: dict[str, Any]) -> str:
    """Returns the figures as Markdown."""
    rows = {
        "standings": f"standings of {PLAYERS:,} players can be scrolled and filtered",
        "scrolled": "its last rows are there after a jump to the end",
        "map": "payoff map of 500 × 500 is drawn",
    }
    memory = [m for m in found["memory"] if m[0] * 60 >= WARM_UP_SECONDS] or found["memory"]
    at, mib = np.array(memory).T
    slope = float(np.polyfit(at, mib, 1)[0]) if len(at) > 1 else 0.0
    third = max(1, len(mib) // 3)
    lines = [
        "# Speed of the pages",
        "",
        f"Written by `make bench-web` on {os.cpu_count()} cores, browser and server on the same machine: a",
        f"run of {PLAYERS:,} players and {GAMES:,} recorded games, a browser with an empty cache each time.",
        "",
        "| since the start of the navigation | median | slowest |",
        "|---|---|---|",
        *(
            f"| {title} | {statistics.median(found['times'][key]):.2f} s | {max(found['times'][key]):.2f} s |"
            for key, title in rows.items()
        ),
        "",
        f"With {PAGES} pages open {found['memory'][-1][0]:.0f} minutes, half of them over that run, half",
        "over a league with a day behind it that trains on, "
        f"the server holds {mib[:third].mean():.0f} MiB in the first third after "
        f"{WARM_UP_SECONDS / 60:.0f} minutes of warm-up and {mib[-third:].mean():.0f} MiB in the last "
        f"({slope:+.2f} MiB a minute).",
        "",
    ]
    return "\n".join(lines)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--out", type=Path)
    parser.add_argument("--minutes", type=float, default=30.0)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        page = as_page(measure(Path(folder), options.minutes))
    print(page)
    if options.out:
        options.out.write_text(page)


if __name__ == "__main__":
    main()
