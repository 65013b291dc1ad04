"""What a game is: its seats, its length, what its rewards mean."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any, Literal

import numpy as np
import numpy.typing as npt
from gymnasium import spaces

Outcome = Literal["win_draw_loss", "score"]


@dataclass(frozen=True)
class SeatSpec:
    """One position in a game. Seats of one `team` win and lose together.

    What is observed is a Box, or a Dict of Boxes where it has named parts. Actions are Discrete,
    MultiDiscrete where one has several parts, or a Box of one dimension where they are vectors of numbers,
    −1 to 1 meaning what the game permits.
    """

    name: str
    observation_space: spaces.Space[Any]
    action_space: spaces.Space[Any]
    team: int


@dataclass(frozen=True)
class ObservationPart:
    """A named array of what is observed. `high`: its largest value, of bytes."""

    name: str
    dtype: str
    shape: tuple[int, ...]
    high: float


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
        if self.action_size:
            return ()
        parts = [_factors(self.game_id, seat) for seat in self.seats]
        longest = max(len(p) for p in parts)
        padded = [(*p, *(1,) * (longest - len(p))) for p in parts]
        return tuple(max(column) for column in zip(*padded, strict=True))

    @property
    def num_actions(self) -> int:
        """Columns of a mask: the choices of all parts together; none where actions are vectors."""
        return sum(self.action_factors)

    @cached_property
    def action_size(self) -> int:
        """Numbers of an action that is a vector; 0: it is an integer. Who has fewer leaves the rest."""
        sizes = [
            int(np.prod(s.action_space.shape)) for s in self.seats if isinstance(s.action_space, spaces.Box)
        ]
        if sizes and len(sizes) < self.num_seats:
            raise TypeError(f"{self.game_id}: some seats act by vectors, others by integers")
        return max(sizes, default=0)

    @property
    def policy_size(self) -> int:
        """Numbers of a policy head: a logit an action, or mean and spread of each number of a vector."""
        return 2 * self.action_size or self.num_actions

    @cached_property
    def observation_parts(self) -> tuple[ObservationPart, ...]:
        """The named arrays of what is observed; none where it is one array.

        Then `Turns.obs` is a structured array [R] with these fields: `obs["image"]` is [R, *shape].
        """
        if not any(isinstance(s.observation_space, spaces.Dict) for s in self.seats):
            return ()
        first = self.seats[0].observation_space
        if not isinstance(first, spaces.Dict) or any(s.observation_space != first for s in self.seats):
            raise TypeError(f"{self.game_id}: seats that observe named arrays must observe the same ones")
        return tuple(_part(self.game_id, name, space) for name, space in first.spaces.items())

    @cached_property
    def row_dtype(self) -> np.dtype[Any]:
        """The structured dtype of a row of named arrays."""
        return np.dtype([(part.name, part.dtype, part.shape) for part in self.observation_parts])

    @cached_property
    def observation_shape(self) -> tuple[int, ...]:
        """Of a row of `Turns.obs`: the seats' own where they share it, else flat, short ones padded by 0.

        A row of named arrays counts as its bytes: that is how it travels.
        """
        if self.observation_parts:
            return (self.row_dtype.itemsize,)
        shapes = {tuple(_shape(self.game_id, seat)) for seat in self.seats}
        if len(shapes) == 1:
            return shapes.pop()
        return (max(int(np.prod(shape)) for shape in shapes),)

    @property
    def observation_size(self) -> int:
        """Numbers in one observation, flattened; bytes of one of named arrays."""
        return int(np.prod(self.observation_shape))

    @cached_property
    def observation_dtype(self) -> np.dtype[Any]:
        if self.observation_parts:
            return np.dtype(np.uint8)
        return np.result_type(*(_dtype(self.game_id, seat) for seat in self.seats))


def _factors(game_id: str, seat: SeatSpec) -> tuple[int, ...]:
    space = seat.action_space
    if isinstance(space, spaces.Discrete):
        return (int(space.n),)
    if isinstance(space, spaces.MultiDiscrete):
        return tuple(int(n) for n in space.nvec.reshape(-1))
    raise TypeError(f"{game_id}: seat {seat.name} acts in {space}, not Discrete or MultiDiscrete")


def _part(game_id: str, name: str, space: spaces.Space[Any]) -> ObservationPart:
    if not isinstance(space, spaces.Box) or space.dtype not in (np.uint8, np.float32):
        raise TypeError(f"{game_id}: observation {name!r} is {space}, not a Box of uint8 or float32")
    high = float(np.max(space.high)) if space.dtype == np.uint8 else 1.0
    return ObservationPart(name, np.dtype(space.dtype).str, tuple(int(n) for n in space.shape), high)


def rows_of(obs: npt.NDArray[Any]) -> npt.NDArray[Any]:
    """Returns observations as rows of numbers, [R, D]; named arrays as rows of their bytes."""
    if obs.dtype.names is None:
        return obs.reshape(len(obs), -1)
    return np.ascontiguousarray(obs).view(np.uint8).reshape(len(obs), -1)


def _shape(game_id: str, seat: SeatSpec) -> tuple[int, ...]:
    if seat.observation_space.shape is None:
        raise TypeError(f"{game_id}: observations of seat {seat.name} have no shape")
    return seat.observation_space.shape


def _dtype(game_id: str, seat: SeatSpec) -> np.dtype[Any]:
    if seat.observation_space.dtype is None:
        raise TypeError(f"{game_id}: observations of seat {seat.name} have no dtype")
    return np.dtype(seat.observation_space.dtype)
