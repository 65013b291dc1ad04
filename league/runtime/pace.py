"""How often workers report, and how long their series are, so that one coordinator has time for all of them.

Few workers report twice a second and play short series: whom they meet changes often, and results come soon.
Many would ask more than there is time for. Then all wait longer between reports, by a stretch s, and play
series longer by s², so that a report holds fewer of them: with 1/s as many reports a second, each of 1/s as
many series, the work falls between s and s² times.

What is left is the work of the ratings, which goes by games. A league needs so many of them however many
workers it has, so all workers together are given no more than that; the rest of their time trains.
"""

from __future__ import annotations

import math

INTERVAL_SECONDS = 0.5
MOST_BUSY = 0.3
LOOK_SECONDS = 2.0
LONGEST_STRETCH = 256
RATED_A_SECOND = 4000.0
LONGEST_SERIES = 2**22


class Pace:
    """Watches how busy the coordinator is and stretches the interval when it is too busy.

    Attributes:
      stretch: 1 for few workers, at most 256.
    """

    def __init__(self, now: float, *, fixed: bool = False) -> None:
        """Args: now: in seconds. fixed: of a run whose games must not depend on the clock."""
        self.stretch = 1
        self._fixed = fixed
        self._since, self._worked = now, 0.0
        self._ratable, self._filled = RATED_A_SECOND, now

    @property
    def interval_seconds(self) -> float:
        """Between two reports of a worker."""
        return INTERVAL_SECONDS * self.stretch

    def episodes(self, configured: int) -> int:
        """Returns the episodes of a series that is drawn now."""
        return max(configured, min(LONGEST_SERIES, configured * self.stretch**2))

    def rated(self, wanted: int, now: float) -> int:
        """Returns how many of the rating games that a worker wants it may have."""
        if self._fixed:
            return wanted
        # What nobody asked for is kept for as long as a worker may be silent.
        most = RATED_A_SECOND * max(1.0, self.interval_seconds)
        self._ratable = min(most, self._ratable + RATED_A_SECOND * (now - self._filled))
        self._filled = now
        return max(0, min(wanted, int(self._ratable)))

    def rating(self, games: int) -> None:
        """So many have been handed out."""
        self._ratable -= games

    def worked(self, seconds: float, now: float) -> None:
        """The coordinator has worked for so long until now."""
        self._worked += seconds
        # Long enough that every worker has reported once at the present pace.
        window = max(LOOK_SECONDS, 2.0 * self.interval_seconds)
        if self._fixed or (passed := now - self._since) < window:
            return
        busy = self._worked / passed
        self._since, self._worked = now, 0.0
        if busy > MOST_BUSY:
            self.stretch = min(LONGEST_STRETCH, math.ceil(self.stretch * min(busy / MOST_BUSY, 4.0)))
        elif busy < MOST_BUSY / 4.0 and self.stretch > 1:
            self.stretch = max(1, self.stretch // 2)
