"""How often the processes of a run may be started again.

A process that dies now and then is bad luck, whatever the reason, and a run of days has much of it. One that
dies as soon as it is started will do so the next time too: after a few of those in a row it is given up.
"""

from __future__ import annotations

import time
from collections import deque
from collections.abc import Callable

# So many short lives in a row, and so many restarts within an hour.
IN_A_ROW, AN_HOUR = 5, 100
SHORT_SECONDS, LONGEST_DELAY_SECONDS = 30.0, 30.0


class Restarts:
    """Counts the lives of a run's processes."""

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._begun = clock()
        self._short = 0
        self._deaths: deque[float] = deque()

    def begin(self) -> None:
        """The processes are started."""
        self._begun = self._clock()

    def delay(self) -> float | None:
        """They have died. Returns: seconds to wait before the next life; None: there shall be none."""
        now = self._clock()
        self._short = self._short + 1 if now - self._begun < SHORT_SECONDS else 0
        self._deaths.append(now)
        while self._deaths[0] < now - 3600.0:
            self._deaths.popleft()
        if self._short > IN_A_ROW or len(self._deaths) > AN_HOUR:
            return None
        return min(2.0**self._short, LONGEST_DELAY_SECONDS)
