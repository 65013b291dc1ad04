"""A supervisor's log: what happens in its runs, a line each, for people or (LEAGUE_LOG_FORMAT=json) programs.

Events are in the database anyway; here they reach whoever reads a service's output. Every line names the run,
and the player and the worker where there is one.
"""

from __future__ import annotations

import contextlib
import json
import logging
import sys
import threading
import time
from collections.abc import Callable
from types import TracebackType
from typing import Any, Literal

from league.control.services import LeagueService
from league.errors import DatabaseError, NotFoundError
from league.pool.records import EventRecord

POLL_SECONDS = 1.0
# What a supervisor should be looked at for.
SERIOUS = (
    "restarted",
    "store_waited",
    "checkpoint_damaged",
    "rolled_back",
    "worker_lost",
    "lost",
    "bad_episode",
)
logger = logging.getLogger("league")


class JsonLines(logging.Formatter):
    """A record as one line of JSON: at, level, message, and what else it was given as `fields`."""

    def format(self, record: logging.LogRecord) -> str:
        fields: dict[str, Any] = getattr(record, "fields", {})
        at = time.strftime("%Y-%m-%dT%H:%M:%S", time.gmtime(record.created)) + f".{int(record.msecs):03d}Z"
        told = {"at": at, "level": record.levelname.lower(), "message": record.getMessage(), **fields}
        if record.exc_info:
            told["error"] = self.formatException(record.exc_info)
        return json.dumps(told, default=str)


class TextLines(logging.Formatter):
    """The same for people."""

    def format(self, record: logging.LogRecord) -> str:
        fields: dict[str, Any] = getattr(record, "fields", {})
        more = " ".join(f"{key}={value}" for key, value in fields.items())
        at = time.strftime("%Y-%m-%d %H:%M:%S", time.localtime(record.created))
        return f"{at} {record.levelname.lower()} {record.getMessage()} {more}".rstrip()


def log_to_stderr(form: Literal["text", "json"]) -> None:
    """From now on what is logged goes to standard error, in one of the forms."""
    handler = logging.StreamHandler(sys.stderr)
    handler.setFormatter(JsonLines() if form == "json" else TextLines())
    logger.handlers[:] = [handler]
    logger.setLevel(logging.INFO)
    logger.propagate = False


class EventLog:
    """Logs the events of the runs that somebody owns, for the length of a block."""

    def __init__(self, service: LeagueService, is_ours: Callable[[str | None], bool]) -> None:
        """Args: is_ours: whether a lease's owner is who writes this log."""
        self._service, self._is_ours = service, is_ours
        self._last: dict[str, int] = {}
        self._over = threading.Event()
        self._thread = threading.Thread(target=self._follow, name="event log", daemon=True)

    def __enter__(self) -> EventLog:
        self._thread.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._over.set()
        self._thread.join(timeout=5.0)
        self.tell()

    def tell(self) -> None:
        """Logs what has come since the last time."""
        with contextlib.suppress(DatabaseError, NotFoundError):
            for run in self._service.runs():
                if run.id not in self._last and not self._is_ours(run.lease_owner):
                    continue
                # Of a run that was taken over, what is new: who had it before has told the rest.
                if run.id not in self._last:
                    fresh = run.moves == 0
                    self._last[run.id] = 0 if fresh else self._service.last_event(run.id)
                for event in self._service.events(run.id, self._last[run.id]):
                    self._last[run.id] = event.id
                    log_event(run.id, event)

    def _follow(self) -> None:
        while not self._over.wait(POLL_SECONDS):
            self.tell()


def log_event(run_id: str, event: EventRecord) -> None:
    """Logs one event of a run."""
    fields: dict[str, Any] = {"run": run_id}
    if event.player is not None:
        fields["player"] = event.player
    if event.actor is not None:
        fields["actor"] = event.actor
    level = logging.WARNING if event.kind in SERIOUS else logging.INFO
    logger.log(level, event.kind, extra={"fields": {**fields, **event.data}})
