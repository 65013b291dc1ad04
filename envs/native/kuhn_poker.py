"""Kuhn poker (Kuhn 1950), thousands of games at once, move by move OpenSpiel's.

Three cards, an ante of one each, one bet of one. Actions: 0 passes, 1 bets.
"""

from __future__ import annotations

import numba
import numpy as np
import numpy.typing as npt
from gymnasium import spaces

from envs.native.batch import U64, NativeTurns, draw
from envs.spec import GameSpec, SeatSpec


@numba.njit(cache=True)
def _deal(
    e: int,
    random: U64,
    cards: npt.NDArray[np.int64],
    ply: npt.NDArray[np.int32],
    history: npt.NDArray[np.int32],
) -> None:
    first = draw(random, e, 3)
    second = (first + 1 + draw(random, e, 2)) % 3
    cards[e, 0], cards[e, 1] = first, second
    history[e, 0], history[e, 1] = first, second
    ply[e] = 2


@numba.njit(cache=True)
def _observe(
    cards: npt.NDArray[np.int64],
    ply: npt.NDArray[np.int32],
    history: npt.NDArray[np.int32],
    obs: npt.NDArray[np.uint8],
    legal: npt.NDArray[np.bool_],
    seat: npt.NDArray[np.int32],
) -> None:
    """Writes obs [N, 11]: seat, card, then pass or bet of each of three decisions."""
    for e in range(cards.shape[0]):
        me = ply[e] % 2
        seat[e] = me
        obs[e, :] = 0
        obs[e, me] = 1
        obs[e, 2 + cards[e, me]] = 1
        for k in range(ply[e] - 2):
            obs[e, 5 + 2 * k + history[e, 2 + k]] = 1
        legal[e, :] = True


@numba.njit(cache=True)
def _advance(
    actions: npt.NDArray[np.int64],
    allowed: npt.NDArray[np.bool_],
    random: U64,
    cards: npt.NDArray[np.int64],
    ply: npt.NDArray[np.int32],
    history: npt.NDArray[np.int32],
    rewards: npt.NDArray[np.float32],
    ended: npt.NDArray[np.bool_],
) -> None:
    for e in range(cards.shape[0]):
        me = ply[e] % 2
        won = np.float32(0.0)  # by the first player
        over = True
        higher = np.float32(1.0) if cards[e, 0] > cards[e, 1] else np.float32(-1.0)
        if not allowed[e]:
            won = np.float32(-2.0) if me == 0 else np.float32(2.0)
        else:
            history[e, ply[e]] = actions[e]
            ply[e] += 1
            n = ply[e] - 2
            first, second = history[e, 2], history[e, 3]
            if n == 2 and first == 0 and second == 0:
                won = higher
            elif n == 2 and first == 1:
                won = np.float32(1.0) if second == 0 else 2 * higher
            elif n == 3:
                won = np.float32(-1.0) if history[e, 4] == 0 else 2 * higher
            else:
                over = False
        rewards[e, 0] = won
        rewards[e, 1] = -won
        ended[e] = over
        if over:
            _deal(e, random, cards, ply, history)


@numba.njit(cache=True)
def _deal_all(
    random: U64,
    cards: npt.NDArray[np.int64],
    ply: npt.NDArray[np.int32],
    history: npt.NDArray[np.int32],
) -> None:
    for e in range(cards.shape[0]):
        _deal(e, random, cards, ply, history)


class KuhnPoker(NativeTurns):
    """Observations are uint8 [11], OpenSpiel's information state."""

    def __init__(self, num_envs: int, seed: int | None = None, *, forfeit_illegal: bool = False) -> None:
        """Args: num_envs: games. seed: of the deals. forfeit_illegal: see `step`."""
        box = spaces.Box(0, 1, (11,), np.uint8)
        seats = tuple(SeatSpec(f"seat_{i}", box, spaces.Discrete(2), team=i) for i in range(2))
        spec = GameSpec("native:kuhn_poker", seats, True, 3, (-2.0, 2.0), True, "win_draw_loss", "kuhn_poker")
        super().__init__(spec, num_envs, seed, 5, forfeit_illegal=forfeit_illegal)
        self._cards = np.zeros((num_envs, 2), np.int64)
        _deal_all(self._random, self._cards, self._ply, self._history)

    def _observe(self) -> None:
        _observe(self._cards, self._ply, self._history, self._obs, self._legal, self._seat)

    def _advance(self, actions: npt.NDArray[np.int64], allowed: npt.NDArray[np.bool_]) -> None:
        _advance(
            actions,
            allowed,
            self._random,
            self._cards,
            self._ply,
            self._history,
            self._rewards,
            self._ended,
        )
