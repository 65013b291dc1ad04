"""What a game is: its seats, its length, what its rewards mean."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any, Literal

import numpy as np
from gymnasium import spaces

Outcome = Literal["win_draw_loss", "score"]


@dataclass(frozen=True)
class SeatSpec:
    """One position in a game. Seats of one `team` win and lose together.

    Actions are Discrete, or MultiDiscrete where one has several parts; what is continuous in the original is
    cut into steps by the game's adapter.
    """

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

    @cached_property
    def sides(self) -> tuple[tuple[int, ...], ...]:
        """The seats of each team, teams in the order of their first seat: one player plays one side."""
        teams = dict.fromkeys(seat.team for seat in self.seats)
        return tuple(tuple(i for i, s in enumerate(self.seats) if s.team == team) for team in teams)

    @cached_property
    def side_of_seat(self) -> tuple[int, ...]:
        """The side of each seat."""
        return tuple(
            next(k for k, seats in enumerate(self.sides) if i in seats) for i in range(self.num_seats)
        )

    @cached_property
    def action_factors(self) -> tuple[int, ...]:
        """Choices of each part of an action: one part where it is discrete, several where multi-discrete.

        Seats that have fewer parts or fewer choices have the rest masked.
        """
        parts = [_factors(self.game_id, seat) for seat in self.seats]
        longest = max(len(p) for p in parts)
        padded = [(*p, *(1,) * (longest - len(p))) for p in parts]
        return tuple(max(column) for column in zip(*padded, strict=True))

    @property
    def num_actions(self) -> int:
        """Columns of a mask: the choices of all parts together."""
        return sum(self.action_factors)

    @cached_property
    def observation_shape(self) -> tuple[int, ...]:
        """Of a row of `Turns.obs`: the seats' own where they share it, else flat, short ones padded by 0."""
        shapes = {tuple(_shape(self.game_id, seat)) for seat in self.seats}
        if len(shapes) == 1:
            return shapes.pop()
        return (max(int(np.prod(shape)) for shape in shapes),)

    @property
    def observation_size(self) -> int:
        """Numbers in one observation, flattened."""
        return int(np.prod(self.observation_shape))

    @cached_property
    def observation_dtype(self) -> np.dtype[Any]:
        return np.result_type(*(_dtype(self.game_id, seat) for seat in self.seats))


def _factors(game_id: str, seat: SeatSpec) -> tuple[int, ...]:
    space = seat.action_space
    if isinstance(space, spaces.Discrete):
        return (int(space.n),)
    if isinstance(space, spaces.MultiDiscrete):
        return tuple(int(n) for n in space.nvec.reshape(-1))
    raise TypeError(f"{game_id}: seat {seat.name} acts in {space}, not Discrete or MultiDiscrete")


def _shape(game_id: str, seat: SeatSpec) -> tuple[int, ...]:
    if seat.observation_space.shape is None:
        raise TypeError(f"{game_id}: observations of seat {seat.name} have no shape")
    return seat.observation_space.shape


def _dtype(game_id: str, seat: SeatSpec) -> np.dtype[Any]:
    if seat.observation_space.dtype is None:
        raise TypeError(f"{game_id}: observations of seat {seat.name} have no dtype")
    return np.dtype(seat.observation_space.dtype)
