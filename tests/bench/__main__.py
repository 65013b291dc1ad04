"""Speed against the others and against the machine's limit: `make bench` (half an hour on two cores).

    python -m tests.bench [--rounds 3] [--seconds 20] [--only WORD …] [--out docs/benchmarks.md]

Everything is measured in turn and again in every round, because machines drift; told are medians and
extremes. Nothing else may run on the machine meanwhile. The figures go to --out, and as JSON beside it.
"""

from __future__ import annotations

import argparse
import json
import platform
import statistics
from collections.abc import Callable
from dataclasses import dataclass, field
from importlib.metadata import version
from pathlib import Path
from typing import Any

import psutil
import torch

from agents.processor import resolve_precision
from league.operations.bench import measure_parts
from tests.bench import cases, footprint, peers
from tests.bench.cases import Case

PLAIN = Case("League, 16 opponents")
FOUR = Case("League, 4 learners", learners=4)
# An environment of PettingZoo costs its time wherever it runs: few enough games to see it learn.
SMALL = {
    "rollout": {"num_envs": 64, "fragment_length": 16, "fragment_lanes": 64},
    "learner": {"minibatch": 512},
}
LEAGUES = (
    Case("League, 1 opponent", opponents=1),
    Case("League, 64 opponents", opponents=64),
    Case("League, 256 opponents", opponents=256),
    Case("League, residual CNN 32×2", config={"network": {"kind": "cnn", "channels": 32, "blocks": 2}}),
    Case("League, central inference", config={"inference": {"where": "central"}}),
    Case("League, openspiel:connect_four", game="openspiel:connect_four"),
    Case("League, openspiel:leduc_poker", game="openspiel:leduc_poker"),
    Case("League, openspiel:go 9×9", game="openspiel:go(board_size=9)"),
    Case("League, pettingzoo:simple_tag", game="pettingzoo:mpe2.simple_tag_v3", opponents=2, config=SMALL),
)
ON_GPU = {
    "learner": {"device": "cuda"},
    "inference": {"where": "central", "device": "cuda"},
    "rollout": {"workers": max(2, (psutil.cpu_count() or 2) - 2)},
}
LARGE = {"network": {"kind": "cnn", "channels": 128, "blocks": 6}}
GPU_LEAGUES = (
    Case("League on a GPU", config=ON_GPU),
    Case("League on a GPU, residual CNN 128×6", config={**ON_GPU, **LARGE}),
    Case("League on a GPU, the same compiled", config={
        **ON_GPU, **LARGE, "learner": {"device": "cuda", "compile": True}
    }),
)  # fmt: skip
NO_GPU = f"SKIPPED, for torch finds no GPU here: {', '.join(case.name for case in GPU_LEAGUES)}"
GAMES = {"connect_four": "connect_four", "leduc_poker": "leduc_poker", "go 9×9": "go(board_size=9)"}


@dataclass
class Figures:
    """Rates a second by name, one a round, and what else was seen."""

    rates: dict[str, list[float]] = field(default_factory=dict)
    learnt: dict[str, list[float]] = field(default_factory=dict)
    lags: dict[str, list[float]] = field(default_factory=dict)
    footprints: list[footprint.Footprint] = field(default_factory=list)

    def add(self, name: str, rate: float | None) -> None:
        if rate is not None:
            self.rates.setdefault(name, []).append(rate)
            print(f"  {name}: {rate:,.0f}", flush=True)

    def median(self, name: str) -> float | None:
        return statistics.median(self.rates[name]) if name in self.rates else None

    def ratio(self, name: str, other: str) -> float | None:
        """Returns the median of the rounds' ratios."""
        pairs = zip(self.rates.get(name, ()), self.rates.get(other, ()), strict=False)
        ratios = [a / b for a, b in pairs]
        return statistics.median(ratios) if ratios else None

    @property
    def limit(self) -> float | None:
        """Moves a second that a core of play and a core of learning could do side by side.

        A learner learns from its own seat's decisions, half of those of a game of two.
        """
        play, learn = self.median(PLAY), self.median(LEARN)
        return None if play is None or learn is None else min(play, 2.0 * learn)


PLAY, LEARN = "limit: play against 16 opponents, moves/s", "limit: learner alone, decisions/s"
LIMITS = {"play against 16 opponents, moves/s": PLAY, "learner alone, decisions/s": LEARN}


