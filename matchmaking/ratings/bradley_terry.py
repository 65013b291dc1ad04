"""Bradley-Terry ratings: one fit of all games at once, whatever their order (Bradley & Terry 1952).

P(i beats j) = 1 / (1 + e^{θ_j − θ_i}); a draw is half a win for each. Anchored at a player of fixed strength,
so that ratings of different runs and months compare.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
from scipy import sparse
from scipy.sparse.linalg import spsolve

from matchmaking.errors import RatingError

ELO_PER_NAT = 400.0 / math.log(10.0)
EXACT_UP_TO = 2000


@dataclass(frozen=True)
class PairScore:
    """What `first` scored against `second`: wins and half the draws, of so many games."""

    first: str
    second: str
    score: float
    games: float


@dataclass(frozen=True)
class FittedRating:
    """Elo points; the interval holds the strength with 95% if the model is right."""

    rating: float
    standard_error: float

    @property
    def interval(self) -> tuple[float, float]:
        half = 1.96 * self.standard_error
        return self.rating - half, self.rating + half


def fit(
    pairs: Sequence[PairScore],
    *,
    anchor: tuple[str, float] | None = None,
    prior_games: float = 1.0,
    iterations: int = 100,
) -> Mapping[str, FittedRating]:
    """Fits all ratings by Newton's method on the penalised likelihood.

    Args:
      pairs: each pair once or in parts, in any order.
      anchor: a player and the rating it shall have; without, the mean is 0.
      prior_games: drawn games against an average player that everybody is credited with: whoever has only
        won stays finite.
      iterations: at most.

    Returns:
      By player. The standard error is of the difference to the anchor (to the mean without one); exact up to
      2,000 players, a lower bound beyond.

    Raises:
      RatingError: impossible numbers, or an anchor that has not played.
    """
    names = sorted({name for p in pairs for name in (p.first, p.second)})
    if not names:
        return {}
    index = {name: i for i, name in enumerate(names)}
    if anchor is not None and anchor[0] not in index:
        raise RatingError(f"anchor {anchor[0]!r} has not played; players: {', '.join(names[:5])}, …")
    for p in pairs:
        if not (math.isfinite(p.score) and 0.0 <= p.score <= p.games and p.first != p.second):
            raise RatingError(f"{p.first} against {p.second}: a score of {p.score} in {p.games} games")
    n = len(names)
    i = np.array([index[p.first] for p in pairs])
    j = np.array([index[p.second] for p in pairs])
    games = np.array([p.games for p in pairs])
    score = np.array([p.score for p in pairs])
    theta = np.zeros(n)
    for _ in range(iterations):
        expected = _sigmoid(theta[i] - theta[j])
        surplus = score - games * expected
        net: npt.NDArray[Any] = np.bincount(i, surplus, n) - np.bincount(j, surplus, n)
        gradient = net + prior_games * (0.5 - _sigmoid(theta))
        step = spsolve(_information(theta, i, j, games, prior_games), gradient)
        theta += np.clip(step, -2.0, 2.0)  # a full step from far away may overshoot
        if float(np.abs(step).max()) < 1e-9:
            break
    errors = _standard_errors(
        _information(theta, i, j, games, prior_games), index[anchor[0]] if anchor else None
    )
    shift = anchor[1] - ELO_PER_NAT * theta[index[anchor[0]]] if anchor else -ELO_PER_NAT * theta.mean()
    return {
        name: FittedRating(float(ELO_PER_NAT * theta[k] + shift), float(ELO_PER_NAT * errors[k]))
        for name, k in index.items()
    }


def _sigmoid(x: npt.NDArray[np.float64]) -> npt.NDArray[np.float64]:
    return np.asarray(1.0 / (1.0 + np.exp(-x)), np.float64)


def _information(
    theta: npt.NDArray[np.float64],
    i: npt.NDArray[np.int64],
    j: npt.NDArray[np.int64],
    games: npt.NDArray[np.float64],
    prior_games: float,
) -> sparse.csc_matrix:
    n = len(theta)
    p = _sigmoid(theta[i] - theta[j])
    weight = games * p * (1.0 - p)
    own = _sigmoid(theta)
    diagonal = np.bincount(i, weight, n) + np.bincount(j, weight, n) + prior_games * own * (1.0 - own)
    every = np.arange(n)
    rows, columns = np.concatenate([every, i, j]), np.concatenate([every, j, i])
    return sparse.csc_matrix((np.concatenate([diagonal, -weight, -weight]), (rows, columns)), shape=(n, n))


def _standard_errors(information: sparse.csc_matrix, anchor: int | None) -> npt.NDArray[np.float64]:
    if information.shape[0] > EXACT_UP_TO:
        return np.asarray(1.0 / np.sqrt(information.diagonal()), np.float64)
    covariance = np.linalg.inv(information.toarray())
    own = np.diag(covariance)
    if anchor is None:
        return np.asarray(np.sqrt(own), np.float64)
    difference = own + covariance[anchor, anchor] - 2.0 * covariance[:, anchor]
    return np.asarray(np.sqrt(np.maximum(difference, 0.0)), np.float64)
