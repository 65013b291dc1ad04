"""Columns of fragments kept to be learnt from again, the surprising ones more often (Schaul et al. 2016)."""

from __future__ import annotations

import torch

from agents.algorithms.config import QLearningConfig
from agents.algorithms.lanes import Lanes

# A priority is not 0: what surprised nobody may do so later.
LEAST = 1e-3


class Replay:
    """The newest columns of one learner; the oldest make room, and those of too old a policy are left out.

    A column is new: its priority is the highest there is until it has been learnt from.
    """

    def __init__(self, config: QLearningConfig) -> None:
        self._config = config
        self._kept: Lanes | None = None
        self._priorities = torch.zeros(0)
        self._versions = torch.zeros(0, dtype=torch.long)
        self._next = 0
        self._columns = 0

    def __len__(self) -> int:
        """Columns there are."""
        return self._columns

    def clear(self) -> None:
        """Forgets everything."""
        self._kept, self._next, self._columns = None, 0, 0

    def add(self, lanes: Lanes, version: int) -> None:
        """Takes in the columns of a fragment, played at this version of the learner."""
        steps, count = lanes.steps, lanes.count
        if self._kept is None:
            room = max(count, self._config.replay_capacity // steps)
            self._kept = lanes.empty(room)
            self._priorities = torch.zeros(room)
            self._versions = torch.zeros(room, dtype=torch.long)
        room = len(self._priorities)
        places = (self._next + torch.arange(count)) % room
        self._kept.put(places, lanes)
        self._priorities[places] = max(float(self._priorities.max()), 1.0)
        self._versions[places] = version
        self._next = (self._next + count) % room
        self._columns = min(self._columns + count, room)

    def forget_before(self, version: int) -> None:
        """Leaves out what was played before a version."""
        self._priorities[self._versions < version] = 0.0

    def draw(self, count: int, rng: torch.Generator) -> tuple[Lanes, torch.Tensor, torch.Tensor]:
        """Draws columns in proportion to priority^α.

        Returns:
          The columns; their importance (n P)^−β, 1 at most, [B]; where they are, for `reconsider`.
        """
        assert self._kept is not None  # noqa: S101  asked only when there is something
        weights = self._priorities[: self._columns].pow(self._config.priority_exponent)
        chances = weights / weights.sum()
        places = torch.multinomial(chances, count, replacement=True, generator=rng)
        importance = (self._columns * chances[places]).pow(-self._config.importance_exponent)
        return self._kept.part(places), importance / importance.max(), places

    def reconsider(self, places: torch.Tensor, priorities: torch.Tensor) -> None:
        """Gives columns new priorities, what has been left out meanwhile excepted."""
        kept = self._priorities[places] > 0.0
        self._priorities[places[kept]] = priorities.cpu()[kept].clamp(min=LEAST)
