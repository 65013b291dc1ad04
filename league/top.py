"""What a running league is at and what bounds it, in a terminal."""

from __future__ import annotations

import os

from rich.console import Group
from rich.table import Table
from rich.text import Text

from league.schemas import Doing, Run

# Workers that wait longer than this share of their time have outrun the learners.
WAITING = 0.15
LATE_SECONDS = 10.0


def bound(doing: Doing, cores: int) -> str:
    """Says what a run's speed is bounded by, and what to change.

    Args:
      cores: of the machine.
    """
    if not doing.workers:
        return "nothing is played"
    waiting = sum(w.waiting for w in doing.workers) / len(doing.workers)
    if waiting > WAITING:
        return (
            f"learning: workers wait for it {waiting:.0%} of their time. Fewer learner.epochs or a smaller "
            "network make it faster, learner_workers spread it over cores; fewer rollout.workers waste less"
        )
    busy = len(doing.workers) + len(doing.learners)
    if cores > busy:
        return f"play: learners keep up, and {cores - busy} of {cores} cores are free. Raise rollout.workers"
    return "the machine: every core is busy, and neither side waits for the other"


def screen(run: Run, doing: Doing, cores: int | None = None) -> Group:
    """Returns what to show."""
    table = Table(box=None)
    for name, side in (
        ("process", "left"), ("health", "left"), ("a second", "right"), ("waits", "right"), ("at", "left"),
    ):  # fmt: skip
        table.add_column(name, justify=side)  # type: ignore[arg-type]
    for learner in doing.learners:
        rate = f"{learner.steps_per_second:,} steps"
        table.add_row(
            learner.name, _health(learner.silent_seconds, LATE_SECONDS), rate, "", ", ".join(learner.players)
        )
    for worker in doing.workers:
        most = worker.playing[0] if worker.playing else None
        at = f"{' v '.join(most.players)} ({most.branch.replace('_', ' ')})" if most else ""
        more = f" and {worker.series - 1} series more" if worker.series > 1 else ""
        rate = f"{worker.moves_per_second:,} moves"
        table.add_row(
            worker.name,
            _health(worker.silent_seconds, LATE_SECONDS + doing.report_seconds),
            rate,
            f"{worker.waiting:.0%}",
            at + more,
        )
    played = f" ({run.id}) · {run.state} · {run.moves:,} moves, {run.games:,} games"
    head = Text.assemble((run.name, "bold"), played)
    last = Text(f"Bounded by {bound(doing, cores or os.cpu_count() or 1)}.", "dim")
    return Group(head, table, last)


def _health(silent: float, most: float) -> Text:
    late = silent > most
    return Text(f"silent for {silent:.0f} s" if late else "well", "red" if late else "green")
