"""What a seat of an OpenSpiel game is shown, and the fastest way to write it into a batch's buffer."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import permutations
from typing import Any

import numpy as np
import numpy.typing as npt
import pyspiel
from open_spiel.python.observation import make_observation

from envs.errors import GameError

# A seat's observation may hold so many numbers; a batch holds thousands.
LARGEST_OBSERVATION = 100_000
Kind = pyspiel.GameType


def observed_shape(game: pyspiel.Game, name: str) -> tuple[bool, tuple[int, ...]]:
    """Returns whether the information state is shown (else the observation), and its shape."""
    kind = game.get_type()
    if kind.dynamics == Kind.Dynamics.MEAN_FIELD:
        raise GameError(f"openspiel:{name} is a mean-field game: its players are a distribution, not seats")
    shapes: list[tuple[bool, tuple[int, ...]]] = []
    if kind.provides_information_state_tensor:
        shapes.append((True, tuple(game.information_state_tensor_shape())))
    if kind.provides_observation_tensor:
        shapes.append((False, tuple(game.observation_tensor_shape())))
    if not shapes:
        raise GameError(f"openspiel:{name} shows its players no tensors")
    for perfect_recall, shape in shapes:
        if np.prod(shape) <= LARGEST_OBSERVATION:
            return perfect_recall, shape
    size = int(np.prod(shapes[-1][1]))
    raise GameError(f"openspiel:{name} shows its players {size} numbers, more than {LARGEST_OBSERVATION}")


def tensor_of(state: pyspiel.State, seat: int, perfect_recall: bool) -> list[float]:
    numbers: list[float] = (
        state.information_state_tensor(seat) if perfect_recall else state.observation_tensor(seat)
    )
    return numbers


def fast_observer(
    game: pyspiel.Game, perfect_recall: bool
) -> tuple[Any | None, list[list[int] | None] | None]:
    """Returns OpenSpiel's buffer observer, if it shows what the state's own tensor shows, else None.

    It does not always: Connect Four's ignores `egocentric_obs_tensor`. Where it shows the same planes in
    another order, the order that each seat needs is returned too. A random game tells.
    """
    try:
        observer = make_observation(game, pyspiel.IIGObservationType(perfect_recall=perfect_recall))
    except (RuntimeError, ValueError, pyspiel.SpielError):
        return None, None
    if observer is None or observer.tensor is None:
        return None, None
    shape = game.information_state_tensor_shape() if perfect_recall else game.observation_tensor_shape()
    turn_based = game.get_type().dynamics == Kind.Dynamics.SEQUENTIAL
    planes = shape[0] if turn_based and len(shape) == 3 and shape[0] <= 8 else 0
    # For each seat the orders of its planes that would do, so far.
    orders = [list(permutations(range(planes))) for _ in range(game.num_players())] if planes else []
    same = True
    for observed, shown, seat in _random_observations(game, observer, perfect_recall):
        same = same and np.array_equal(observed, shown)
        if orders:
            parts = observed.reshape(planes, -1)
            orders[seat] = [o for o in orders[seat] if np.array_equal(parts[list(o)].ravel(), shown)]
        if not same and not (orders and all(orders)):
            return None, None
    if same:
        return observer, None
    return observer, [None if o[0] == tuple(range(planes)) else list(o[0]) for o in orders]


def _random_observations(
    game: pyspiel.Game, observer: Any, perfect_recall: bool
) -> Iterator[tuple[npt.NDArray[np.float32], npt.NDArray[np.float32], int]]:
    """Yields what the observer sees, what the state's tensor shows, and for which seat, over random play."""
    rng, state = np.random.default_rng(0), game.new_initial_state()
    while not state.is_terminal():
        if state.is_chance_node():
            outcomes, _ = zip(*state.chance_outcomes(), strict=True)
            state.apply_action(int(rng.choice(outcomes)))
            continue
        simultaneous = state.is_simultaneous_node()
        seats = range(game.num_players()) if simultaneous else (state.current_player(),)
        for seat in seats:
            observer.set_from(state, seat)
            yield observer.tensor, np.array(tensor_of(state, seat, perfect_recall), np.float32), seat
        chosen = [int(rng.choice(state.legal_actions(seat))) for seat in seats]
        if simultaneous:
            state.apply_actions(chosen)
        else:
            state.apply_action(chosen[0])


def first_line(error: Exception) -> str:
    return (str(error).splitlines() or [type(error).__name__])[0]
