"""Leduc poker (Southey et al. 2005), thousands of games at once, move by move OpenSpiel's.

Six cards of three ranks (card c has rank c // 2), an ante of one each; two rounds of betting, raises of two
and of four, two a round at most; a public card between them. Actions: 0 folds, 1 calls, 2 raises.
"""

from __future__ import annotations

import numba
import numpy as np
import numpy.typing as npt
from gymnasium import spaces

from envs.native.batch import U64, NativeTurns, draw
from envs.spec import GameSpec, SeatSpec

# Columns of the state of a game.
CARD_0, CARD_1, PUBLIC, ROUND, TO_MOVE, STAKE, PAID_0, PAID_1, RAISES, DECISIONS, COLUMNS = range(11)
I64 = npt.NDArray[np.int64]
I32 = npt.NDArray[np.int32]


@numba.njit(cache=True)
def _deal(
    e: int,
    random: U64,
    state: I64,
    bets: npt.NDArray[np.int8],
    ply: I32,
    history: I32,
) -> None:
    first = draw(random, e, 6)
    second = (first + 1 + draw(random, e, 5)) % 6
    state[e, :] = 0
    state[e, CARD_0], state[e, CARD_1], state[e, PUBLIC] = first, second, -1
    state[e, STAKE] = state[e, PAID_0] = state[e, PAID_1] = 1
    bets[e, :] = 0
    history[e, 0], history[e, 1] = first, second
    ply[e] = 2


@numba.njit(cache=True)
def _deal_all(
    random: U64,
    state: I64,
    bets: npt.NDArray[np.int8],
    ply: I32,
    history: I32,
) -> None:
    for e in range(state.shape[0]):
        _deal(e, random, state, bets, ply, history)


@numba.njit(cache=True)
def _observe(
    state: I64,
    bets: npt.NDArray[np.int8],
    obs: npt.NDArray[np.uint8],
    legal: npt.NDArray[np.bool_],
    seat: I32,
) -> None:
    """Writes obs [N, 30]: seat, private card, public card, then call or raise of four bets a round."""
    for e in range(state.shape[0]):
        me = state[e, TO_MOVE]
        seat[e] = me
        obs[e, :] = 0
        obs[e, me] = 1
        obs[e, 2 + state[e, CARD_0 + me]] = 1
        if state[e, PUBLIC] >= 0:
            obs[e, 8 + state[e, PUBLIC]] = 1
        for k in range(8):
            if bets[e, k] > 0:
                obs[e, 14 + 2 * k + bets[e, k] - 1] = 1
        legal[e, 0] = state[e, STAKE] > state[e, PAID_0 + me]
        legal[e, 1] = True
        legal[e, 2] = state[e, RAISES] < 2


@numba.njit(cache=True)
def _strength(card: int, public: int) -> int:
    """A pair beats everything, else the rank counts."""
    rank = card // 2
    return 10 + rank if rank == public // 2 else rank


@numba.njit(cache=True)
def _advance(
    actions: I64,
    allowed: npt.NDArray[np.bool_],
    random: U64,
    state: I64,
    bets: npt.NDArray[np.int8],
    ply: I32,
    history: I32,
    rewards: npt.NDArray[np.float32],
    ended: npt.NDArray[np.bool_],
) -> None:
    for e in range(state.shape[0]):
        me = state[e, TO_MOVE]
        over = False
        won = 0  # by the one to move
        if not allowed[e]:
            won, over = -13, True
        else:
            action = actions[e]
            history[e, ply[e]] = action
            ply[e] += 1
            if action == 0:
                won, over = -state[e, PAID_0 + me], True
            else:
                count = state[e, DECISIONS]
                bets[e, 4 * state[e, ROUND] + count] = action
                state[e, DECISIONS] = count + 1
                if action == 2:
                    state[e, STAKE] += 2 if state[e, ROUND] == 0 else 4
                    state[e, RAISES] += 1
                state[e, PAID_0 + me] = state[e, STAKE]
                if action == 1 and count >= 1:  # everybody has paid: the round is over
                    if state[e, ROUND] == 1:
                        mine = _strength(state[e, CARD_0 + me], state[e, PUBLIC])
                        theirs = _strength(state[e, CARD_1 - me], state[e, PUBLIC])
                        over = True
                        won = 0 if mine == theirs else state[e, STAKE] if mine > theirs else -state[e, STAKE]
                    else:
                        # One of the four cards left, by its place among them.
                        place = draw(random, e, 4)
                        card = 0
                        while True:
                            if card != state[e, CARD_0] and card != state[e, CARD_1]:
                                if place == 0:
                                    break
                                place -= 1
                            card += 1
                        history[e, ply[e]] = card
                        ply[e] += 1
                        state[e, PUBLIC], state[e, ROUND] = card, 1
                        state[e, RAISES] = state[e, DECISIONS] = state[e, TO_MOVE] = 0
                else:
                    state[e, TO_MOVE] = 1 - me
        rewards[e, me] = won
        rewards[e, 1 - me] = -won
        ended[e] = over
        if over:
            _deal(e, random, state, bets, ply, history)


class LeducPoker(NativeTurns):
    """Observations are uint8 [30], OpenSpiel's information state."""

    def __init__(self, num_envs: int, seed: int | None = None, *, forfeit_illegal: bool = False) -> None:
        """Args: num_envs: games. seed: of the deals. forfeit_illegal: see `step`."""
        box = spaces.Box(0, 1, (30,), np.uint8)
        seats = tuple(SeatSpec(f"seat_{i}", box, spaces.Discrete(3), team=i) for i in range(2))
        spec = GameSpec(
            "native:leduc_poker", seats, True, 8, (-13.0, 13.0), True, "win_draw_loss", "leduc_poker"
        )
        super().__init__(spec, num_envs, seed, 11, forfeit_illegal=forfeit_illegal)
        self._state = np.zeros((num_envs, COLUMNS), np.int64)
        self._bets = np.zeros((num_envs, 8), np.int8)
        _deal_all(self._random, self._state, self._bets, self._ply, self._history)

    def _observe(self) -> None:
        _observe(self._state, self._bets, self._obs, self._legal, self._seat)

    def _advance(self, actions: npt.NDArray[np.int64], allowed: npt.NDArray[np.bool_]) -> None:
        _advance(
            actions,
            allowed,
            self._random,
            self._state,
            self._bets,
            self._ply,
            self._history,
            self._rewards,
            self._ended,
        )
