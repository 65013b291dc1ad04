"""The whole pool ranked at once from its payoff: Bradley-Terry, the pool's equilibrium, α-Rank."""

from __future__ import annotations

from collections.abc import Container, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from matchmaking import meta_game
from matchmaking.ordering import descending
from matchmaking.payoff import PayoffMatrix
from matchmaking.ratings import bradley_terry
from matchmaking.ratings.bradley_terry import ELO_PER_NAT, FittedRating, Games

Array = npt.NDArray[np.float64]
# Whoever has played fewer games that count is listed last and takes no part in the pool's own game: with its
# pairs all predicted, a newcomer would share in an equilibrium it has done nothing for.
PLACED_GAMES = 30.0


@dataclass(frozen=True)
class Rankings:
    """A pool, best first by Bradley-Terry, those who have hardly played after all others.

    Attributes:
      names: best first, equals as they came, [N]. ratings: by place, [N].
      table: the game between the first M players, antisymmetric [M, M], within ±1; pairs that have not met
        are predicted by Bradley-Terry.
      unmet: share of those M players' pairs that have not met.
      nash: weight in the equilibrium of highest entropy, [M]. against_nash: score against it, [M].
      alpha_rank: share of evolution's time, [M].
    """

    names: tuple[str, ...]
    ratings: tuple[FittedRating, ...]
    table: Array
    unmet: float
    nash: Array
    against_nash: Array
    alpha_rank: Array


def rank(
    payoff: PayoffMatrix,
    names: Sequence[str],
    anchor: str | None = None,
    moving: Container[str] = (),
    meta_limit: int | None = None,
) -> Rankings:
    """Ranks players.

    Args:
      anchor: whose rating is 0; without one the mean is.
      moving: who is learning. Their games were played by weaker selves, so they place themselves among the
        others and the others not at all.
      meta_limit: the equilibrium and α-Rank are of the best so many players; by default of all who have
        played `PLACED_GAMES` that count.
    """
    if not names:
        nothing = np.zeros(0)
        return Rankings((), (), np.zeros((0, 0)), 0.0, nothing, nothing, nothing)
    place = None if anchor is None else (list(names).index(anchor), 0.0)
    moves = np.array([name in moving for name in names])
    games = payoff.scores(names)
    elo, errors = bradley_terry.fit_arrays(games, len(names), anchor=place, moves=moves)
    placed = _counting(games, moves) >= PLACED_GAMES
    by_rating = descending(elo)
    order = np.concatenate([by_rating[placed[by_rating]], by_rating[~placed[by_rating]]])
    ranked = tuple(names[k] for k in order.tolist())
    ratings = tuple(FittedRating(float(elo[k]), float(errors[k])) for k in order.tolist())
    best = ranked[: int(placed.sum())][:meta_limit]
    if not best:
        return Rankings(ranked, ratings, np.zeros((0, 0)), 0.0, np.zeros(0), np.zeros(0), np.zeros(0))
    table, unmet = _completed(payoff.table(best), elo[order][: len(best)])
    nash, against = meta_game.nash_average(table)
    return Rankings(ranked, ratings, table, unmet, nash, against, meta_game.alpha_rank(table))


def _counting(games: Games, moves: npt.NDArray[np.bool_]) -> Array:
    """Returns how many games place each player: a frozen one's against frozen ones, a learning one's all."""
    n = len(moves)
    of_i = np.where(moves[games.i] | ~moves[games.j], games.played, 0.0)
    of_j = np.where(moves[games.j] | ~moves[games.i], games.played, 0.0)
    return np.asarray(np.bincount(games.i, of_i, n) + np.bincount(games.j, of_j, n), np.float64)


def _completed(table: Array, ratings: Array) -> tuple[Array, float]:
    """Returns the table without holes, and the share of the pairs that were holes."""
    holes = np.isnan(table)
    n = len(table)
    scale = max(1.0, float(np.nanmax(np.abs(table), initial=0.0)))
    predicted = np.tanh((ratings[:, None] - ratings[None, :]) / (2.0 * ELO_PER_NAT))  # 2 · logistic − 1
    return np.where(holes, predicted, table / scale), float(holes.sum()) / max(n * (n - 1), 1)
