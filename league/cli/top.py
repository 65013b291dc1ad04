"""What a running league is at and what bounds it, in a terminal."""

from __future__ import annotations

import os
from collections.abc import Sequence

from rich.console import Group
from rich.table import Table
from rich.text import Text

from league.client.schemas import Doing, LearnerProcess, Run, Worker

# Who waits longer than this share of the time has outrun the other side.
WAITING = 0.15
LATE_SECONDS = 10.0
BOOKS = "books"
MEANINGS = {"env": "the game", "inference": "networks and bots", "transfer": "hand-overs", BOOKS: "records"}


def parts(process: Worker | LearnerProcess) -> dict[str, float]:
    """Returns the shares of a process's time, what is not accounted for as `books`."""
    rest = 1.0 - sum(process.spent.values())
    return {**process.spent, BOOKS: max(0.0, rest)} if process.spent else {}


def bound(doing: Doing, cores: int) -> str:
    """Says what a run's speed is bounded by, and what to change.

    Args:
      cores: of the machine.
    """
    if not doing.workers:
        return "nothing: nothing is played"
    worker, learner = _mean(doing.workers), _mean(doing.learners)
    waiting = worker.get("waiting", 0.0)
    if waiting > WAITING:
        if learner.get("transfer", 0.0) > learner.get("learning", 1.0):
            return (
                f"transfer: workers wait {waiting:.0%} of their time for learners, which are handing over "
                f"{learner['transfer']:.0%} of theirs. A longer save_interval_seconds and a larger "
                "rollout.fragment_lanes make it less"
            )
        return (
            f"the learner: workers wait for it {waiting:.0%} of their time. Fewer learner.epochs or a "
            "smaller network make it faster, learner_workers spread it over cores, and fewer "
            "rollout.workers waste less"
        )
    busy = len(doing.workers) + len(doing.learners)
    if cores > busy:
        return (
            f"{_largest(doing, worker)}; learners keep up, and {cores - busy} of {cores} cores are free: "
            "raise rollout.workers, or leave it at auto"
        )
    if learner.get("waiting", 0.0) > WAITING:
        return (
            f"{_largest(doing, worker)}; learners wait {learner['waiting']:.0%} of their time: more "
            "learner.epochs would cost nothing"
        )
    return (
        f"the machine: every core is busy, and neither side waits. Most goes into {_largest(doing, worker)}"
    )


def screen(run: Run, doing: Doing, cores: int | None = None) -> Group:
    """Returns what to show."""
    table = Table(box=None)
    for name, side in (
        ("process", "left"), ("health", "left"), ("a second", "right"), ("its time", "left"), ("at", "left"),
    ):  # fmt: skip
        table.add_column(name, justify=side)  # type: ignore[arg-type]
    for learner in doing.learners:
        rate = f"{learner.steps_per_second:,} steps"
        health = _health(learner.silent_seconds, LATE_SECONDS)
        table.add_row(learner.name, health, rate, _shares(learner), ", ".join(learner.players))
    for worker in doing.workers:
        most = worker.playing[0] if worker.playing else None
        at = f"{' v '.join(most.players)} ({most.branch.replace('_', ' ')})" if most else ""
        more = f" and {worker.series - 1} series more" if worker.series > 1 else ""
        rate = f"{worker.moves_per_second:,} moves"
        health = _health(worker.silent_seconds, LATE_SECONDS + doing.report_seconds)
        table.add_row(worker.name, health, rate, _shares(worker), at + more)
    played = f" ({run.id}) · {run.state} · {run.moves:,} moves, {run.games:,} games"
    head = Text.assemble((run.name, "bold"), played)
    last = Text(f"Bounded by {bound(doing, cores or os.cpu_count() or 1)}.", "dim")
    return Group(head, table, last)


def _largest(doing: Doing, worker: dict[str, float]) -> str:
    """Names what the workers' time goes into, most of all, and what makes that less."""
    shares = {kind: worker[kind] for kind in MEANINGS if kind in worker}
    if not shares:
        return "play"
    kind = max(shares, key=lambda k: shares[k])
    rows = sum(w.rows_per_forward for w in doing.workers) / len(doing.workers)
    advice = {
        "env": "only a faster game or more machines help",
        "inference": f"a smaller network helps, or more rows a forward ({rows:.0f} now) by a larger "
        "rollout.num_envs or rollout.episodes_per_series",
        "transfer": "larger fragments help: rollout.fragment_lanes",
        BOOKS: "larger batches help: rollout.num_envs",
    }[kind]
    return f"{kind} ({MEANINGS[kind]}, {shares[kind]:.0%} of the workers' time: {advice})"


def _mean(processes: Sequence[Worker | LearnerProcess]) -> dict[str, float]:
    told = [p for p in (parts(process) for process in processes) if p]
    return {kind: sum(p[kind] for p in told) / len(told) for kind in told[0]} if told else {}


def _shares(process: Worker | LearnerProcess) -> str:
    return " ".join(f"{kind} {share:.0%}" for kind, share in parts(process).items() if share >= 0.005)


def _health(silent: float, most: float) -> Text:
    late = silent > most
    return Text(f"silent for {silent:.0f} s" if late else "well", "red" if late else "green")
