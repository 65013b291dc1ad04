"""What a learner learns from."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np
import numpy.typing as npt


@dataclass(frozen=True)
class Fragment:
    """One learning player's own decisions, time-major, in the game's compact dtypes.

    A column is T decisions of one seat in order; after a terminal one the next episode follows.

    Attributes:
      player: who decided. generation: its resets so far, when it did.
      version: its oldest weights in here, counted in updates.
      obs: [T + 1, B, D] (bytes, of named arrays); the last row is what the seat observed next, zeros after
        a terminal.
      legal: bool [T, B, A].
      actions: int64 [T, B], see `envs.actions`; of vectors float32 [T, B, D].
      log_probs: log μ of the action taken, [T, B].
      values: the acting network's, [T + 1, B].
      rewards: until the seat's next decision, [T, B].
      terminal: the episode ended after this decision, bool [T, B].
      memory: what the acting network remembered before the first decision, float32 [B, M]; M 0: nothing.
    """

    player: str
    generation: int
    version: int
    obs: npt.NDArray[Any]
    legal: npt.NDArray[np.bool_]
    actions: npt.NDArray[Any]
    log_probs: npt.NDArray[np.float32]
    values: npt.NDArray[np.float32]
    rewards: npt.NDArray[np.float32]
    terminal: npt.NDArray[np.bool_]
    memory: npt.NDArray[np.float32] = field(default_factory=lambda: np.zeros((0, 0), np.float32))

    @property
    def steps(self) -> int:
        """Decisions in here."""
        return int(self.rewards.size)
