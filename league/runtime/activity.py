"""What the processes of a run are at: who plays whom where, and who was heard of when."""

from __future__ import annotations

from collections import deque
from collections.abc import Sequence
from typing import Any

from agents.acting.seating import Series
from league.runtime.messages import LearnerReport, RolloutReport

WINDOW_SECONDS = 5.0
# Of what a worker plays so many matches are told, those of most episodes; of all workers so many.
SHOWN, MOST_SHOWN = 12, 1024


class _Rate:
    """A count's growth a second over the last seconds."""

    def __init__(self) -> None:
        self._marks: deque[tuple[float, int]] = deque()
        self._total = 0

    def add(self, count: int, now: float) -> None:
        self._total += count
        self._marks.append((now, self._total))
        while len(self._marks) > 2 and self._marks[0][0] < now - WINDOW_SECONDS:
            self._marks.popleft()

    def a_second(self) -> float:
        if len(self._marks) < 2:
            return 0.0
        (then, before), (last, after) = self._marks[0], self._marks[-1]
        return (after - before) / max(last - then, 1e-3)


class _Process:
    def __init__(self) -> None:
        self.last_report_at = 0.0
        self.rate = _Rate()
        self.spent: dict[str, float] = {}
        self.rows = 0.0
        self.aborted = 0
        self.playing: dict[int, Series] = {}
        self.steps: dict[str, int] = {}


class Activity:
    """Listens to what passes through the coordinator."""

    def __init__(self) -> None:
        self._workers: dict[str, _Process] = {}
        self._learners: dict[int, _Process] = {}

    @property
    def mean_waiting(self) -> float:
        """The share of the time for which rollout workers wait for learners, in [0, 1]."""
        return sum(w.spent.get("waiting", 0.0) for w in self._workers.values()) / max(len(self._workers), 1)

    @property
    def learners_waiting(self) -> float:
        """The share of the time for which learners wait for fragments, in [0, 1]."""
        return sum(p.spent.get("waiting", 0.0) for p in self._learners.values()) / max(len(self._learners), 1)

    def played(self, worker: str, report: RolloutReport, now: float) -> None:
        """A rollout worker has reported. Args: now: in seconds."""
        process = self._workers.setdefault(worker, _Process())
        process.last_report_at, process.spent, process.rows = now, report.spent, report.rows
        process.rate.add(report.moves, now)
        for result in report.results:
            process.playing.pop(result.series.number, None)
            process.aborted += result.aborted

    def handed_out(self, worker: str, series: Sequence[Series]) -> None:
        """These are to be played there."""
        self._workers.setdefault(worker, _Process()).playing.update({s.number: s for s in series})

    def left(self, worker: str) -> list[Series]:
        """A worker plays no more; returns what it was to play and has not reported."""
        process = self._workers.pop(worker, None)
        return [] if process is None else list(process.playing.values())

    def learnt(self, report: LearnerReport, now: float) -> None:
        """A learner process has reported."""
        process = self._learners.setdefault(report.worker, _Process())
        process.last_report_at, process.spent = now, report.spent
        steps = {p.player: p.steps for p in report.progress}
        process.rate.add(sum(max(0, n - process.steps.get(p, n)) for p, n in steps.items()), now)
        process.steps = steps

    def as_json(self, now: float, report_seconds: float) -> dict[str, Any]:
        """Returns it all for the store. Args: report_seconds: between two reports of a worker."""
        shown = max(1, min(SHOWN, MOST_SHOWN // max(len(self._workers), 1)))
        return {
            "report_seconds": report_seconds,
            "workers": [
                {
                    "name": name,
                    "silent_seconds": round(now - w.last_report_at, 1),
                    "moves_per_second": round(w.rate.a_second()),
                    "waiting": round(w.spent.get("waiting", 0.0), 3),
                    "spent": _rounded(w.spent),
                    "rows_per_forward": round(w.rows),
                    "aborted": w.aborted,
                    "series": len(w.playing),
                    "playing": _summed(w.playing.values(), shown),
                }
                for name, w in sorted(self._workers.items())
            ],
            "learners": [
                {
                    "name": f"learner-{number}",
                    "silent_seconds": round(now - process.last_report_at, 1),
                    "steps_per_second": round(process.rate.a_second()),
                    "spent": _rounded(process.spent),
                    "players": sorted(process.steps),
                }
                for number, process in sorted(self._learners.items())
            ],
        }


def _rounded(shares: dict[str, float]) -> dict[str, float]:
    return {kind: round(share, 3) for kind, share in shares.items()}


def _summed(playing: Any, shown: int) -> list[dict[str, Any]]:
    matches: dict[tuple[Any, ...], int] = {}
    for series in playing:
        key = (series.players, series.purpose, series.branch)
        matches[key] = matches.get(key, 0) + series.episodes
    most = sorted(matches.items(), key=lambda item: (-item[1], item[0]))[:shown]
    return [
        {"players": list(players), "purpose": purpose, "branch": branch, "episodes": episodes}
        for (players, purpose, branch), episodes in most
    ]
