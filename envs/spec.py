"""What a game is: its seats, its length, what its rewards mean."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
from gymnasium import spaces

Outcome = Literal["win_draw_loss", "score"]


@dataclass(frozen=True)
class SeatSpec:
    """One position in a game. Seats of one `team` win and lose together."""

    name: str
    observation_space: spaces.Space[Any]
    action_space: spaces.Space[Any]
    team: int


@dataclass(frozen=True)
class GameSpec:
    """The facts of a game that players, match-making and learners rely on.

    Attributes:
      game_id: the id that `envs.make` takes.
      seats: in the order of `Turns.seat`.
      turn_based: one seat decides at a time (else every live seat at once).
      max_length: decisions of all seats together after which every episode has ended.
      reward_range: lowest and highest return of one seat in one episode.
      zero_sum: the seats' returns sum to zero in every episode.
      outcome: `win_draw_loss` when the returns say who won, `score` when their size matters.
      openspiel_id: the OpenSpiel game with the same moves in the same numbering, if there is one;
        bots that search (`mcts:N`) play through it.
    """

    game_id: str
    seats: tuple[SeatSpec, ...]
    turn_based: bool
    max_length: int
    reward_range: tuple[float, float]
    zero_sum: bool
    outcome: Outcome
    openspiel_id: str | None = None

    @property
    def num_seats(self) -> int:
        return len(self.seats)

    @property
    def num_actions(self) -> int:
        """Size of the discrete action space, which all seats of a vector game share."""
        space = self.seats[0].action_space
        if not isinstance(space, spaces.Discrete):
            raise TypeError(f"{self.game_id}: seat {self.seats[0].name} acts in {space}, not Discrete")
        return int(space.n)

    @property
    def observation_size(self) -> int:
        """Numbers in one observation, flattened."""
        shape = self.seats[0].observation_space.shape
        if shape is None:
            raise TypeError(f"{self.game_id}: observations have no shape")
        return int(np.prod(shape))

    @property
    def observation_dtype(self) -> np.dtype[Any]:
        dtype = self.seats[0].observation_space.dtype
        if dtype is None:
            raise TypeError(f"{self.game_id}: observations have no dtype")
        return np.dtype(dtype)
