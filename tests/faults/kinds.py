"""The faults: each does something bad to a site and returns when the site may begin to recover.

Some return what says that they are noticed and mended, where play going on does not show it.
"""

from __future__ import annotations

import contextlib
import os
import random
import signal
import sqlite3
import time
from collections.abc import Callable
from pathlib import Path

import psutil

from league.store.repositories.runs import RunRepository
from tests import command_line as cli
from tests.faults.site import KINDS, SERVER, SUPERVISORS, Site

Fault = Callable[[Site, random.Random], Callable[[], bool] | None]
LOCKED_SECONDS = 30.0
# Longer than a lease: somebody else has claimed the run when its owner wakes up.
ASLEEP_SECONDS = 16.0
STEP_SECONDS = 3600
FULL_SECONDS = 20.0
TOO_LITTLE_MEMORY = 64 * 2**20
ENOUGH_SECONDS = 10.0


def killed(kind: str) -> Fault:
    """kill -9 of one of the run's processes, see `KINDS`."""

    def kill(site: Site, _: random.Random) -> Callable[[], bool]:
        process = cli.wait_until(lambda: site.find(kind), f"a {kind} to kill", 120)
        with contextlib.suppress(psutil.NoSuchProcess):
            process.kill()
        return lambda: _is_another(site.find(kind), process)

    return kill


def _is_another(found: psutil.Process | None, process: psutil.Process) -> bool:
    return found is not None and found.pid != process.pid


def owner_killed(site: Site, _: random.Random) -> Callable[[], bool]:
    """kill -9 of the supervisor that has the run."""
    owner = cli.wait_until(site.owner, "an owner", 120)
    site.family(owner)
    dead = site.processes[owner]
    dead.kill()

    def has_another() -> bool:
        found = site.owner()
        return found is not None and site.processes[found].pid != dead.pid

    return has_another


def server_killed(site: Site, _: random.Random) -> None:
    """kill -9 of the API."""
    site.processes[SERVER].kill()


def power_cut(site: Site, _: random.Random) -> None:
    """kill -9 of every process at once."""
    family = [p for name in (*SUPERVISORS, SERVER) for p in site.family(name)]
    for process in family:
        with contextlib.suppress(psutil.NoSuchProcess):
            process.kill()


def no_memory(site: Site, _: random.Random) -> Callable[[], bool]:
    """A rollout worker can have no more memory: it dies when it asks for some, unless it needs none."""
    process = cli.wait_until(lambda: site.find("rollout worker"), "a worker", 120)
    with contextlib.suppress(psutil.NoSuchProcess):
        process.rlimit(psutil.RLIMIT_AS, (TOO_LITTLE_MEMORY, TOO_LITTLE_MEMORY))
    since = time.monotonic()

    def is_over() -> bool:
        if time.monotonic() > since + ENOUGH_SECONDS:
            with contextlib.suppress(psutil.NoSuchProcess):
                process.kill()  # as the kernel does in the end
        return _is_another(site.find("rollout worker"), process)

    return is_over


def asleep(site: Site, _: random.Random) -> None:
    """The run's owner and all its processes stop (SIGSTOP) for longer than a lease, and wake up (SIGCONT)."""
    owner = cli.wait_until(site.owner, "an owner", 120)
    _pause(site.family(owner))


def supervisor_asleep(site: Site, _: random.Random) -> None:
    """The same with the supervisor alone: its run goes on playing while another claims it."""
    owner = cli.wait_until(site.owner, "an owner", 120)
    _pause(site.family(owner)[:1])


def second_claim(site: Site, _: random.Random) -> None:
    """Another supervisor claims a run that is owned, and must not get it."""
    cli.wait_until(site.owner, "an owner", 120)
    token = RunRepository(site.stores.open_database(upgrade=False)).claim(site.run_id, "another", 10.0)
    if token is not None and site.owner() is not None:
        raise AssertionError("a run that somebody owns was claimed by another")


def damaged_state(site: Site, rng: random.Random) -> None:
    """The last stored state of a learner is truncated or altered, and the learner dies."""
    learner = cli.wait_until(lambda: site.find("learner"), "a learner", 120)
    with contextlib.suppress(psutil.NoSuchProcess):
        learner.suspend()  # else it would have stored another by then
        time.sleep(0.5)
        players = [p for p in site.service.players(site.run_id, limit=100) if p.learner_state]
        sha = rng.choice(players).learner_state if players else None
        path = Path(site.stores.checkpoint_url) / f"{(sha or '')[:2]}/{sha}.safetensors"
        if path.exists():
            data = bytearray(path.read_bytes())
            if rng.random() < 0.5:
                data = data[: rng.randrange(len(data))]
            else:
                data[rng.randrange(len(data))] ^= 0xFF
            path.write_bytes(data)
        learner.kill()


def database_locked(site: Site, _: random.Random) -> None:
    """Another process holds the write lock of the SQLite file."""
    path = site.stores.database_url.removeprefix("sqlite:///")
    connection = sqlite3.connect(path, isolation_level=None, timeout=30)
    connection.execute("BEGIN IMMEDIATE")
    time.sleep(LOCKED_SECONDS)
    connection.execute("ROLLBACK")
    connection.close()


def disk_full(site: Site, rng: random.Random) -> None:
    """Something else takes all the room there is where database and checkpoints are."""
    ballast = site.home / "ballast"
    with ballast.open("wb", buffering=0) as file:
        size = 2**20
        while size >= 512:
            try:
                file.write(b"\0" * size)
            except OSError:
                size //= 2
    time.sleep(FULL_SECONDS * (0.5 + rng.random()))
    ballast.unlink()


def clock_stepped(site: Site, rng: random.Random) -> Callable[[], bool]:
    """The machine's clock jumps an hour, and the run's owner dies: who looks at its lease sees nonsense."""
    path = Path(os.environ["FAULT_CLOCK"])
    now = int(path.read_text())
    path.write_text(str(now + (STEP_SECONDS if rng.random() < 0.5 else -STEP_SECONDS)))
    return owner_killed(site, rng)


def _pause(processes: list[psutil.Process]) -> None:
    for signal_number in (signal.SIGSTOP, signal.SIGCONT):
        for process in processes:
            with contextlib.suppress(psutil.NoSuchProcess):
                process.send_signal(signal_number)
        if signal_number == signal.SIGSTOP:
            time.sleep(ASLEEP_SECONDS)


KILLS: dict[str, Fault] = {
    **{f"kill -9 {kind}": killed(kind) for kind in KINDS},
    "kill -9 supervisor": owner_killed,
    "kill -9 API server": server_killed,
    "kill -9 everything": power_cut,
}
OTHERS: dict[str, Fault] = {
    "no memory for a worker": no_memory,
    "owner asleep for 16 s, all its processes": asleep,
    "owner asleep for 16 s, its supervisor": supervisor_asleep,
    "claimed while owned": second_claim,
    "learner's last state damaged, learner killed": damaged_state,
}
