"""A League in service: two supervisors and a server over one database, kept going as an init system would."""

from __future__ import annotations

import contextlib
import os
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import psutil

from league.bootstrap import Stores
from league.client import LeagueClient
from league.control.services import LeagueService
from tests import command_line as cli

SUPERVISORS = ("first", "second")
SERVER = "server"
CONFIG: dict[str, Any] = {
    "name": "faults",
    "game": "native:connect_four",
    "stop": {"minutes": 100_000},
    "players": [
        {"role": "main", "share": 2, "snapshot": {"min_steps": 200_000, "max_steps": 2_000_000}},
        {
            "role": "main_exploiter",
            "inference": "central",
            "snapshot": {"min_steps": 200_000, "max_steps": 1_000_000},
        },
    ],
    "anchors": ["random", "mcts:2"],
    "network": {"hidden": [32]},
    "learner": {"minibatch": 1024},
    "rollout": {"workers": 1, "num_envs": 512, "fragment_length": 8, "fragment_lanes": 256},
    "evaluation": {"num_envs": 32, "episodes": 8},
}
# How a kind of process is known by its command line.
KINDS = {
    "rollout worker": "RolloutActor",
    "learner": "LearnerActor",
    "coordinator": "CoordinatorActor",
    "inference server": "InferenceActor",
    "Ray head": "gcs_server",
    "raylet": "raylet/raylet",
}


class Site:
    """Everything that runs, and one league in it.

    Attributes:
      run_id: of the league. service: reads its database.
    """

    def __init__(self, home: Path, database_url: str | None = None, preload: str | None = None) -> None:
        """Args: database_url: PostgreSQL's, if not SQLite. preload: a library for all (LD_PRELOAD)."""
        self.home, self.port = home, cli.free_port()
        dropped = ("LEAGUE_DATABASE_URL", "LEAGUE_CHECKPOINT_URL", "LEAGUE_HOME")
        self._environment = {k: v for k, v in os.environ.items() if k not in dropped}
        self._environment["LEAGUE_HOME"] = str(home)
        if database_url is not None:
            self._environment["LEAGUE_DATABASE_URL"] = database_url
        if preload is not None:
            self._environment["LD_PRELOAD"] = preload
        self.processes: dict[str, subprocess.Popen[bytes]] = {}
        self._seen: dict[int, psutil.Process] = {}
        home.mkdir(parents=True, exist_ok=True)
        self.stores = Stores(database_url or f"sqlite:///{home / 'league.db'}", str(home / "checkpoints"))
        self.stores.open_database(upgrade=True).close()
        self.service: LeagueService = self.stores.service()
        self.keep()
        self.client = LeagueClient(f"http://127.0.0.1:{self.port}")
        cli.wait_until(self.answers, "the server")
        self.run_id: str = self.client.launch(CONFIG).id

    def keep(self) -> None:
        """Starts whatever of the three is not there."""
        for name in (*SUPERVISORS, SERVER):
            process = self.processes.get(name)
            if process is None or process.poll() is not None:
                self.processes[name] = self._start(name)

    def answers(self) -> bool:
        """Whether the API does."""
        with contextlib.suppress(Exception):
            return bool(cli.get(f"http://127.0.0.1:{self.port}/readyz"))
        return False

    def owner(self) -> str | None:
        """Which supervisor has the run just now."""
        with contextlib.suppress(Exception):
            _, _, pid = (self.service.run(self.run_id).lease_owner or "").rpartition(":")
            for name in SUPERVISORS:
                if str(self.processes[name].pid) == pid and self.processes[name].poll() is None:
                    return name
        return None

    def family(self, name: str) -> list[psutil.Process]:
        """The process and all it has started."""
        with contextlib.suppress(psutil.Error):
            parent = psutil.Process(self.processes[name].pid)
            found = [parent, *parent.children(recursive=True)]
            self._seen |= {p.pid: p for p in found}
            return found
        return []

    def find(self, kind: str) -> psutil.Process | None:
        """A process of a kind, see `KINDS`, of the run's owner."""
        owner = self.owner()
        if owner is None:
            return None
        for process in self.family(owner):
            with contextlib.suppress(psutil.Error):
                if KINDS[kind] in " ".join(process.cmdline()):
                    return process
        return None

    def memory(self) -> dict[str, float]:
        """Returns MiB held now by kind of process: the largest of each."""
        held: dict[str, float] = {}
        for name in (*SUPERVISORS, SERVER):
            for process in self.family(name):
                with contextlib.suppress(psutil.Error):
                    line = " ".join(process.cmdline())
                    top = SERVER if name == SERVER else "supervisor"
                    kinds = [k for k, word in KINDS.items() if word in line]
                    kind = kinds[0] if kinds else top if process.pid == self.processes[name].pid else ""
                    if kind:
                        held[kind] = max(held.get(kind, 0.0), process.memory_info().rss / 2**20)
        return held

    def close(self) -> list[str]:
        """Ends everything as an operator would, and returns what is left behind, a line each."""
        for name in (*SUPERVISORS, SERVER):
            self.family(name)
            process = self.processes[name]
            if process.poll() is None:
                with contextlib.suppress(ProcessLookupError):
                    os.kill(process.pid, signal.SIGCONT)
                    process.send_signal(signal.SIGTERM)
        for process in self.processes.values():
            with contextlib.suppress(subprocess.TimeoutExpired):
                process.wait(timeout=60)
        deadline = time.monotonic() + 30
        left = list(self._seen.values())
        while left and time.monotonic() < deadline:
            left = [p for p in left if _lives(p)]
            time.sleep(0.5)
        told = []
        for process in left:
            with contextlib.suppress(psutil.Error):
                told.append(f"process {process.pid} is left: {' '.join(process.cmdline())[:120]}")
                process.kill()
        return told

    def _start(self, name: str) -> subprocess.Popen[bytes]:
        command = ["serve", "--port", str(self.port)] if name == SERVER else ["supervise"]
        log = (self.home / f"{name}.log").open("ab")
        return subprocess.Popen(
            [sys.executable, "-m", "league.cli", *command],
            stdout=log,
            stderr=subprocess.STDOUT,
            env=self._environment,
            start_new_session=True,
        )


def _lives(process: psutil.Process) -> bool:
    with contextlib.suppress(psutil.Error):
        return process.is_running() and process.status() != psutil.STATUS_ZOMBIE
    return False
