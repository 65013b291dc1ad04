"""Actions of several parts as one integer; and actions drawn at random.

An action that is no vector is one integer everywhere: in `step`, in fragments, in records. Where it has
parts, with n_0, n_1, … choices, it is the mixed-radix number (a_0 · n_1 + a_1) · n_2 + a_2 …; masks have the
parts' columns side by side.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from typing import Any

import numpy as np
import numpy.typing as npt

from envs.spec import GameSpec

# Integers [R], or vectors float32 [R, D].
Actions = npt.NDArray[Any]
# More choices than this cannot be numbered by an int64.
MOST_ACTIONS = 2**62


def compose(parts: npt.NDArray[np.integer[Any]], factors: Sequence[int]) -> npt.NDArray[np.int64]:
    """Args: parts: [R, F]. factors: choices of each part, [F]. Returns: [R]."""
    actions = np.zeros(len(parts), np.int64)
    for f, choices in enumerate(factors):
        actions = actions * choices + parts[:, f]
    return actions


def decompose(actions: npt.NDArray[np.integer[Any]], factors: Sequence[int]) -> npt.NDArray[np.int64]:
    """Args: actions: [R]. factors: choices of each part, [F]. Returns: [R, F]."""
    parts = np.zeros((len(actions), len(factors)), np.int64)
    left = actions.astype(np.int64)
    for f in range(len(factors) - 1, 0, -1):
        left, parts[:, f] = np.divmod(left, factors[f])
    parts[:, 0] = left
    return parts


def allowed(
    actions: npt.NDArray[np.integer[Any]], legal: npt.NDArray[np.bool_], factors: Sequence[int]
) -> npt.NDArray[np.bool_]:
    """Whether each action is one that its mask permits. Args: actions: [R]. legal: [R, ΣF]."""
    parts = decompose(np.maximum(actions, 0), factors)
    permitted, start, rows = actions >= 0, 0, np.arange(len(actions))
    for f, choices in enumerate(factors):
        there = parts[:, f] < choices
        permitted = permitted & there & legal[rows, start + np.where(there, parts[:, f], 0)]
        start += choices
    return permitted


def random_moves(spec: GameSpec, legal: npt.NDArray[np.bool_], rng: np.random.Generator) -> Actions:
    """Draws an action of a game uniformly for each row: a legal one, or any vector the game permits."""
    if spec.action_size:
        return rng.uniform(-1.0, 1.0, (len(legal), spec.action_size)).astype(np.float32)
    return random_actions(legal, rng, spec.action_factors)


def random_actions(
    legal: npt.NDArray[np.bool_], rng: np.random.Generator, factors: Sequence[int] | None = None
) -> npt.NDArray[np.int64]:
    """Draws a legal action uniformly for each row. Args: legal: [R, ΣF]. Returns: [R]."""
    chances = rng.random(legal.shape) * legal
    if factors is None or len(factors) == 1:
        return np.asarray(chances.argmax(axis=1), np.int64)
    bounds = np.cumsum([0, *factors]).tolist()
    parts = [chances[:, a:b].argmax(axis=1) for a, b in pairwise(bounds)]
    return compose(np.stack(parts, axis=1), factors)
