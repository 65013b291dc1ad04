"""A run's config: every number with its unit, default and bounds, and what may change while a run goes."""

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from league.config.run import RunConfig as RunConfig

__all__ = ["RunConfig"]


def __getattr__(name: str) -> Any:
    # On first use: the sections alone do not need the games.
    if name == "RunConfig":
        from league.config.run import RunConfig

        return RunConfig
    raise AttributeError(f"module 'league.config' has no attribute {name!r}")
