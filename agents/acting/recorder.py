"""One game out of a batch, written down move by move, for people to look at."""

from __future__ import annotations

import base64
import time
import zlib
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from agents.acting.episode import Episode
from agents.acting.policy import probabilities
from envs.actions import Actions
from envs.vector_game import Step, Turns

# Observations of more numbers than this are pictures, and too large to keep one a move.
MOST_NUMBERS = 512
MOST_MOVES = 2000
ROUNDED_TO = 4
# Pictures are thinned out to at most so many rows and columns, and so many are kept of an episode.
PICTURE_SIZE = 96
MOST_PICTURES = 400


class Recorder:
    """Watches one game of a batch now and then."""

    def __init__(
        self,
        env: int = 0,
        seconds_between: float = 5.0,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        """Args: env: which game. seconds_between: from one episode's end to when the next may be watched."""
        self._env, self._seconds, self._clock = env, seconds_between, clock
        self._moves: list[dict[str, Any]] | None = None
        self._due = clock()
        self._done: list[Episode] = []
        self._line: list[int] = []

    def take(self) -> list[Episode]:
        """Returns the episodes watched since the last call."""
        done, self._done = self._done, []
        return done

    @property
    def env(self) -> int:
        return self._env

    @property
    def is_watching(self) -> bool:
        """Whether an episode is being written down just now."""
        return self._moves is not None

    def see_moves(
        self,
        turns: Turns,
        actions: Actions,
        factors: Sequence[int],
        players: Sequence[str],
        heads_of: Callable[[int], npt.NDArray[np.float32] | None],
        history: Callable[[], list[int]] | None = None,
    ) -> None:
        """Writes the watched game's decisions of one tick down.

        Args:
          factors: choices of each part of an action. players: of the watched game, by seat.
          heads_of: logits and value by row, [A + 1]; None: no network chose.
          history: the game's actions so far, chance included; None where the game cannot tell.
        """
        if self._moves is None or not players:
            return
        for row in np.flatnonzero(turns.env == self._env):
            seat = int(turns.seat[row])
            legal = turns.legal[row]
            action = actions[row].tolist()
            if isinstance(action, list):
                action = [round(x, ROUNDED_TO) for x in action]
            move: dict[str, Any] = {"seat": seat, "player": players[seat], "action": action}
            if history is not None:
                so_far = history()
                if chance := so_far[len(self._line) :]:
                    move["chance"] = chance
                self._line = [*so_far, move["action"]]
            elif (planes := _planes(turns.obs, int(row))) is not None and len(self._moves) < MOST_PICTURES:
                move["picture"] = picture(planes)
            if len(factors) == 1:
                move["legal"] = np.flatnonzero(legal).tolist()
            if (shown := _shown(turns.obs, int(row))) is not None:
                move["observation"] = shown
            out = heads_of(int(row))
            if out is not None:
                move["value"] = round(float(out[-1]), ROUNDED_TO)
                if len(factors) == 1:
                    chances = probabilities(out[None, :-1], legal[None])[0]
                    move["probabilities"] = [round(float(p), ROUNDED_TO) for p in chances[legal]]
            self._moves.append(move)
        if len(self._moves) > MOST_MOVES:
            self._stop()

    def see_step(self, step: Step, series: int, players: Sequence[str]) -> None:
        """Takes in what the tick came to. Args: series, players: of the watched game, before new seats."""
        if not step.ended[self._env]:
            return
        if self._moves:
            broken = step.aborted is not None and bool(step.aborted[self._env])
            if not broken:
                returns = tuple(round(float(x), ROUNDED_TO) for x in step.returns[self._env])
                self._done.append(Episode(series, tuple(players), returns, self._moves))
            self._stop()
        elif self._clock() >= self._due:
            self._moves, self._line = [], []

    def _stop(self) -> None:
        self._moves, self._due = None, self._clock() + self._seconds


def _planes(obs: npt.NDArray[Any], row: int) -> npt.NDArray[np.uint8] | None:
    """Returns the first image in an observation, [C, H, W]."""
    for array in [obs[name] for name in obs.dtype.names] if obs.dtype.names else [obs]:
        if array.dtype == np.uint8 and array.ndim == 4:
            planes: npt.NDArray[np.uint8] = array[row]
            return planes
    return None


def _shown(obs: npt.NDArray[Any], row: int) -> Any:
    """Returns an observation as numbers, by name where it has parts; None where there are too many."""
    if obs.dtype.names is not None:
        parts = {name: _shown(obs[name], row) for name in obs.dtype.names}
        return {name: part for name, part in parts.items() if part is not None} or None
    flat = obs[row].reshape(-1)
    return [round(float(x), ROUNDED_TO) for x in flat] if flat.size <= MOST_NUMBERS else None


def picture(planes: npt.NDArray[np.uint8]) -> dict[str, Any]:
    """Returns what a seat sees as a small picture: rows, columns, channels and the bytes.

    Args:
      planes: [C, H, W]; three are red, green and blue, any other number is shown as the brightest.

    Returns:
      `data`: H × W × channels bytes, deflated (RFC 1950), in base64.
    """
    stride = -(-max(planes.shape[1:]) // PICTURE_SIZE)
    small = planes[:, ::stride, ::stride]
    if len(small) != 3:
        small = small.max(axis=0, keepdims=True)
    channels, rows, columns = small.shape
    data = zlib.compress(np.ascontiguousarray(small.transpose(1, 2, 0)).tobytes(), 6)
    return {"rows": rows, "columns": columns, "channels": channels, "data": base64.b64encode(data).decode()}
