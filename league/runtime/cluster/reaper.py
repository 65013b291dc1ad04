"""Clears up after a Ray session when the process that owned it is gone, however it went.

Ray's servers die with their driver, but some of their helpers linger for two minutes after a `kill -9` and
the session's folder stays for ever. A reaper is a process of its own that waits for the end of its standard
input, which the operating system closes when the owner dies.
"""

from __future__ import annotations

import contextlib
import os
import shutil
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import psutil

GRACE_SECONDS = 3.0


@contextlib.contextmanager
def reaped(folder: str) -> Iterator[None]:
    """Removes a session's folder and whoever still holds it, when the block or this process ends."""
    reaper = subprocess.Popen(  # noqa: S603  our own interpreter and module
        [sys.executable, "-m", "league.runtime.cluster.reaper", folder],
        stdin=subprocess.PIPE,
        start_new_session=True,  # a Ctrl-C at the terminal is not for the reaper
    )
    try:
        yield
    finally:
        if reaper.stdin is not None:
            reaper.stdin.close()
        reaper.wait()


def holders(folder: str, owner: int) -> list[psutil.Process]:
    """Returns the processes, all but the owner, that have a file of the folder open."""
    result = []
    for process in psutil.process_iter():
        if process.pid == owner:  # it lives on after its session, with Ray's log of it still open
            continue
        with contextlib.suppress(psutil.Error):
            if any(Path(file.path).is_relative_to(folder) for file in process.open_files()):
                result.append(process)
    return result


def reap(folder: str, owner: int) -> None:
    """Waits a moment for the processes to go by themselves, ends the rest, removes the folder."""
    deadline = time.monotonic() + GRACE_SECONDS
    while (left := holders(folder, owner)) and time.monotonic() < deadline:
        time.sleep(0.1)
    for process in left:
        with contextlib.suppress(psutil.Error):
            process.kill()
    psutil.wait_procs(left, GRACE_SECONDS)
    shutil.rmtree(folder, ignore_errors=True)


if __name__ == "__main__":
    owner_pid = os.getppid()
    sys.stdin.buffer.read()
    reap(sys.argv[1], owner_pid)
