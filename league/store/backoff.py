"""Waiting for a store that cannot be used just now: full, locked, or starting again.

Whoever writes waits and tries again; nothing goes on meanwhile, so nothing is lost. What lasts longer is
raised, and the run's processes end; its supervisor waits and starts them again.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import TypeVar

from league.errors import StoreWaitsError

T = TypeVar("T")

# Less than others wait for an answer from who waits here.
LONGEST_SECONDS = 40.0
PAUSE_SECONDS = 0.5


class Backoff:
    """Tries until it works."""

    def __init__(
        self, clock: Callable[[], float] = time.monotonic, sleep: Callable[[float], None] = time.sleep
    ) -> None:
        self._clock, self._sleep = clock, sleep
        self._waited: tuple[float, str] | None = None

    def __call__(self, do: Callable[[], T]) -> T:
        """Returns what `do` returns, which may be called several times.

        Raises:
          StoreWaitsError: it did not work for as long as it may take.
        """
        begin = self._clock()
        while True:
            try:
                done = do()
            except StoreWaitsError as error:
                waited = self._clock() - begin
                self._waited = (waited, str(error))
                if waited >= LONGEST_SECONDS:
                    raise
                self._sleep(PAUSE_SECONDS)
            else:
                if self._waited is not None:
                    self._waited = (self._clock() - begin, self._waited[1])
                return done

    def take_waited(self) -> tuple[float, str] | None:
        """Returns for how many seconds it had to wait the last time, and for what; None: it had not."""
        waited, self._waited = self._waited, None
        return waited
