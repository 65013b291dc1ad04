"""The game between players: who should be played how often, and what that says of the pool.

A payoff here is a matrix of what the row's player gets against the column's. Square and antisymmetric (twice
the win rate above one half) is one population against itself; [2, N, M] is two populations, the first table
the row player's payoffs and the second the column player's.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import numpy.typing as npt
from scipy.optimize import linprog, minimize

from matchmaking.errors import MatchmakingError
from matchmaking.ordering import TOLERANCE, best_first

Array = npt.NDArray[np.float64]


class Profile(NamedTuple):
    """A mixture for each of two populations: [N] and [M]."""

    row: Array
    column: Array


def nash(payoff: npt.ArrayLike) -> Array | Profile:
    """Returns a Nash equilibrium of a zero-sum game, exact, by linear programming (von Neumann 1928).

    max v  subject to  Aᵀx ≥ v, Σx = 1, x ≥ 0

    Returns:
      A mixture [N] for an antisymmetric payoff, a Profile for [2, N, M].

    Raises:
      MatchmakingError: not a payoff, or [2, N, M] that is not zero-sum.
    """
    tables = _tables(payoff)
    if not isinstance(tables, tuple):
        return _maximin(tables)
    first, second = tables
    if not np.allclose(first, -second, atol=1e-9):
        raise MatchmakingError(
            "nash solves zero-sum games; for general-sum payoffs use replicator or alpha_rank"
        )
    return Profile(_maximin(first), _maximin(second.T))


def nash_average(payoff: npt.ArrayLike, sharpness: float = 200.0) -> tuple[Array, Array]:
    """Returns the equilibrium of highest entropy and every player's score against it (Balduzzi et al. 2018).

    Of all equilibria it is the one in which copies of a player share their weight, so that adding a copy
    changes nobody's rating. Solved by its dual: x ∝ exp(Aλ), λ ≥ 0 minimising log Σ exp(Aλ).

    Args:
      payoff: antisymmetric [N, N].
      sharpness: bound on λ; weights below about exp(−sharpness · payoff) count as zero.

    Returns:
      (mixture [N], ratings A·mixture [N]).
    """
    table = _tables(payoff)
    if isinstance(table, tuple):
        raise MatchmakingError("nash_average needs one antisymmetric payoff")

    def dual(multipliers: Array) -> tuple[float, Array]:
        logits = table @ multipliers
        highest = logits.max()
        weights = np.exp(logits - highest)
        total = weights.sum()
        return float(highest + np.log(total)), table.T @ (weights / total)

    n = len(table)
    bounds = [(0.0, sharpness * 10)] * n
    result = minimize(
        dual,
        np.zeros(n),
        jac=True,
        bounds=bounds,
        method="L-BFGS-B",
        options={"maxiter": 5000, "ftol": 1e-14},
    )
    logits = table @ result.x
    mixture = np.exp(logits - logits.max())
    mixture /= mixture.sum()
    return mixture, table @ mixture


def replicator(payoff: npt.ArrayLike, *, steps: int = 20_000, step_size: float = 0.05) -> Array | Profile:
    """Returns the time average of replicator dynamics from the middle (Taylor & Jonker 1978).

    ẋ_i = x_i ((Ax)_i − xᵀAx); in zero-sum games the average approaches equilibrium.
    """
    tables = _tables(payoff)
    if not isinstance(tables, tuple):
        x = np.full(len(tables), 1.0 / len(tables))
        total = np.zeros_like(x)
        for _ in range(steps):
            x = _grow(x, tables @ x, step_size)
            total += x
        return total / steps
    first, second = tables
    x = np.full(first.shape[0], 1.0 / first.shape[0])
    y = np.full(first.shape[1], 1.0 / first.shape[1])
    total_x, total_y = np.zeros_like(x), np.zeros_like(y)
    for _ in range(steps):
        x, y = _grow(x, first @ y, step_size), _grow(y, second.T @ x, step_size)
        total_x += x
        total_y += y
    return Profile(total_x / steps, total_y / steps)


def alpha_rank(payoff: npt.ArrayLike, *, alpha: float = 20.0, population: int = 50) -> Array:
    """Returns how long evolution dwells on each player (Omidshafiei et al. 2019, α-Rank, single population).

    A mutant r takes over a population of s with probability ρ = (1 − e^{−αΔ}) / (1 − e^{−αmΔ}), 1/m when
    Δ = A_rs − A_sr is 0; the ranking is the stationary distribution of that Markov chain.

    Args:
      payoff: antisymmetric [N, N].
      alpha: strength of selection. population: m.
    """
    table = _tables(payoff)
    if isinstance(table, tuple):
        raise MatchmakingError("alpha_rank needs one antisymmetric payoff")
    n = len(table)
    if n == 1:
        return np.ones(1)
    gain = alpha * (table - table.T)  # [r, s]
    with np.errstate(over="ignore", divide="ignore", invalid="ignore"):
        fixation = np.expm1(-gain) / np.expm1(-population * gain)
    # Where both overflow, the mutant loses so clearly that the quotient is e^{αΔ(m−1)}: nothing.
    fixation = np.where(gain == 0.0, 1.0 / population, np.nan_to_num(fixation, nan=0.0))
    chain = np.maximum(fixation.T, 1e-12) / (n - 1)  # [s, r]; the floor keeps the chain irreducible
    np.fill_diagonal(chain, 0.0)
    np.fill_diagonal(chain, 1.0 - chain.sum(axis=1))
    system = np.vstack([chain.T - np.eye(n), np.ones(n)])
    stationary, *_ = np.linalg.lstsq(system, np.append(np.zeros(n), 1.0), rcond=None)
    stationary = np.clip(stationary, 0.0, None)
    return np.asarray(stationary / stationary.sum(), np.float64)


def exploitability(payoff: npt.ArrayLike, profile: npt.ArrayLike | Profile) -> float:
    """Returns what the best answers in the pool gain against a mixture, summed over the populations.

    Σ_i max_a u_i(a, x_{−i}) − u_i(x): 0 at equilibrium (NashConv; Lanctot et al. 2017). For one population it
    is the gain of one side.

    Args:
      profile: [N] for an antisymmetric payoff, (row, column) for [2, N, M].
    """
    tables = _tables(payoff)
    if not isinstance(tables, tuple):
        x = np.asarray(profile, np.float64)
        return float((tables @ x).max() - x @ tables @ x)
    first, second = tables
    row, column = (np.asarray(p, np.float64) for p in profile)  # type: ignore[union-attr]
    gain_row = (first @ column).max() - row @ first @ column
    gain_column = (row @ second).max() - row @ second @ column
    return float(gain_row + gain_column)


def nash_clusters(payoff: npt.ArrayLike, tolerance: float = 1e-6) -> list[list[int]]:
    """Returns the layers of a pool, strongest first: the support of its equilibrium, then of what is left.

    Wide layers in the middle are the spinning top of real games (Czarnecki et al. 2020).
    """
    table = _tables(payoff)
    if isinstance(table, tuple):
        raise MatchmakingError("nash_clusters needs one antisymmetric payoff")
    left = np.arange(len(table))
    clusters: list[list[int]] = []
    while len(left):
        mixture, _ = nash_average(table[np.ix_(left, left)])
        support = mixture > max(tolerance, 0.01 * mixture.max())
        clusters.append(left[support].tolist())
        left = left[~support]
    return clusters


def cycles(payoff: npt.ArrayLike, *, margin: float = 0.1, limit: int = 10) -> list[tuple[int, int, int]]:
    """Returns triples a, b, c where a beats b beats c beats a, clearest first; a is the smallest number.

    Args:
      margin: what each must score above a draw, in the payoff's units.
    """
    table = _tables(payoff)
    if isinstance(table, tuple):
        raise MatchmakingError("cycles needs one antisymmetric payoff")
    result: list[tuple[float, tuple[int, int, int]]] = []
    for a in range(len(table)):
        # [b, c]: the weakest of the three victories; a is the smallest, so that each cycle appears once.
        weakest = np.minimum(np.minimum(table[a][:, None], table), table[:, a][None, :])
        weakest[:a, :] = weakest[:, :a] = -np.inf
        for b, c in np.argwhere(weakest >= margin - TOLERANCE):
            result.append((float(weakest[b, c]), (a, int(b), int(c))))
        result = best_first(result, lambda item: item[0])[:limit]
    return [triple for _, triple in result]


def transitivity(payoff: npt.ArrayLike) -> float:
    """Returns the share of the payoff that a rating explains, in [0, 1].

    By the Hodge decomposition A_ij = f_i − f_j + cyclic part, f the row means (Balduzzi et al. 2019): 1 for a
    pool that an Elo scale describes, 0 for rock, paper, scissors.
    """
    table = _tables(payoff)
    if isinstance(table, tuple):
        raise MatchmakingError("transitivity needs one antisymmetric payoff")
    total = float((table**2).sum())
    if total == 0.0:
        return 1.0
    strength = table.mean(axis=1)
    return float(((strength[:, None] - strength[None, :]) ** 2).sum() / total)


def effective_diversity(payoff: npt.ArrayLike, mixture: npt.ArrayLike) -> float:
    """Returns pᵀ max(A, 0) p: how much a mixture's players differ where it counts (Balduzzi et al. 2019)."""
    table, p = np.asarray(payoff, np.float64), np.asarray(mixture, np.float64)
    return float(p @ np.maximum(table, 0.0) @ p)


