"""Which reports have been taken in: one that comes twice, or late, is to count once."""

from __future__ import annotations

from collections import OrderedDict

from league.runtime.messages import RolloutReport

# Workers' lives remembered, and of each so many reports before its newest.
LIVES, REPORTS = 20_000, 64


class ReportLog:
    """Remembers the last reports of each worker's life."""

    def __init__(self) -> None:
        self._lives: OrderedDict[str, set[int]] = OrderedDict()

    def knows(self, report: RolloutReport) -> bool:
        """Whether a report was here before; from now on it was."""
        numbers = self._lives.setdefault(report.life, set())
        self._lives.move_to_end(report.life)
        if report.number in numbers or (numbers and report.number < max(numbers) - REPORTS):
            return True
        numbers.add(report.number)
        if len(numbers) > 2 * REPORTS:
            newest = max(numbers)
            numbers -= {n for n in numbers if n < newest - REPORTS}
        if len(self._lives) > LIVES:
            self._lives.popitem(last=False)
        return False
