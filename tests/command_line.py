"""Drives the installed `league` command as a person would."""

from __future__ import annotations

import contextlib
import io
import json
import os
import signal
import socket
import subprocess
import sys
import time
import urllib.request
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any
from unittest import mock

import psutil

import league.cli

LEAGUE = str(Path(sys.executable).parent / "league")


def free_port() -> int:
    with socket.socket() as s:
        s.bind(("127.0.0.1", 0))
        return int(s.getsockname()[1])


def run(*arguments: str, timeout: float = 120) -> subprocess.CompletedProcess[str]:
    """Runs `league` to its end."""
    return subprocess.run(
        [LEAGUE, *arguments], capture_output=True, text=True, timeout=timeout, env=_environment(), check=False
    )


def inside(*arguments: str) -> subprocess.CompletedProcess[str]:
    """Runs `league` to its end in this process, which spares the start: for what is refused or only read."""
    out, err = io.StringIO(), io.StringIO()
    code: Any = 0
    with (
        mock.patch.dict(os.environ, _environment(), clear=True),
        mock.patch.object(sys, "argv", [LEAGUE, *arguments]),
        contextlib.redirect_stdout(out),
        contextlib.redirect_stderr(err),
    ):
        try:
            league.cli.main()
        except SystemExit as end:
            code = end.code
    return subprocess.CompletedProcess(arguments, int(code or 0), out.getvalue(), err.getvalue())


@contextlib.contextmanager
def started(*arguments: str) -> Iterator[subprocess.Popen[str]]:
    """Starts `league`; whatever happens, it is gone at the end."""
    process = subprocess.Popen(
        [LEAGUE, *arguments],
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        env=_environment(),
        start_new_session=True,
    )
    try:
        yield process
    finally:
        if process.poll() is None:
            os.killpg(process.pid, signal.SIGKILL)
        process.communicate()


def family(process: subprocess.Popen[str]) -> list[psutil.Process]:
    """Returns the process and everything it has started."""
    parent = psutil.Process(process.pid)
    return [parent, *parent.children(recursive=True)]


def wait_until(true: Callable[[], Any], what: str, seconds: float = 90) -> Any:
    """Returns the first true answer. Raises: AssertionError: none in time."""
    deadline = time.monotonic() + seconds
    while time.monotonic() < deadline:
        with contextlib.suppress(OSError, ValueError):
            if answer := true():
                return answer
        time.sleep(0.2)
    raise AssertionError(f"not within {seconds} s: {what}")


def get(url: str) -> Any:
    """Returns the JSON behind a URL of this machine."""
    with urllib.request.urlopen(url, timeout=5) as answer:  # noqa: S310
        return json.load(answer)


def standings(home: Path, run_name: str = "latest") -> list[dict[str, Any]]:
    """Returns what `league standings --json` prints."""
    answer = run("standings", run_name, "--home", str(home), "--json")
    assert answer.returncode == 0, answer.stderr
    rows: list[dict[str, Any]] = json.loads(answer.stdout)
    return rows


def _environment() -> dict[str, str]:
    dropped = ["LEAGUE_CHECKPOINT_URL", "LEAGUE_HOME"]
    if os.environ.get("LEAGUE_TEST_DATABASE") != "postgresql":
        dropped.append("LEAGUE_DATABASE_URL")
    return {k: v for k, v in os.environ.items() if k not in dropped} | {"COLUMNS": "200"}
