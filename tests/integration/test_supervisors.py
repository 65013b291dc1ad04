"""Four supervisors and eight workers over one PostgreSQL; one of them dies. Part of `make test-postgres`."""

from __future__ import annotations

import contextlib
import os
import re
import signal
from pathlib import Path

import pytest

from league.bootstrap import Stores
from league.config.run import RunConfig
from league.store.check import check_run
from league.store.checkpoints import CheckpointStore
from tests import command_line as cli
from tests.conftest import ON_POSTGRES

CONFIG = {
    "name": "shared",
    "stop": {"moves": 600_000},
    "players": [
        {"role": "main", "snapshot": {"min_steps": 40_000, "max_steps": 120_000}},
        {"role": "main_exploiter", "snapshot": {"min_steps": 30_000, "max_steps": 60_000}},
    ],
    "anchors": ["random"],
    "network": {"hidden": [32]},
    "learner": {"minibatch": 1024},
    "rollout": {"workers": 2, "num_envs": 256, "fragment_length": 8, "fragment_lanes": 128,
                "episodes_per_series": 32},
    "evaluation": {"num_envs": 32, "episodes": 8},
}  # fmt: skip


@pytest.mark.skipif(not ON_POSTGRES, reason="several supervisors need PostgreSQL: make test-postgres")
@pytest.mark.timeout(600)
def test_four_supervisors_share_one_database(tmp_path: Path) -> None:
    home = tmp_path / "home"
    stores = Stores.from_environment(str(home))
    stores.open_database(upgrade=True).close()
    service = stores.service()
    runs = [service.launch(RunConfig.from_data({**CONFIG, "seed": k})).id for k in range(4)]

    def owners() -> dict[str, int]:
        found = {run: service.run(run).lease_owner or "" for run in runs}
        return {run: int(re.sub(r".*:", "", owner)) for run, owner in found.items() if owner}

    with contextlib.ExitStack() as stack:
        processes = [stack.enter_context(cli.started("supervise", "--home", str(home))) for _ in range(4)]
        cli.wait_until(lambda: len(owners()) == 4, "an owner for each run", 120)
        assert set(owners().values()) == {p.pid for p in processes}, "each supervisor has one run"
        cli.wait_until(lambda: all(service.run(run).moves for run in runs), "moves in every run", 240)
        fated = processes[0]
        (orphan,) = [run for run, pid in owners().items() if pid == fated.pid]
        os.killpg(fated.pid, signal.SIGKILL)
        cli.wait_until(
            lambda: all(service.run(run).state == "finished" for run in runs), "every run's end", 480
        )
        assert "resumed" in {e.kind for e in service.events(orphan)}, "another took it over"
    store = CheckpointStore(stores.checkpoint_url)
    database = stores.open_database(upgrade=False)
    for run in runs:
        assert service.run(run).moves >= 600_000
        assert check_run(database, store, run) == []
