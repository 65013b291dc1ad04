"""Commands to a league that nobody is running: carried out by the parts that would run it, without play."""

from __future__ import annotations

from league.config.run import RunConfig
from league.runtime.coordinator import Coordinator
from league.runtime.learning import LearnerPool
from league.runtime.messages import LearnerReport
from league.store.repositories.league_state import LeagueRepository
from league.store.session import Database

ROUNDS = 50


def carry_out(database_url: str, checkpoint_url: str, run_id: str, token: int) -> None:
    """Carries out every command that waits.

    Args:
      token: the lease's; the caller holds the run.

    Raises:
      LeaseLostError, CheckpointError, ConfigError.
    """
    database = Database(database_url)
    try:
        record, players = LeagueRepository(database, run_id).load_roster()
        config = RunConfig.from_data(record.config, f"run {run_id}")
        coordinator = Coordinator(config, database_url, run_id, token)
        learning: LearnerPool | None = None
        if not players:  # it has not begun: found it, so that there is somebody to speak of
            learning = LearnerPool(config, checkpoint_url)
            coordinator.create(*learning.create())
        for _ in range(ROUNDS):
            orders = coordinator.carry_out_commands(LearnerReport([], [], {}, {}))
            if not orders.orders:
                break
            if learning is None:
                learning = LearnerPool(config, checkpoint_url)
                for name, problem in learning.resume(players):
                    coordinator.note("checkpoint_damaged", name, reason=problem)
            if orders.config is not None:
                learning.reconfigure(orders.config)
            learning.obey(orders.orders)
            coordinator.carry_out_commands(learning.take_done())
        coordinator.flush()
        if learning is not None:
            learning.forget_old_states()
        coordinator.close()
    finally:
        database.close()
