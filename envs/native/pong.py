"""A small Pong on pixels, both paddles at once, thousands of games at once.

Rules: a field of H × W pixels. Paddles of three pixels stand in the first and in the last column; each move
they go up, stay, or go down by one, inside the field. The ball then goes one pixel along each of its two
directions, reflected by the upper and lower edge. In front of a paddle's column it is sent back if the paddle
covers its row, with the vertical direction of the side of the paddle that it meets (the middle sends it on as
it came); where the paddle is not, its owner loses the game. After `rallies` × W moves the game is a draw.
The ball starts in the middle, towards one of the players, up or down, by chance.
"""

from __future__ import annotations

from typing import Any

import numba
import numpy as np
import numpy.typing as npt
from gymnasium import spaces

from envs.errors import GameError, IllegalActionError
from envs.native.batch import U64, draw
from envs.spec import GameSpec, SeatSpec
from envs.vector_game import Step, Turns, VectorGame

# Columns of a game's state; paddles are where their upper pixel is.
LEFT, RIGHT, ROW, COLUMN, DOWN, ACROSS, CLOCK, FIELDS = range(8)
PADDLE = 3
I64 = npt.NDArray[np.int64]


@numba.njit(cache=True)
def _serve(e: int, state: I64, random: U64, height: int, width: int) -> None:
    state[e, LEFT] = state[e, RIGHT] = (height - PADDLE) // 2
    state[e, ROW] = 1 + draw(random, e, height - 2)
    state[e, COLUMN] = width // 2
    state[e, DOWN] = 2 * draw(random, e, 2) - 1
    state[e, ACROSS] = 2 * draw(random, e, 2) - 1
    state[e, CLOCK] = 0


@numba.njit(cache=True)
def _serve_all(state: I64, random: U64, height: int, width: int) -> None:
    for e in range(state.shape[0]):
        _serve(e, state, random, height, width)


@numba.njit(cache=True)
def _draw_field(state: I64, obs: npt.NDArray[np.uint8]) -> None:
    """Writes obs [N, 2, 2, H, W]: for each seat the picture now and one move ago, itself on the left."""
    games, width = obs.shape[0], obs.shape[4]
    for e in range(games):
        for seat in range(2):
            obs[e, seat, 1] = obs[e, seat, 0]  # the last picture
            if state[e, CLOCK] == 0:
                obs[e, seat, 1] = 0
            obs[e, seat, 0] = 0
            mine = state[e, LEFT] if seat == 0 else state[e, RIGHT]
            theirs = state[e, RIGHT] if seat == 0 else state[e, LEFT]
            for k in range(PADDLE):
                obs[e, seat, 0, mine + k, 0] = 255
                obs[e, seat, 0, theirs + k, width - 1] = 255
            column = state[e, COLUMN] if seat == 0 else width - 1 - state[e, COLUMN]
            obs[e, seat, 0, state[e, ROW], column] = 255


@numba.njit(cache=True)
def _advance(
    actions: I64,
    state: I64,
    random: U64,
    height: int,
    width: int,
    longest: int,
    rewards: npt.NDArray[np.float32],
    ended: npt.NDArray[np.bool_],
) -> None:
    for e in range(state.shape[0]):
        loser = -1
        for seat in range(2):
            action = actions[2 * e + seat]
            if action < 0 or action > 2:
                loser = seat
            else:
                place = state[e, LEFT + seat] + action - 1
                state[e, LEFT + seat] = min(max(place, 0), height - PADDLE)
        row, column = state[e, ROW] + state[e, DOWN], state[e, COLUMN] + state[e, ACROSS]
        if row < 0 or row >= height:
            state[e, DOWN] = -state[e, DOWN]
            row = state[e, ROW] + state[e, DOWN]
        side = 0 if column == 0 else 1 if column == width - 1 else -1
        if side >= 0:
            part = row - state[e, LEFT + side]
            if part < 0 or part >= PADDLE:
                loser = side if loser < 0 else loser
            else:
                state[e, ACROSS] = -state[e, ACROSS]
                column = state[e, COLUMN]
                if part != 1:
                    state[e, DOWN] = part - 1
        state[e, ROW], state[e, COLUMN] = row, column
        state[e, CLOCK] += 1
        rewards[e, :] = 0.0
        if loser >= 0:
            rewards[e, loser] = -1.0
            rewards[e, 1 - loser] = 1.0
        ended[e] = loser >= 0 or state[e, CLOCK] >= longest
        if ended[e]:
            _serve(e, state, random, height, width)