def scaled(table: Array) -> Array:
    """Returns a pool's table of mean margins with pairs that have not met at 0 and no entry beyond ±1.

    Dividing by a constant moves no equilibrium; α-Rank's selection and the tolerances here are in its units.
    """
    known = np.nan_to_num(np.asarray(table, np.float64), nan=0.0)
    return np.asarray(known / max(1.0, float(np.abs(known).max(initial=0.0))), np.float64)


def _grow(x: Array, fitness: Array, step_size: float) -> Array:
    grown = x * np.exp(step_size * (fitness - x @ fitness))
    return np.asarray(grown / grown.sum(), np.float64)


def _maximin(table: Array) -> Array:
    n, m = table.shape
    answer = linprog(
        c=np.append(np.zeros(n), -1.0),
        A_ub=np.hstack([-table.T, np.ones((m, 1))]),
        b_ub=np.zeros(m),
        A_eq=np.append(np.ones(n), 0.0)[None],
        b_eq=[1.0],
        bounds=[(0.0, 1.0)] * n + [(None, None)],
        method="highs",
    )
    if not answer.success:
        raise MatchmakingError(f"no equilibrium found: {answer.message}")
    mixture = np.clip(np.asarray(answer.x, np.float64)[:n], 0.0, None)
    return np.asarray(mixture / mixture.sum(), np.float64)


def _tables(payoff: npt.ArrayLike) -> Array | tuple[Array, Array]:
    table = np.asarray(payoff, np.float64)
    if not bool(np.isfinite(table).all()) or table.size == 0:
        raise MatchmakingError("a payoff must be finite numbers, at least one")
    if table.ndim == 3 and table.shape[0] == 2:
        return table[0], table[1]
    if table.ndim != 2 or table.shape[0] != table.shape[1] or not np.allclose(table, -table.T, atol=1e-9):
        raise MatchmakingError(f"a payoff is antisymmetric [N, N] or [2, N, M], got shape {table.shape}")
    return table
