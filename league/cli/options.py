"""Options that many commands have, and how a command is told to stop."""

from __future__ import annotations

import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Annotated, Any

import typer

from league.cli.printing import err

Home = Annotated[
    str | None, typer.Option("--home", help="Data folder (default: $LEAGUE_HOME or ./league-data).")
]
Server = Annotated[
    str | None,
    typer.Option("--server", help="URL of a control plane, instead of the data here ($LEAGUE_SERVER)."),
]
Json = Annotated[bool, typer.Option("--json", help="Print JSON.")]
RunName = Annotated[str, typer.Argument(metavar="RUN", help="A run's id, the beginning of one, or latest.")]


@contextmanager
def stop_on_signals() -> Iterator[threading.Event]:
    """An event that Ctrl-C and SIGTERM set; a second Ctrl-C ends the program at once."""
    stop = threading.Event()

    def ask(number: int, _: Any) -> None:
        if stop.is_set() and number == signal.SIGINT:
            raise KeyboardInterrupt
        stop.set()
        err.print("\nStopping: saving the learners …")

    previous = {s: signal.signal(s, ask) for s in (signal.SIGINT, signal.SIGTERM)}
    try:
        yield stop
    finally:
        for number, handler in previous.items():
            signal.signal(number, handler)
