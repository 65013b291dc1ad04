"""One entry of the roster: a learning player, or several alike."""

from __future__ import annotations

import dataclasses
from typing import Any, Literal

from pydantic import Field, model_validator

from league.config.explain import nearest
from league.config.opponents import OpponentConfig
from league.config.sections import (
    LearnerConfig,
    NetworkConfig,
    PopulationConfig,
    Section,
    Share,
    SnapshotConfig,
)
from matchmaking.errors import MatchmakingError
from matchmaking.pfsp import WEIGHTINGS
from matchmaking.roles import LeagueExploiter, Main, MainExploiter, Mixture, RoleRule
from matchmaking.roster import POOLS

LearningRole = Literal["main", "main_exploiter", "league_exploiter"]
ROLE_RULES: dict[str, type[Main] | type[MainExploiter] | type[LeagueExploiter]] = {
    "main": Main,
    "main_exploiter": MainExploiter,
    "league_exploiter": LeagueExploiter,
}


class PlayerConfig(Section):
    """One entry of the roster."""

    role: LearningRole
    count: int = Field(1, ge=1, le=1000, description="how many such players")
    share: float = Field(1.0, gt=0.0, description="of the training games, against the other players' shares")
    snapshot: SnapshotConfig = SnapshotConfig()
    matching: dict[str, float | str] = Field(
        default_factory=dict, description="the role's own numbers, such as pfsp_share for a main"
    )
    opponents: tuple[OpponentConfig, ...] | None = Field(
        None, min_length=1, description="samplers by weight, instead of the role's own rule"
    )
    targets: Literal[POOLS] | None = Field(  # type: ignore[valid-type]
        None, description="with opponents: whom to beat to be copied before max_steps"
    )
    reset_probability: Share = Field(0.0, description="with opponents: of starting over after a snapshot")
    population: PopulationConfig | None = Field(
        None, description="weights and hyper-parameters are inherited"
    )
    seats: tuple[str, ...] | None = Field(
        None,
        min_length=1,
        description="names or patterns (adversary_*) of what it plays; all by default",
    )
    teacher: str | None = Field(
        None,
        pattern=r"^[0-9a-f]{64}$",
        description="sha256 of an uploaded checkpoint (league imitate): where it begins and is reset to",
    )
    inference: Literal["local", "central"] | None = Field(
        None, description="where its network runs when it plays, instead of the run's choice"
    )
    network: NetworkConfig | None = Field(None, description="instead of the run's")
    learner: LearnerConfig | None = Field(None, description="instead of the run's")

    @model_validator(mode="after")
    def _population_has_others(self) -> PlayerConfig:
        if self.population is not None and self.count < 2:
            raise ValueError("population: needs players to inherit from; set count to 2 or more")
        return self

    @model_validator(mode="after")
    def _matching_fits_the_role(self) -> PlayerConfig:
        if self.opponents is None and (self.targets is not None or self.reset_probability > 0.0):
            raise ValueError(
                "targets and reset_probability need opponents; without it the role's own rule applies"
            )
        if self.opponents is not None and self.matching:
            raise ValueError(
                "matching sets the role's own rule, which opponents replaces; use one of the two"
            )
        fields = {f.name: f for f in dataclasses.fields(ROLE_RULES[self.role])}
        allowed = [name for name in fields if name not in ("min_steps", "max_steps")]
        for key, value in self.matching.items():
            if key not in allowed:
                raise ValueError(
                    f"matching: unknown key {key!r}{nearest(key, allowed)}; allowed: {', '.join(allowed)}"
                )
            if fields[key].type == "float" and not (isinstance(value, float | int) and 0.0 <= value <= 1.0):
                raise ValueError(f"matching.{key}: {value!r} must be a number in [0, 1]")
            if key == "pfsp_weighting" and value not in WEIGHTINGS:
                hint = nearest(str(value), WEIGHTINGS)
                raise ValueError(f"matching.{key}: {value!r}{hint}; allowed: {', '.join(WEIGHTINGS)}")
        try:
            self.rule()
        except MatchmakingError as error:
            raise ValueError(f"matching: {error}") from error
        return self

    def rule(self) -> RoleRule:
        """Returns the role's rule with this entry's numbers."""
        if self.opponents is not None:
            return Mixture(
                self.snapshot.min_steps,
                self.snapshot.max_steps,
                tuple((o.sampler, o.weight, o.build()) for o in self.opponents),
                self.targets,
                self.reset_probability,
            )
        numbers: dict[str, Any] = dict(self.matching)
        return ROLE_RULES[self.role](self.snapshot.min_steps, self.snapshot.max_steps, **numbers)
