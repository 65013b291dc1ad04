"""What the quickstart needs of a machine: seconds to its first step, memory, processor time by process."""

from __future__ import annotations

import contextlib
import tempfile
import time
from dataclasses import dataclass
from pathlib import Path

import psutil

from league.bootstrap import Stores
from league.errors import LeagueError
from tests import command_line as cli

ROOT = Path(__file__).parents[2]


@dataclass(frozen=True)
class Footprint:
    """Of one run of the quickstart with its web server.

    Attributes:
      first_step_seconds: from the start of the command to the first step learnt, as the database has it.
      rss_mib: of all its processes together, at most. shares: of the whole machine's processor time, by kind.
    """

    first_step_seconds: float
    rss_mib: float
    shares: dict[str, float]

    @property
    def service_share(self) -> float:
        """Of coordinator, database and API: the rest plays or learns, or is Ray's own."""
        return self.shares.get("coordinator", 0.0) + self.shares.get("server and supervisor", 0.0)


def measure(seconds: float) -> Footprint:
    """Runs the quickstart for so long after its first step."""
    quickstart = str(ROOT / "configs" / "quickstart.yaml")
    with tempfile.TemporaryDirectory() as home:
        begin = time.perf_counter()
        with cli.started("run", quickstart, "--home", home, "--port", str(cli.free_port())) as process:
            cli.wait_until(lambda: _has_learnt(home), "the first step", 90)
            first = time.perf_counter() - begin
            family = cli.family(process)
            before, rss = _cpu(family, process.pid), 0.0
            start = time.perf_counter()
            while (spent := time.perf_counter() - start) < seconds:
                family = cli.family(process)
                rss = max(rss, sum(_rss(p) for p in family))
                time.sleep(1.0)
            after = _cpu(family, process.pid)
    cores = psutil.cpu_count() or 1
    shares = {kind: (t - before.get(kind, 0.0)) / (spent * cores) for kind, t in after.items()}
    return Footprint(first, rss / 2**20, shares)


def _has_learnt(home: str) -> bool:
    if not Path(home, "league.db").exists():
        return False
    with contextlib.suppress(LeagueError):
        service = Stores.from_environment(home).service()
        return any(p.steps > 0 for run in service.runs() for p in service.players(run.id, limit=10))
    return False


def _rss(process: psutil.Process) -> int:
    with contextlib.suppress(psutil.Error):
        return int(process.memory_info().rss)
    return 0


def _cpu(family: list[psutil.Process], root: int) -> dict[str, float]:
    """Returns seconds of processor time by kind of process."""
    spent: dict[str, float] = {}
    for process in family:
        with contextlib.suppress(psutil.Error):
            line, times = " ".join(process.cmdline()), process.cpu_times()
            kind = (
                "coordinator"
                if "CoordinatorActor" in line
                else "learner"
                if "LearnerActor" in line
                else "play"
                if "RolloutActor" in line
                else "server and supervisor"
                if process.pid == root
                else "ray"
            )
            spent[kind] = spent.get(kind, 0.0) + times.user + times.system
    return spent
