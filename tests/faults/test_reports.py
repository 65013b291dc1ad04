"""Reports that come twice, late or out of order are counted once."""

from __future__ import annotations

import random
from collections.abc import Callable

from league.bootstrap import Stores
from league.config.run import RunConfig
from league.runtime.coordinator import Coordinator
from league.runtime.learning import LearnerPool
from league.runtime.messages import RolloutReport
from league.runtime.rollout import RolloutPlayer
from league.runtime.serial import run_serial
from league.store.check import check_run
from league.store.checkpoints import CheckpointStore
from league.store.repositories.runs import RunRepository


class Unreliable(Coordinator):
    """Hears some reports twice, and some of long ago again."""

    rng = random.Random(0)
    past: list[RolloutReport]
    repeated = moves = games = 0

    def exchange_rollout(self, worker, report):  # type: ignore[no-untyped-def]
        self.past = [*getattr(self, "past", []), report][-40:]
        self.moves, self.games = self.moves + report.moves, self.games + report.games
        orders = super().exchange_rollout(worker, report)
        for old in self.rng.sample(self.past, min(3, len(self.past))):
            if self.rng.random() < 0.5:
                super().exchange_rollout(worker, old)  # what is handed out in answer is lost
                self.repeated += 1
        return orders


def test_what_is_reported_again_and_again_counts_once(
    stores: Stores, small_config: Callable[..., RunConfig]
) -> None:
    config = small_config(stop={"moves": 100_000})
    database = stores.open_database(upgrade=False)
    run_id = stores.service().launch(config).id
    token = RunRepository(database).claim(run_id, "test", 100.0)
    assert token is not None
    coordinator = Unreliable(config, stores.database_url, run_id, token)
    learning = LearnerPool(config, stores.checkpoint_url)
    coordinator.create(*learning.create())
    rollout = RolloutPlayer(config, stores.checkpoint_url, 0, 1)
    run_serial(coordinator, rollout, learning, on_exchange=lambda _: True)
    assert coordinator.repeated >= 20
    run = stores.service().run(run_id)
    assert (run.moves, run.games) == (coordinator.moves, coordinator.games)
    store = CheckpointStore(stores.checkpoint_url)
    assert check_run(database, store, run_id) == []
