"""Prioritised fictitious self-play (Vinyals et al. 2019, "Grandmaster level in StarCraft II", Methods).

Opponent j is met with probability ∝ f(w(me, j)): f says which opponents are worth the games.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import numpy.typing as npt

from matchmaking.errors import MatchmakingError

Array = npt.NDArray[np.float64]

WEIGHTINGS: dict[str, Callable[[Array], Array]] = {
    "squared": lambda w: (1.0 - w) ** 2,  # the hardest, first of all
    "variance": lambda w: w * (1.0 - w),  # equals, for a curriculum
    "linear": lambda w: 1.0 - w,
    "linear_capped": lambda w: np.minimum(0.5, 1.0 - w),
    "uniform": np.ones_like,
}


def probabilities(win_rates: npt.ArrayLike, weighting: str = "squared") -> Array:
    """Returns the probability of meeting each opponent.

    Args:
      win_rates: w(me, j) in [0, 1], [N].
      weighting: one of `WEIGHTINGS`.

    Returns:
      [N], summing to 1; uniform when every weight is zero (everybody is beaten).

    Raises:
      MatchmakingError: no opponents, a rate outside [0, 1], or an unknown weighting.
    """
    rates = np.asarray(win_rates, np.float64)
    if rates.ndim != 1 or rates.size == 0:
        raise MatchmakingError(f"PFSP needs the win rates of at least one opponent, got shape {rates.shape}")
    if not bool(((rates >= 0.0) & (rates <= 1.0)).all()):
        raise MatchmakingError(f"win rates must lie in [0, 1], got {rates.tolist()}")
    if weighting not in WEIGHTINGS:
        raise MatchmakingError(f"unknown PFSP weighting {weighting!r}; one of {', '.join(WEIGHTINGS)}")
    weights = WEIGHTINGS[weighting](rates)
    total = weights.sum()
    if total <= 0.0:
        return np.full(rates.size, 1.0 / rates.size)
    return np.asarray(weights / total, np.float64)
