"""Keeps a server that runs for weeks as small as what it holds."""

from __future__ import annotations

import asyncio
import contextlib
import ctypes
import ctypes.util
from collections.abc import AsyncIterator

EVERY_SECONDS = 30.0


def give_back() -> bool:
    """Returns freed memory to the kernel; False where the C library cannot.

    A page of a league is megabytes of short-lived objects made in many threads, and glibc keeps what lies
    free between those that live on. It is a part of why a server grows, not all: docs/page-speed.md.
    """
    name = ctypes.util.find_library("c")
    libc = ctypes.CDLL(name) if name else None
    if libc is None or not hasattr(libc, "malloc_trim"):
        return False
    libc.malloc_trim(0)
    return True


@contextlib.asynccontextmanager
async def kept_small() -> AsyncIterator[None]:
    """Gives memory back every half minute."""

    async def again() -> None:
        while await asyncio.to_thread(give_back):
            await asyncio.sleep(EVERY_SECONDS)

    task = asyncio.create_task(again())
    try:
        yield
    finally:
        task.cancel()
        with contextlib.suppress(asyncio.CancelledError):
            await task
