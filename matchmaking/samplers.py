"""Ways to choose an opponent. A role is a mixture of these.

A sampler is any object with `candidates(context)`; a user's own is ten lines:

    @dataclass(frozen=True)
    class Newest:
        def candidates(self, context):
            newest = context.roster.pool("historical", context.me)[-1:]
            return newest, [1.0] * len(newest)

and an entry point in group `league.samplers` that names the class.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Protocol

import numpy as np
import numpy.typing as npt

from matchmaking import meta_game, pfsp
from matchmaking.errors import MatchmakingError
from matchmaking.ratings.base import Rating
from matchmaking.roster import POOLS, Context

Array = npt.NDArray[np.float64]
Candidates = tuple[Sequence[str], "Array | Sequence[float]"]


class Sampler(Protocol):
    """Says who could be met next, and how likely."""

    def candidates(self, context: Context) -> Candidates:
        """Returns names and their chances, which sum to 1; both empty when there is nobody."""


def _uniform(names: Sequence[str]) -> Candidates:
    return names, np.full(len(names), 1.0 / len(names)) if names else np.zeros(0)


def _shared(share: float, names: Sequence[str]) -> Array:
    return np.full(len(names), share / max(len(names), 1))


def _require_pool(pool: str) -> None:
    if pool not in POOLS:
        raise MatchmakingError(f"unknown pool {pool!r}; one of {', '.join(POOLS)}")


@dataclass(frozen=True)
class SelfPlay:
    """Myself as I am now."""

    def candidates(self, context: Context) -> Candidates:
        return _uniform(context.self_or_mains())


@dataclass(frozen=True)
class Uniform:
    """Anybody in a pool."""

    pool: str = "historical"

    def __post_init__(self) -> None:
        _require_pool(self.pool)

    def candidates(self, context: Context) -> Candidates:
        return _uniform(context.roster.pool(self.pool, context.me))


@dataclass(frozen=True)
class Fictitious:
    """All my past selves alike (Brown 1951; Heinrich et al. 2015, fictitious self-play)."""

    def candidates(self, context: Context) -> Candidates:
        return _uniform(context.roster.pool("mine", context.me))


@dataclass(frozen=True)
class Window:
    """My latest self by a share, else one of my last snapshots (Unity ML-Agents' self-play).

    Attributes:
      size: snapshots that are remembered. latest_share: of games against myself as I am.
    """

    size: int = 10
    latest_share: float = 0.5

    def __post_init__(self) -> None:
        if self.size < 1 or not 0.0 <= self.latest_share <= 1.0:
            raise MatchmakingError(f"window needs size ≥ 1 and latest_share in [0, 1], got {self}")

    def candidates(self, context: Context) -> Candidates:
        past, latest = context.roster.pool("mine", context.me)[-self.size :], context.self_or_mains()
        if not past:
            return _uniform(latest)
        chances = np.full(len(past), (1.0 - self.latest_share) / len(past))
        return [*past, *latest], np.append(chances, _shared(self.latest_share, latest))


@dataclass(frozen=True)
class Quality:
    """Myself by a share, else a past self by softmax of its quality (Berner et al. 2019, OpenAI Five).

    A past self that I beat loses quality, q_i ← q_i − η / (N p_i); newcomers start with the highest there is.

    Attributes:
      latest_share: of games against myself as I am. learning_rate: η.
    """

    latest_share: float = 0.8
    learning_rate: float = 0.01

    def __post_init__(self) -> None:
        if not (0.0 <= self.latest_share <= 1.0 and self.learning_rate > 0.0):
            raise MatchmakingError(f"quality needs latest_share in [0, 1] and learning_rate > 0, got {self}")

    def candidates(self, context: Context) -> Candidates:
        past, latest = context.roster.pool("mine", context.me), context.self_or_mains()
        if not past:
            return _uniform(latest)
        chances = self.chances(past, context.qualities) * (1.0 - self.latest_share)
        return [*past, *latest], np.append(chances, _shared(self.latest_share, latest))

    def chances(self, past: Sequence[str], qualities: Mapping[str, float]) -> Array:
        """Returns p_i of each past self, [N]."""
        newcomer = max(qualities.values(), default=0.0)
        q = np.array([qualities.get(name, newcomer) for name in past])
        weights = np.exp(q - q.max())
        return np.asarray(weights / weights.sum(), np.float64)

    def after(
        self, beaten: str, wins: int, past: Sequence[str], qualities: Mapping[str, float]
    ) -> dict[str, float]:
        """Returns the qualities after I have won `wins` games of one series against a past self.

        The games of a series were drawn together, so each moves by the probability it was drawn with. A
        series' step is bounded by 1, so that one long series does not make a past self unreachable.
        """
        newcomer = max(qualities.values(), default=0.0)
        updated = {name: qualities.get(name, newcomer) for name in past}
        if beaten in updated:
            chance = float(self.chances(past, qualities)[list(past).index(beaten)])
            updated[beaten] -= min(1.0, wins * self.learning_rate / (len(past) * chance))
        return updated


@dataclass(frozen=True)
class Pfsp:
    """A pool by prioritised fictitious self-play; weightings as in `pfsp`."""

    pool: str = "historical"
    weighting: str = "squared"

    def __post_init__(self) -> None:
        _require_pool(self.pool)
        pfsp.probabilities([0.5], self.weighting)

    def candidates(self, context: Context) -> Candidates:
        names = context.roster.pool(self.pool, context.me)
        if not names:
            return names, np.zeros(0)
        return names, context.once(
            ("pfsp", self.pool, self.weighting),
            lambda: pfsp.probabilities(context.payoff.win_rates(context.me, names), self.weighting),
        )


@dataclass(frozen=True)
class RatingBand:
    """Players of about my strength, by TrueSkill's match quality (Herbrich et al. 2006), as in FTW.

    q = √(2β² / c²) exp(−(μ − μ_j)² / 2c²),   c² = 2β² + σ² + σ_j²
    """

    pool: str = "everyone"
    beta: float = 25.0 / 6.0

    def __post_init__(self) -> None:
        _require_pool(self.pool)

    def candidates(self, context: Context) -> Candidates:
        names = context.roster.pool(self.pool, context.me)
        if not names:
            return names, np.zeros(0)
        unseen = Rating(25.0, 25.0 / 3.0)
        mine = context.ratings.get(context.me, unseen)
        theirs = [context.ratings.get(name, unseen) for name in names]
        mu = np.array([r.mu for r in theirs]) - mine.mu
        spread = 2.0 * self.beta**2 + mine.sigma**2 + np.array([r.sigma for r in theirs]) ** 2
        quality = np.sqrt(2.0 * self.beta**2 / spread) * np.exp(-(mu**2) / (2.0 * spread))
        total = quality.sum()
        return (names, quality / total) if total > 0.0 else _uniform(names)


@dataclass(frozen=True)
class Fixed:
    """Named players, as far as they are there."""

    players: tuple[str, ...]

    def __post_init__(self) -> None:
        if not self.players or isinstance(self.players, str):
            raise MatchmakingError(f"players is a list of names, one at least; got {self.players!r}")

    def candidates(self, context: Context) -> Candidates:
        present = set(context.roster.pool("everyone", context.me))
        return _uniform([name for name in self.players if name in present])


@dataclass(frozen=True)
class MetaStrategy:
    """A pool by a solution of the game between its players (PSRO; Lanctot et al. 2017).

    Attributes:
      solver: `nash`, `replicator` or `alpha_rank`.
      newest: at most so many of the pool's newest players are in the game.
      refresh: matches after which it is solved anew; sooner when the pool has changed.
    """

    solver: str
    pool: str = "historical"
    newest: int = 100
    refresh: int = 50
    _solved: dict[str, tuple[tuple[str, ...], int, Array]] = field(
        default_factory=dict, init=False, repr=False, compare=False
    )

    def __post_init__(self) -> None:
        _require_pool(self.pool)
        if self.solver not in SOLVERS or self.newest < 1 or self.refresh < 1:
            raise MatchmakingError(
                f"solver is one of {', '.join(SOLVERS)}; newest and refresh ≥ 1; got {self}"
            )

    def candidates(self, context: Context) -> Candidates:
        names = tuple(context.roster.pool(self.pool, context.me)[-self.newest :])
        if not names:
            return names, np.zeros(0)
        known, uses, mixture = self._solved.get(context.me, ((), 0, np.zeros(0)))
        if known != names or uses >= self.refresh:
            uses, mixture = 0, SOLVERS[self.solver](meta_game.scaled(context.payoff.table(names)))
        self._solved[context.me] = (names, uses + 1, mixture)
        return names, mixture


SOLVERS: dict[str, Callable[[Array], Array]] = {
    "nash": lambda table: meta_game.nash_average(table)[0],
    "replicator": lambda table: np.asarray(meta_game.replicator(table, steps=2000)),
    "alpha_rank": meta_game.alpha_rank,
}


def meta_nash(pool: str = "historical", newest: int = 100, refresh: int = 50) -> MetaStrategy:
    """The pool's equilibrium of highest entropy."""
    return MetaStrategy("nash", pool, newest, refresh)


def replicator(pool: str = "historical", newest: int = 100, refresh: int = 50) -> MetaStrategy:
    """The time average of replicator dynamics."""
    return MetaStrategy("replicator", pool, newest, refresh)


def alpha_rank(pool: str = "historical", newest: int = 100, refresh: int = 50) -> MetaStrategy:
    """The stationary distribution of α-Rank."""
    return MetaStrategy("alpha_rank", pool, newest, refresh)
