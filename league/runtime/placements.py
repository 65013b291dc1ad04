"""Which of a run's learner processes holds which learning player."""

from __future__ import annotations

from league.config.run import RunConfig


def placement_of(player: str, config: RunConfig, workers: int) -> int:
    """Returns the number of the process: players are dealt out in turn."""
    return list(config.roster()).index(player) % workers
