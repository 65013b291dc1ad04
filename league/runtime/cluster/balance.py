"""How many rollout workers play and how many threads a learner has, where that is left to the run.

Play and learning must keep up with each other: workers that wait for learners waste their cores, and so do
learners that wait for games. So a run begins with a worker on every core that no learner has. Workers that
wait give way, and their cores become threads of the learners; when learners have time again, one comes back.
"""

from __future__ import annotations

from dataclasses import dataclass

LOOK_SECONDS = 20.0
# Shares of the time. Workers that wait longer are too many; learners that wait longer want more of them.
WORKERS_WAIT, LEARNERS_WAIT, HARDLY = 0.25, 0.15, 0.05
# A number of workers that was too many is not tried again for so long: the game may have changed by then.
SHY_SECONDS = 600.0
MOST_THREADS = 16


@dataclass(frozen=True)
class Shares:
    """Of their time, rollout workers wait for learners and learners for fragments: means, in [0, 1]."""

    workers_wait: float
    learners_wait: float


class Balance:
    """Divides a machine's cores, or a cluster's, among play and learning.

    Attributes:
      workers: how many shall play.
    """

    def __init__(self, cores: int, learners: int, now: float) -> None:
        """Args: cores: of all machines together. learners: processes that learn. now: in seconds."""
        self._cores, self._learners = cores, learners
        self.workers = self._most
        self._looked = now
        self._too_many: int | None = None
        self._shy_until = now

    @property
    def _most(self) -> int:
        return max(1, self._cores - self._learners)

    def resize(self, cores: int, now: float) -> None:
        """Machines have come or gone."""
        if cores != self._cores:
            self._cores, self._too_many = cores, None
            self.workers, self._looked = self._most, now

    def look(self, shares: Shares, now: float) -> None:
        """Changes the number of workers, at most once in a while, so that each change is seen to work."""
        if now - self._looked < LOOK_SECONDS:
            return
        self._looked = now
        if shares.workers_wait > WORKERS_WAIT and self.workers > 1:
            self._too_many, self._shy_until = self.workers, now + SHY_SECONDS
            # So many would be busy all the time. Their cores speed learning up, so not all of the rest go.
            needed = self.workers * (1.0 - shares.workers_wait)
            self.workers = max(1, round((self.workers + needed) / 2.0 - 0.5))
        elif shares.learners_wait > LEARNERS_WAIT and shares.workers_wait < HARDLY:
            shy = self._too_many is not None and now < self._shy_until
            highest = min(self._most, self._too_many - 1) if shy and self._too_many else self._most
            self.workers = max(self.workers, min(self.workers + 1, highest))


def threads_each(cores: int, workers: int, learners: int) -> int:
    """Returns how many threads a learner process shall have, by the cores that workers leave free."""
    return max(1, min(MOST_THREADS, (cores - workers) // max(1, learners)))