class Pong(VectorGame):
    """Observations are uint8 images [2, H, W]: the field now and one move ago, oneself on the left.

    Actions: 0 up, 1 stay, 2 down.
    """

    def __init__(
        self,
        num_envs: int,
        seed: int | None = None,
        height: int = 12,
        width: int = 16,
        rallies: int = 12,
        *,
        forfeit_illegal: bool = False,
    ) -> None:
        """Args: num_envs: games. seed: of the serves. rallies: crossings of the field before a draw.

        Raises:
          GameError: a field too small to play in.
        """
        if num_envs < 1:
            raise GameError(f"native:pong needs num_envs ≥ 1, not {num_envs}")
        if height < PADDLE + 2 or width < 6 or rallies < 1:
            raise GameError(
                f"native:pong needs height ≥ {PADDLE + 2}, width ≥ 6, rallies ≥ 1; "
                f"got {height}, {width}, {rallies}"
            )
        self.num_envs, self._forfeit = num_envs, forfeit_illegal
        self._longest = rallies * width
        standard = (height, width, rallies) == (12, 16, 12)
        name = "native:pong" if standard else f"native:pong(height={height},width={width},rallies={rallies})"
        box = spaces.Box(0, 255, (2, height, width), np.uint8)
        names = ("left", "right")
        seats = tuple(SeatSpec(names[i], box, spaces.Discrete(3), team=i) for i in range(2))
        self.spec = GameSpec(name, seats, False, 2 * self._longest, (-1.0, 1.0), True, "win_draw_loss")
        self._random = np.random.SeedSequence(seed).generate_state(num_envs, np.uint64)
        self._state = np.zeros((num_envs, FIELDS), np.int64)
        _serve_all(self._state, self._random, height, width)
        self._obs = np.zeros((num_envs, 2, 2, height, width), np.uint8)
        _draw_field(self._state, self._obs)
        self._env = np.repeat(np.arange(num_envs, dtype=np.int32), 2)
        self._seat = np.tile(np.arange(2, dtype=np.int32), num_envs)
        self._legal = np.ones((2 * num_envs, 3), np.bool_)
        self._rewards = np.zeros((num_envs, 2), np.float32)
        self._ended = np.zeros(num_envs, np.bool_)
        self._truncated = np.zeros(num_envs, np.bool_)

    def turns(self) -> Turns:
        return Turns(self._env, self._seat, self._obs.reshape(-1, *self._obs.shape[2:]), self._legal)

    def step(self, actions: npt.NDArray[np.integer[Any]]) -> Step:
        wrong = (actions < 0) | (actions > 2)
        if wrong.any() and not self._forfeit:
            row = int(np.flatnonzero(wrong)[0])
            raise IllegalActionError(self.spec.game_id, row // 2, row % 2, int(actions[row]), [0, 1, 2])
        height, width = self._obs.shape[3:]
        _advance(
            actions.astype(np.int64, copy=False),
            self._state,
            self._random,
            height,
            width,
            self._longest,
            self._rewards,
            self._ended,
        )
        _draw_field(self._state, self._obs)
        return Step(self._rewards, self._ended, self._truncated, self._rewards)

    def histories(self, envs: npt.NDArray[np.integer[Any]]) -> list[list[int]]:
        """Returns the states instead: a game of pixels keeps no record of its moves."""
        return [self._state[e].tolist() for e in envs]