def tasks(figures: Figures, seconds: float) -> dict[str, Callable[[], None]]:
    """Returns what is done in a round, by name, in order."""

    def league(case: Case) -> None:
        rates = cases.measure(case, seconds)
        figures.add(case.name, rates.moves)
        figures.learnt.setdefault(case.name, []).append(rates.learnt)
        figures.lags.setdefault(case.name, []).append(rates.lag)

    def plain_and_four() -> None:
        """In turn and twice: what they differ by is less than what a machine drifts by in some minutes."""
        found = [(cases.measure(PLAIN, seconds), cases.measure(FOUR, seconds)) for _ in range(2)]
        for case, rates in zip((PLAIN, FOUR), zip(*found, strict=True), strict=True):
            figures.add(case.name, statistics.mean(r.moves for r in rates))
            figures.learnt.setdefault(case.name, []).append(statistics.mean(r.learnt for r in rates))
            figures.lags.setdefault(case.name, []).append(statistics.mean(r.lag for r in rates))

    def limits() -> None:
        for part in measure_parts(repeats=3):
            figures.add(LIMITS.get(part.name, f"limit: {part.name}"), part.median)

    def quickstart() -> None:
        figures.footprints.append(footprint.measure(seconds))
        print(f"  {figures.footprints[-1]}", flush=True)

    def rllib(name: str, game: str) -> None:
        figures.add(f"RLlib, {name}", peers.rllib(game, seconds, *peers.RLLIB_BEST))

    work: dict[str, Callable[[], None]] = {"limits": limits, f"{PLAIN.name}; {FOUR.name}": plain_and_four}
    for case in (*LEAGUES, *(GPU_LEAGUES if torch.cuda.is_available() else ())):
        work[case.name] = lambda case=case: league(case)  # type: ignore[misc]
    for name, game in GAMES.items():
        work[f"RLlib, {name}"] = lambda name=name, game=game: rllib(name, game)  # type: ignore[misc]
    work["RLlib, connect_four, its defaults"] = lambda: figures.add(
        "RLlib, connect_four, its defaults", peers.rllib("connect_four", seconds)
    )
    work["Stable-Baselines3"] = lambda: figures.add("Stable-Baselines3", peers.stable_baselines(seconds))
    work["simple_tag alone"] = lambda: figures.add("simple_tag alone", peers.raw_pettingzoo(seconds / 3))
    work["quickstart"] = quickstart
    return work


def demands(figures: Figures) -> list[tuple[str, str, str, bool]]:
    """Returns what is asked, what was found, the bar, and whether it holds; of what was measured."""
    rows: list[tuple[str, str, str, bool]] = []

    def at_least(what: str, found: float | None, bar: float, unit: str = "×") -> None:
        if found is not None:
            rows.append((what, f"{found:.2f} {unit}", f"≥ {bar:g} {unit}", found >= bar))

    def at_most(what: str, found: float | None, bar: float, unit: str) -> None:
        if found is not None:
            rows.append((what, f"{found:.2f} {unit}", f"≤ {bar:g} {unit}", found <= bar))

    ratio, plain = figures.ratio, PLAIN.name
    at_least("Connect Four against RLlib's best setting", ratio(plain, "RLlib, connect_four"), 50)
    at_least("the same against its defaults", ratio(plain, "RLlib, connect_four, its defaults"), 50)
    at_least("the same against Stable-Baselines3's hand-written pool", ratio(plain, "Stable-Baselines3"), 6)
    limit, rate = figures.limit, figures.median(plain)
    at_least("share of the limit", rate / limit if rate and limit else None, 0.6, "of it")
    for name, bar in (("connect_four", 20.0), ("leduc_poker", 10.0), ("go 9×9", 10.0)):
        what = f"OpenSpiel's {name} against RLlib on it"
        at_least(what, ratio(f"League, openspiel:{name}", f"RLlib, {name}"), bar)
    at_least("simple_tag against the environment alone", ratio(LEAGUES[-1].name, "simple_tag alone"), 0.8)
    at_most("256 opponents for 1, time", ratio("League, 1 opponent", "League, 256 opponents"), 2.0, "×")
    four = ratio(FOUR.name, plain)
    at_most("4 learners for 1, loss", 1.0 - four if four else None, 0.15, "")
    for what, found, bar, unit in (
        ("coordinator, database and API", [100 * f.service_share for f in figures.footprints], 5.0, "%"),
        ("quickstart, memory of all processes", [f.rss_mib / 1024 for f in figures.footprints], 2.5, "GiB"),
        ("quickstart, to the first step", [f.first_step_seconds for f in figures.footprints], 15.0, "s"),
    ):
        at_most(what, statistics.median(found) if found else None, bar, unit)
    return rows


