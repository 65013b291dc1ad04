"""One look at the database a run, however many listen to it."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field

from starlette.concurrency import run_in_threadpool

from league.control.services import LeagueService
from league.errors import LeagueError
from league.pool.records import EventRecord, RunRecord

POLL_SECONDS = 0.5
# Of a listener that does not keep up; then its stream ends, and it resumes where it was.
MOST_WAITING = 1000


class ListenerLimitError(LeagueError):
    """More streams than this server holds."""


@dataclass(eq=False)
class Feed:
    """What one listener has not before yet: events, and the run whenever its numbers have changed."""

    waiting: asyncio.Queue[EventRecord | RunRecord | None] = field(
        default_factory=lambda: asyncio.Queue(MOST_WAITING)
    )

    def put(self, item: EventRecord | RunRecord | None) -> None:
        """Adds something, or ends the feed of somebody who has fallen behind."""
        if self.waiting.qsize() >= MOST_WAITING - 1:
            while not self.waiting.empty():
                self.waiting.get_nowait()
            item = None
        self.waiting.put_nowait(item)


class EventHub:
    """Feeds of every run that somebody listens to."""

    def __init__(self, league: LeagueService, most: int) -> None:
        self._league, self._most = league, most
        self._feeds: dict[str, set[Feed]] = {}
        self._tasks: dict[str, asyncio.Task[None]] = {}
        self._count = 0

    def require_room(self) -> None:
        """Raises: ListenerLimitError: too many listen already; to be asked before an answer has begun."""
        if self._count >= self._most:
            raise ListenerLimitError(f"{self._most} event streams are open, and this server holds no more")

    @asynccontextmanager
    async def listen(self, run_id: str) -> AsyncIterator[Feed]:
        """A feed of what happens from now on.

        Raises:
          ListenerLimitError: too many listen already.
        """
        self.require_room()
        feed = Feed()
        self._count += 1
        self._feeds.setdefault(run_id, set()).add(feed)
        if run_id not in self._tasks:
            last = await run_in_threadpool(self._league.last_event, run_id)
            if run_id not in self._tasks:
                self._tasks[run_id] = asyncio.create_task(self._watch(run_id, last))
        try:
            yield feed
        finally:
            self._count -= 1
            feeds = self._feeds.get(run_id, set())
            feeds.discard(feed)
            if not feeds:
                self._feeds.pop(run_id, None)
                task = self._tasks.pop(run_id, None)
                if task is not None:
                    task.cancel()

    async def _watch(self, run_id: str, last: int) -> None:
        before = (-1.0, "")
        while True:
            try:
                events = await run_in_threadpool(self._league.events, run_id, last)
                run = await run_in_threadpool(self._league.run, run_id)
            except LeagueError:  # deleted, or the database is away: listeners come back and are told
                for feed in self._feeds.get(run_id, set()):
                    feed.put(None)
                self._tasks.pop(run_id, None)
                return
            for event in events:
                last = event.id
                for feed in self._feeds.get(run_id, set()):
                    feed.put(event)
            now = (run.updated_at, run.state)
            if now != before:
                before = now
                for feed in self._feeds.get(run_id, set()):
                    feed.put(run)
            await asyncio.sleep(POLL_SECONDS)
