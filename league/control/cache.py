"""Answers worth keeping until what they are about has changed."""

from __future__ import annotations

import threading
import time
from collections import OrderedDict
from collections.abc import Callable, Hashable
from typing import Generic, TypeVar

T = TypeVar("T")

# What costs more than this is handed out a little late rather than worked out at every change.
DEAR_SECONDS = 0.02
LATE_SECONDS = 2.0


class Kept(Generic[T]):
    """Values by key, each good for one stamp.

    A cheap value is always as new as its stamp. A dear one (a standings of thousands of players, of a league
    that changes every half second) may be up to two seconds old; then it is worked out anew by one thread
    while the others take the old one.
    """

    def __init__(self, size: int = 64) -> None:
        self._size = size
        self._lock = threading.Lock()
        self._values: OrderedDict[Hashable, tuple[object, T, float, float]] = OrderedDict()
        self._working: set[Hashable] = set()

    def get(self, key: Hashable, stamp: object, work_out: Callable[[], T]) -> T:
        """Returns the value of a key as of a stamp, or of a moment ago where it is dear."""
        now = time.monotonic()
        with self._lock:
            result = self._values.get(key)
            if result is not None:
                self._values.move_to_end(key)
                kept, value, at, cost = result
                if kept == stamp:
                    return value
                if cost > DEAR_SECONDS:
                    if now - at < LATE_SECONDS:
                        return value
                    if key not in self._working:
                        self._working.add(key)
                        threading.Thread(target=self._renew, args=(key, stamp, work_out), daemon=True).start()
                    if now - at < 10 * LATE_SECONDS:
                        return value
        return self._work_out(key, stamp, work_out)

    def _renew(self, key: Hashable, stamp: object, work_out: Callable[[], T]) -> None:
        try:
            self._work_out(key, stamp, work_out)
        finally:
            with self._lock:
                self._working.discard(key)

    def _work_out(self, key: Hashable, stamp: object, work_out: Callable[[], T]) -> T:
        begin = time.monotonic()
        value = work_out()
        end = time.monotonic()
        with self._lock:
            self._values[key] = (stamp, value, end, end - begin)
            self._values.move_to_end(key)
            while len(self._values) > self._size:
                self._values.popitem(last=False)
        return value
