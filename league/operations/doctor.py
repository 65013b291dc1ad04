"""Looks at a machine as a league would find it: what is there, what is missing, what to do about it."""

from __future__ import annotations

import os
import shutil
import socket
import sys
import tempfile
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Literal

from league.bootstrap import Stores
from league.errors import USER_ERRORS

State = Literal["fine", "slow", "bad"]
# A league's processes hold about so much, and Ray's object store is this large.
MEMORY_GIB, SHARED_MIB, DISK_GIB, FILES = 3.0, 400.0, 2.0, 1024
PACKAGES = ("torch", "ray", "open_spiel", "sqlalchemy", "fastapi")


@dataclass(frozen=True)
class Finding:
    """One thing that was looked at.

    `state`: fine; slow: it works, but not at its best; bad: a league will not run.
    """

    what: str
    state: State
    found: str
    advice: str = ""


def examine(stores: Stores, port: int = 8000) -> list[Finding]:
    """Returns what was found, in the order in which a run would meet it. Nothing is changed."""
    checks: tuple[Callable[[], Iterator[Finding]], ...] = (
        _versions,
        _processor,
        _gpu,
        _memory,
        lambda: _disk(stores),
        lambda: _database(stores),
        lambda: _checkpoints(stores),
        lambda: _port(port),
        _files,
    )
    return [finding for check in checks for finding in check()]


def _versions() -> Iterator[Finding]:
    fine = sys.version_info >= (3, 11)
    yield Finding(
        "Python", "fine" if fine else "bad", sys.version.split()[0], "" if fine else "needs 3.11 or newer"
    )
    for package in PACKAGES:
        try:
            yield Finding(package, "fine", version(package))
        except PackageNotFoundError:
            yield Finding(package, "bad", "not installed", "pip install selfplay-league")


def _processor() -> Iterator[Finding]:
    from agents.processor import has_fast_bfloat16

    cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    yield Finding(
        "cores",
        "fine" if cores >= 2 else "slow",
        str(cores),
        "" if cores >= 2 else "a rollout worker and a learner share it; two cores or more are better",
    )
    fast = has_fast_bfloat16()
    yield Finding(
        "bfloat16 in hardware",
        "fine" if fast else "slow",
        "yes" if fast else "no",
        "" if fast else "networks run in float32, at about half the speed",
    )


def _gpu() -> Iterator[Finding]:
    import torch

    name = torch.cuda.get_device_name(0) if torch.cuda.is_available() else "none"
    yield Finding(
        "GPU", "fine", name, "" if name != "none" else "not needed: leagues play and learn on the CPU"
    )


def _memory() -> Iterator[Finding]:
    import psutil

    free = psutil.virtual_memory().available / 2**30
    yield Finding(
        "free memory",
        "fine" if free >= MEMORY_GIB else "bad",
        f"{free:.1f} GiB",
        "" if free >= MEMORY_GIB else f"a run of one worker takes about {MEMORY_GIB:.0f} GiB",
    )
    shared = Path("/dev/shm")  # noqa: S108
    if shared.exists():
        left = shutil.disk_usage(shared).free / 2**20
        yield Finding(
            "shared memory",
            "fine" if left >= SHARED_MIB else "slow",
            f"{left:,.0f} MiB free in {shared}",
            "" if left >= SHARED_MIB else "Ray falls back to files in /tmp; in Docker: --shm-size=1g",
        )


def _disk(stores: Stores) -> Iterator[Finding]:
    for what, folder in (("temporary files", tempfile.gettempdir()), ("checkpoints", stores.checkpoint_url)):
        path = Path(folder.removeprefix("file://"))
        if "://" in str(folder) and not folder.startswith("file://"):
            continue
        while not path.exists():
            path = path.parent
        free = shutil.disk_usage(path).free / 2**30
        yield Finding(
            f"disk for {what}",
            "fine" if free >= DISK_GIB else "bad",
            f"{free:.1f} GiB free at {path}",
            ""
            if free >= DISK_GIB
            else f"at least {DISK_GIB:.0f} GiB; --home or $LEAGUE_HOME names another place",
        )


def _database(stores: Stores) -> Iterator[Finding]:
    url = stores.database_url
    if url.startswith("sqlite:///") and not Path(url.removeprefix("sqlite:///")).exists():
        yield Finding("database", "fine", "none yet", "made by the first run")
        return
    try:
        database = stores.open_database(upgrade=False)
        yield Finding("database", "fine", f"{database.shown_url}, schema {database.revision()}")
        database.close()
    except USER_ERRORS as error:
        yield Finding("database", "bad", str(error), "`league db upgrade`, or $LEAGUE_DATABASE_URL")


def _checkpoints(stores: Stores) -> Iterator[Finding]:
    from league.store.checkpoints import CheckpointStore

    url = stores.checkpoint_url
    if "://" not in url and not Path(url).exists():
        yield Finding("checkpoint store", "fine", "none yet", "made by the first run")
        return
    try:
        store = CheckpointStore(url)
        data = b"league doctor"
        sha = store.put(data)
        whole = store.get(sha) == data
        store.delete(sha)
        yield Finding("checkpoint store", "fine" if whole else "bad", f"{url}, written and read")
    except (*USER_ERRORS, OSError) as error:
        yield Finding("checkpoint store", "bad", str(error), "$LEAGUE_CHECKPOINT_URL names another")


def _port(port: int) -> Iterator[Finding]:
    with socket.socket() as wanted:
        wanted.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            wanted.bind(("127.0.0.1", port))
            yield Finding(f"port {port}", "fine", "free")
        except OSError:
            yield Finding(f"port {port}", "slow", "taken", "another League, perhaps; --port names another")


def _files() -> Iterator[Finding]:
    try:
        import resource
    except ImportError:  # Windows has no such limit
        return
    soft, _ = resource.getrlimit(resource.RLIMIT_NOFILE)
    fine = soft == resource.RLIM_INFINITY or soft >= FILES
    yield Finding(
        "open files", "fine" if fine else "slow", f"{soft} at most", "" if fine else "ulimit -n 65536"
    )
