"""Plays a whole league in this process, real games and real learning, as `topology: sync` does."""

from __future__ import annotations

import threading

from league.bootstrap import Stores
from league.config.run import RunConfig
from league.pool.records import RunRecord
from league.runtime.messages import RunStatus
from league.runtime.supervisor import Supervisor


def play(
    stores: Stores, config: RunConfig, stop_at: int | None = None, resume: str | None = None
) -> RunRecord:
    """Runs a league, or goes on with one; `stop_at` interrupts it after that many moves."""
    service, supervisor = stores.service(), Supervisor(stores.database_url, stores.checkpoint_url)
    run_id = resume or service.launch(config).id
    service.want(run_id, "running")
    stop = threading.Event()

    def watch(status: RunStatus) -> None:
        if stop_at is not None and status.moves >= stop_at:
            stop.set()

    token = supervisor.wait_for_claim(run_id, stop, lambda _: None)
    return supervisor.supervise(run_id, token, stop, watch)
