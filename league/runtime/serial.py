"""A league in one process, play and learning in turn: for `topology: sync`, tests and debugging.

The same parts as the Ray run in another assembly. Nothing depends on a clock but the times shown, so a
seed gives the same league again, bit for bit.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable

from league.runtime.coordinator import Coordinator
from league.runtime.learning import LearnerPool
from league.runtime.messages import RunStatus
from league.runtime.rollout import RolloutPlayer

TICKS_PER_EXCHANGE = 16
EXCHANGES_PER_SAVE = 8


def run_serial(
    coordinator: Coordinator,
    rollout: RolloutPlayer,
    learning: LearnerPool,
    *,
    on_exchange: Callable[[RunStatus], bool],
) -> None:
    """Plays and learns until the stop rule, or until told to stop.

    Args:
      on_exchange: called with the run's status after each exchange; False stops the run.
    """
    _refresh(rollout, learning)
    owed = 0.0
    for exchange in itertools.count():
        orders = coordinator.exchange_rollout("serial", rollout.report())
        stop = orders.stop or not on_exchange(coordinator.status())
        if stop or exchange % EXCHANGES_PER_SAVE == 0:
            _save(coordinator, rollout, learning)
        if stop:
            break
        rollout.reconfigure(orders)
        _refresh(rollout, learning)
        rollout.apply_orders(orders)
        for _ in range(TICKS_PER_EXCHANGE):
            rollout.play_training()
            owed += rollout.evaluation_share / (1.0 - rollout.evaluation_share)  # ticks, as a share of all
            while owed >= 1.0:
                rollout.play_evaluation()
                owed -= 1.0
            for player in rollout.learners:
                while (fragment := rollout.fragment(player)) is not None:
                    learning.learn(fragment)
                    _refresh(rollout, learning)
    coordinator.flush()


def _save(coordinator: Coordinator, rollout: RolloutPlayer, learning: LearnerPool) -> None:
    """Stores the learners and carries out what the coordinator answers."""
    orders = coordinator.exchange_learner(learning.report())
    learning.forget_old_states()
    learning.progress = orders.progress
    if orders.config is not None:
        learning.reconfigure(orders.config)
    if orders.orders:
        learning.obey(orders.orders)
        coordinator.exchange_learner(learning.report())
        learning.forget_old_states()
        _refresh(rollout, learning)


def _refresh(rollout: RolloutPlayer, learning: LearnerPool) -> None:
    for player in rollout.learners:
        update = None if learning.is_resting(player) else learning.weights(player, rollout.version(player))
        if update is not None:
            rollout.apply_weights(update)