def report(figures: Figures, rounds: int, seconds: float) -> str:
    """Returns it all as Markdown."""
    lines = [
        "# Speed",
        "",
        f"Written by `make bench` on {psutil.cpu_count()} cores ({_processor()}):",
        f"{rounds} rounds of {seconds:g} s each, everything in turn in one run. Moves count every seat",
        "of every game; about half of them are the learner's. Every league plays and learns at once, with",
        "its database, ratings and rating games.",
        "",
        "| asked | found | bar | |",
        "|---|---|---|---|",
        *(f"| {w} | {f} | {b} | {'holds' if h else '**not yet**'} |" for w, f, b, h in demands(figures)),
        "",
        "| a second | median | lowest | highest | learnt from | lag, versions |",
        "|---|---|---|---|---|---|",
    ]
    for name, rates in figures.rates.items():
        learnt, lag = figures.learnt.get(name), figures.lags.get(name)
        more = f"{statistics.median(learnt):,.0f} | {statistics.median(lag):.1f}" if learnt and lag else "|"
        spread = f"{min(rates):,.0f} | {max(rates):,.0f}"
        lines.append(f"| {name} | {statistics.median(rates):,.0f} | {spread} | {more} |")
    if figures.limit:
        lines += [
            "",
            f"The limit of two cores, one of play and one of learning: {figures.limit:,.0f} moves a second.",
        ]
    if not torch.cuda.is_available():
        lines += ["", f"{NO_GPU}."]
    if figures.footprints:
        kinds = sorted({k for f in figures.footprints for k in f.shares})
        shares = {k: statistics.median([f.shares.get(k, 0.0) for f in figures.footprints]) for k in kinds}
        told = ", ".join(f"{kind} {100 * share:.1f} %" for kind, share in shares.items())
        lines += ["", f"Processor time of the quickstart, of the whole machine: {told}."]
    return "\n".join([*lines, "", f"Versions: {_versions()}.", ""])


def _processor() -> str:
    cpuinfo = Path("/proc/cpuinfo")
    names = [ln for ln in cpuinfo.read_text().splitlines() if "model name" in ln] if cpuinfo.exists() else []
    name = names[0].partition(":")[2].strip() if names else platform.processor()
    return f"{name}, {str(resolve_precision('auto')).removeprefix('torch.')}"


def _versions() -> str:
    libraries = ", ".join(f"{name} {version(name)}" for name in ("torch", "ray", "open-spiel", "numpy"))
    return f"Python {platform.python_version()}, {libraries}; peers as in tests/bench/peers.txt"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--seconds", type=float, default=20.0, help="of each measurement")
    parser.add_argument(
        "--only", nargs="*", default=[], help="measure what has one of these words in its name"
    )
    parser.add_argument("--out", help="file to write the report to")
    options = parser.parse_args()
    threads = torch.get_num_threads()
    figures = Figures()
    if not torch.cuda.is_available():
        print(NO_GPU, flush=True)
    for number in range(options.rounds):
        print(f"round {number + 1} of {options.rounds}", flush=True)
        for name, task in tasks(figures, options.seconds).items():
            if not options.only or any(word in name for word in options.only):
                task()
                torch.set_num_threads(threads)
    text = report(figures, options.rounds, options.seconds)
    print(text)
    if options.out:
        out = Path(options.out)
        out.write_text(text)
        data: dict[str, Any] = {"rates": figures.rates, "learnt": figures.learnt, "lags": figures.lags}
        data |= {"footprints": [vars(f) for f in figures.footprints], "versions": _versions()}
        out.with_suffix(".json").write_text(json.dumps(data, indent=1, ensure_ascii=False) + "\n")


if __name__ == "__main__":
    main()
