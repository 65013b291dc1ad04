"""Actions out of a network's heads: one sampler a game, by what its actions are."""

from __future__ import annotations

import math
from typing import Any, Protocol

import numpy as np
import numpy.typing as npt

from agents.acting import kernels
from agents.networks.distributions import LOG_STD_RANGE
from envs.actions import Actions
from envs.spec import GameSpec

F32 = npt.NDArray[np.float32]


class Sampler(Protocol):
    """Draws actions and writes them down with their log-probabilities and the positions' values."""

    def noise(self, rows: int, rng: np.random.Generator) -> F32:
        """Returns what so many rows are drawn with."""

    def __call__(
        self,
        heads: F32,
        asked: npt.NDArray[np.bool_],
        rows: npt.NDArray[np.int32],
        legal: npt.NDArray[np.bool_],
        noise: F32,
        temperature: float,
        actions: Actions,
        log_probs: F32,
        values: F32,
    ) -> None:
        """See `agents.acting.kernels.sample_actions`; `noise` by row, from this sampler's `noise`."""


class CategoricalSampler:
    """Of logits: one action out of A, or one of each part."""

    def __init__(self, factors: tuple[int, ...]) -> None:
        self._factors = np.array(factors, np.int64)

    def noise(self, rows: int, rng: np.random.Generator) -> F32:
        return rng.random((rows, len(self._factors)), np.float32)

    def __call__(
        self,
        heads: F32,
        asked: npt.NDArray[np.bool_],
        rows: npt.NDArray[np.int32],
        legal: npt.NDArray[np.bool_],
        noise: F32,
        temperature: float,
        actions: Actions,
        log_probs: F32,
        values: F32,
    ) -> None:
        kernels.sample_actions(
            heads, asked, rows, legal, self._factors, noise, temperature, actions, log_probs, values
        )


class GaussianSampler:
    """Of means and logarithms of standard deviations, for vectors; see `agents.networks.distributions`."""

    def __init__(self, size: int) -> None:
        self._size = size

    def noise(self, rows: int, rng: np.random.Generator) -> F32:
        return rng.standard_normal((rows, self._size), np.float32)

    def __call__(
        self,
        heads: F32,
        asked: npt.NDArray[np.bool_],
        rows: npt.NDArray[np.int32],
        legal: npt.NDArray[np.bool_],
        noise: F32,
        temperature: float,
        actions: Actions,
        log_probs: F32,
        values: F32,
    ) -> None:
        places = np.flatnonzero(asked)
        chosen, d = rows[places], self._size
        drawn, drawn_log_probs = gaussian_actions(heads[places, : 2 * d], noise[chosen], temperature)
        actions[chosen], log_probs[chosen] = drawn, drawn_log_probs
        values[chosen] = heads[places, 2 * d]


def gaussian_actions(parameters: F32, noise: F32, temperature: float | F32) -> tuple[F32, F32]:
    """Returns vectors, [R, D], and their log-probabilities by the undivided policy, [R].

    Args:
      parameters: means, then logarithms of standard deviations, [R, 2 D]. noise: normal, [R, D].
      temperature: multiplies the standard deviations, of all rows or by row, [R, 1]; 0 plays the means.
    """
    d = noise.shape[1]
    log_std = np.clip(parameters[:, d:], *LOG_STD_RANGE)
    z = temperature * noise
    log_probs = -(0.5 * z**2 + log_std + 0.5 * math.log(2.0 * math.pi)).sum(axis=1)
    drawn: F32 = parameters[:, :d] + np.exp(log_std) * z
    return drawn, log_probs.astype(np.float32)


def sampler_of(spec: GameSpec) -> Sampler:
    """Returns what draws a game's actions."""
    return GaussianSampler(spec.action_size) if spec.action_size else CategoricalSampler(spec.action_factors)


def empty_actions(spec: GameSpec, *shape: int) -> Actions:
    """Returns room for actions of a game."""
    if spec.action_size:
        return np.zeros((*shape, spec.action_size), np.float32)
    result: npt.NDArray[Any] = np.zeros(shape, np.int64)
    return result
