"""Samplers as a config names them: League's own and those that other packages bring."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping, Sequence
from functools import cache
from importlib.metadata import entry_points

from pydantic import BaseModel, ConfigDict, Field, model_validator

from league.config.explain import nearest
from matchmaking.errors import MatchmakingError
from matchmaking.samplers import (
    Fictitious,
    Fixed,
    Pfsp,
    Quality,
    RatingBand,
    Sampler,
    SelfPlay,
    Uniform,
    Window,
    alpha_rank,
    meta_nash,
    replicator,
)

SAMPLERS: dict[str, Callable[..., Sampler]] = {
    "self_play": SelfPlay,
    "fictitious": Fictitious,
    "window": Window,
    "quality": Quality,
    "pfsp": Pfsp,
    "rating_band": RatingBand,
    "meta_nash": meta_nash,
    "replicator": replicator,
    "alpha_rank": alpha_rank,
    "uniform": Uniform,
    "fixed": Fixed,
}


@cache
def known_samplers() -> dict[str, Callable[..., Sampler]]:
    """Returns the samplers by name: League's and those of entry points in group `league.samplers`."""
    return SAMPLERS | {point.name: point.load() for point in entry_points(group="league.samplers")}


class OpponentConfig(BaseModel):
    """One way to choose opponents, and how often; the other keys are the sampler's own."""

    model_config = ConfigDict(extra="allow", frozen=True, allow_inf_nan=False)

    sampler: str
    weight: float = Field(1.0, gt=0.0)

    @model_validator(mode="after")
    def _can_be_made(self) -> OpponentConfig:
        self.build()
        return self

    def build(self) -> Sampler:
        """Makes the sampler. Raises: ValueError: no such sampler, or options it does not take."""
        factories = known_samplers()
        if self.sampler not in factories:
            hint = nearest(self.sampler, factories)
            raise ValueError(f"sampler: {self.sampler!r}{hint}; allowed: {', '.join(factories)}")
        factory, options = factories[self.sampler], dict(self.model_extra or {})
        parameters = inspect.signature(factory).parameters
        allowed = [n for n in parameters if not n.startswith("_")]
        for key in options:
            if key not in allowed:
                takes = f"{self.sampler} takes {', '.join(allowed) or 'no options'}"
                raise ValueError(f"unknown key {key!r}{nearest(key, allowed)}; {takes}")
        missing = [
            n for n in allowed if parameters[n].default is inspect.Parameter.empty and n not in options
        ]
        if missing:
            raise ValueError(f"sampler {self.sampler}: needs {', '.join(missing)}")
        if isinstance(options.get("players"), list):
            options["players"] = tuple(options["players"])
        try:
            return factory(**options)
        except (MatchmakingError, TypeError) as error:
            raise ValueError(f"sampler {self.sampler}: {error}") from error


def never_met(
    opponents: Sequence[OpponentConfig],
    targets: str | None,
    me: str,
    roles: Mapping[str, str],
    anchors: Sequence[str],
) -> str | None:
    """Returns what is wrong with opponents that can never be there, None when all can.

    Args:
      me: the learning player who asks for them. roles: of every learning player, by name.
    """
    for opponent in opponents:
        sampler = opponent.build()
        if isinstance(sampler, Fixed):
            for name in sampler.players:
                parent, _, number = name.rpartition(".v")
                if name in roles or name in anchors or (parent in roles and number.isdecimal()):
                    continue
                known = [*roles, *anchors, *(f"{learner}.v1" for learner in roles)]
                return (
                    f"sampler fixed: nobody will be called {name!r}{nearest(name, known)}; there are "
                    f"{', '.join((*roles, *anchors))} and snapshots such as {next(iter(roles))}.v1"
                )
        problem = _never_filled(getattr(sampler, "pool", None), me, roles)
        if problem:
            return f"sampler {opponent.sampler}: {problem}"
    problem = _never_filled(targets, me, roles)
    return f"targets: {problem}" if problem else None


def _never_filled(pool: str | None, me: str, roles: Mapping[str, str]) -> str | None:
    for name, role in (("mains", "main"), ("exploiters", "main_exploiter")):
        if pool == name and role not in roles.values():
            return f"pool {name} will always be empty; add a player with role: {role}"
    if pool == "learners" and set(roles) == {me}:
        return "pool learners will always be empty; add another player"
    return None
