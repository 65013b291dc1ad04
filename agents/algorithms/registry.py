"""Algorithms by name: League's own and those of entry points in group `league.algorithms`.

Nothing is imported before it is asked for: a config names an algorithm in processes that need no torch.
"""

from __future__ import annotations

from functools import cache
from importlib.metadata import EntryPoint, entry_points
from typing import TYPE_CHECKING

from agents.errors import AgentError

if TYPE_CHECKING:
    from agents.algorithms.algorithm import Algorithm

GROUP = "league.algorithms"
OWN = {
    "ppo": "agents.algorithms.ppo:PPO",
    "impala": "agents.algorithms.impala:Impala",
    "appo": "agents.algorithms.appo:APPO",
    "alphastar": "agents.algorithms.alphastar:AlphaStar",
    "r2d2": "agents.algorithms.r2d2:R2D2",
}


@cache
def _points() -> dict[str, EntryPoint]:
    own = {name: EntryPoint(name, path, GROUP) for name, path in OWN.items()}
    return {point.name: point for point in entry_points(group=GROUP)} | own


def known_algorithms() -> tuple[str, ...]:
    """Returns the names that a config can say, League's own first."""
    return (*OWN, *sorted(_points().keys() - OWN.keys()))


@cache
def algorithm_class(name: str) -> type[Algorithm]:
    """Returns the class of an algorithm.

    Raises:
      AgentError: there is none of that name, or importing it fails.
    """
    if name not in _points():
        raise AgentError(f"unknown algorithm {name!r}; known: {', '.join(known_algorithms())}")
    point = _points()[name]
    try:
        result: type[Algorithm] = point.load()
    except Exception as error:
        raise AgentError(f"algorithm {name} ({point.value}): {type(error).__name__}: {error}") from error
    missing = [part for part in ("needs", "batch", "losses") if not callable(getattr(result, part, None))]
    if missing:
        raise AgentError(
            f"algorithm {name} ({point.value}) has no {', '.join(missing)}; "
            "derive it from agents.algorithms.algorithm.Algorithm"
        )
    return result
