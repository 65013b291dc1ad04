"""A run's config: every number of the league, with its unit, its default and its bounds."""

from __future__ import annotations

import dataclasses
import fnmatch
from functools import cache
from pathlib import Path
from typing import Annotated, Any, Literal

import numpy as np
import yaml
from pydantic import BaseModel, ConfigDict, Field, ValidationError, model_validator

import envs
from agents.algorithms.ppo import PPOConfig, Schedule
from agents.bots import make_bot
from agents.errors import AgentError
from agents.networks import NetworkSpec
from envs.errors import GameError
from envs.spec import GameSpec
from league.config_errors import explain_all, nearest
from league.errors import ConfigError
from league.opponents import OpponentConfig, never_met
from matchmaking.errors import MatchmakingError
from matchmaking.evaluation import EvaluationRule
from matchmaking.pfsp import WEIGHTINGS
from matchmaking.population import PopulationRule
from matchmaking.roles import LeagueExploiter, Main, MainExploiter, Mixture, RoleRule
from matchmaking.roster import POOLS

LearningRole = Literal["main", "main_exploiter", "league_exploiter"]
ROLE_RULES: dict[str, type[Main] | type[MainExploiter] | type[LeagueExploiter]] = {
    "main": Main,
    "main_exploiter": MainExploiter,
    "league_exploiter": LeagueExploiter,
}
Share = Annotated[float, Field(ge=0.0, le=1.0)]
Count = Annotated[int, Field(ge=1)]


class Section(BaseModel):
    """A part of the config. Unknown keys are errors, not silence."""

    model_config = ConfigDict(extra="forbid", frozen=True, allow_inf_nan=False)


@cache
def spec_of(game_id: str) -> GameSpec:
    """Returns a game's spec. Raises: GameError."""
    game = envs.make(game_id, 1)
    game.close()
    return game.spec


def sides_of(spec: GameSpec, seats: tuple[str, ...]) -> tuple[int, ...]:
    """Returns the sides whose seats these names or patterns mean."""
    names = [seat.name for seat in spec.seats]
    chosen = {n for pattern in seats for n in fnmatch.filter(names, pattern)}
    return tuple(k for k, members in enumerate(spec.sides) if names[members[0]] in chosen)


class StopConfig(Section):
    """When the run ends by itself: at whichever comes first."""

    minutes: float | None = Field(None, gt=0, description="of play; pauses and restarts do not count")
    moves: int | None = Field(None, ge=1, description="decisions of all seats together")

    @model_validator(mode="after")
    def _one_at_least(self) -> StopConfig:
        if self.minutes is None and self.moves is None:
            raise ValueError("needs minutes or moves")
        return self


class ScheduleConfig(Section):
    """A straight line from start to end."""

    start: float = Field(ge=0.0)
    end: float = Field(ge=0.0)
    steps: Count | None = Field(
        None, description="the player's own learner steps since its last reset; without, the run's progress"
    )

    def build(self) -> Schedule:
        return Schedule(self.start, self.end, self.steps)


class NetworkConfig(Section):
    """A player's network."""

    kind: Literal["mlp"] = "mlp"
    hidden: tuple[Annotated[int, Field(ge=1, le=8192)], ...] = Field((128, 128), min_length=1, max_length=16)
    normalise: bool = Field(
        False,
        description="observations, by mean and variance of those seen so far, kept with the weights",
    )


class LearnerConfig(Section):
    """How a player learns (PPO)."""

    learning_rate: ScheduleConfig = ScheduleConfig(start=1e-3, end=1e-4)
    entropy: ScheduleConfig = ScheduleConfig(start=0.1, end=0.01)
    clip: float = Field(0.2, gt=0.0, lt=1.0)
    value_coefficient: float = Field(0.5, ge=0.0)
    discount: float = Field(1.0, gt=0.0, le=1.0)
    reward_scale: float = Field(
        1.0,
        gt=0.0,
        description="of rewards before they are learnt from; returns near ±1 are best",
    )
    gae_lambda: Share = 0.95
    epochs: int = Field(1, ge=1, le=100)
    minibatch: int = Field(4096, ge=8, description="decisions a gradient step")
    max_grad_norm: float = Field(0.5, gt=0.0)
    target_kl: float = Field(0.1, gt=0.0, description="an update stops its epochs beyond this")
    max_policy_lag: int = Field(200, ge=1, description="updates; older fragments are left out")
    precision: Literal["auto", "float32", "bfloat16"] = Field(
        "auto", description="auto: bfloat16 where the processor multiplies it in hardware"
    )

    def build(self) -> PPOConfig:
        numbers = {n: getattr(self, n) for n in type(self).model_fields if n != "reward_scale"}
        numbers |= {"learning_rate": self.learning_rate.build(), "entropy": self.entropy.build()}
        return PPOConfig(**numbers)


class SnapshotConfig(Section):
    """When a learning player is copied into the pool. Steps are its own learner steps since the last copy."""

    min_steps: Count = 2_000_000
    max_steps: Count = 6_000_000
    win_rate: Share = Field(0.7, description="against every target; then it is copied before max_steps")

    @model_validator(mode="after")
    def _ordered(self) -> SnapshotConfig:
        if self.min_steps > self.max_steps:
            raise ValueError(f"min_steps {self.min_steps} is above max_steps {self.max_steps}")
        return self


class PopulationConfig(Section):
    """Population based training among the players of one entry: who falls behind becomes another's copy."""

    min_steps: Count = Field(2_000_000, description="a player's learner steps between two takeovers")
    inherit_below: Share = Field(0.3, description="expected score against another, chosen at random")
    perturb_probability: Share = Field(0.5, description="of each hyper-parameter at a takeover")
    perturb_factor: float = Field(1.2, ge=1.0)
    initial_spread: float = Field(2.0, ge=1.0, description="first factors lie between this and its inverse")
    hyperparameters: tuple[Literal["learning_rate", "entropy"], ...] = ("learning_rate", "entropy")

    def build(self) -> PopulationRule:
        return PopulationRule(**{name: getattr(self, name) for name in type(self).model_fields})


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
            raise ValueError("targets and reset_probability go with opponents; the role has its own rule")
        if self.opponents is not None and self.matching:
            raise ValueError("matching belongs to the role's own rule, which opponents replaces")
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


class RolloutConfig(Section):
    """How games are played."""

    workers: int = Field(1, ge=1, le=10_000, description="rollout processes, a core each")
    num_envs: int = Field(4096, ge=2, le=1_000_000, description="games at once in a worker")
    fragment_length: int = Field(16, ge=1, le=4096, description="T, decisions of one seat in a row")
    fragment_lanes: int = Field(1024, ge=1, description="B, such rows in a fragment")
    episodes_per_series: int = Field(256, ge=2, description="games between one pair before the next is drawn")


class EvaluationConfig(Section):
    """The games that ratings come from."""

    share: float = Field(
        0.1, ge=0.0, le=0.9, description="of a worker's time (of its ticks with topology: sync)"
    )
    num_envs: int = Field(64, ge=2, le=65_536, description="games at once")
    episodes: int = Field(32, ge=2, description="games of one series")
    anchor_share: Share = Field(0.35, description="of a learning player's rating series, against anchors")
    learner_share: Share = Field(0.6, description="of rating series, started by a learning player")
    coverage_share: Share = Field(0.15, description="of rating series, for pairs that have hardly met")
    temperature: float = Field(1.0, ge=0.0, description="of the networks' play; 0 is the best action always")

    def build(self) -> EvaluationRule:
        return EvaluationRule(self.anchor_share, self.learner_share, self.coverage_share)


class EnvsConfig(Section):
    """How games that are not League's own are run, and how much they may go wrong."""

    isolation: Literal["none", "process"] = Field(
        "none", description="process: each PettingZoo or own environment in a process of its own"
    )
    max_bad_share: Share = Field(
        0.02, description="of the episodes; when more have broken down the run stops and says why"
    )


class PayoffConfig(Section):
    """How win rates are kept."""

    decay: float = Field(
        0.999, gt=0.0, le=1.0, description="weight lost a game; 0.999 halves it in 700 games"
    )


class RatingsConfig(Section):
    """The rating systems' numbers."""

    elo_k: float = Field(8.0, gt=0.0, description="points a game")
    trueskill_tau: float = Field(0.3, ge=0.0, description="drift of a learning player a series, in points")
    draw_probability: float = Field(0.02, ge=0.0, lt=1.0)


class RunConfig(Section):
    """A whole league."""

    name: str = Field("league", min_length=1, max_length=100)
    game: str = Field("native:connect_four", description="an id that envs.make takes")
    seed: int = Field(0, ge=0, lt=2**31)
    topology: Literal["async", "sync"] = Field(
        "async", description="sync: one process, play and learning in turn, the same result for the same seed"
    )
    stop: StopConfig
    players: tuple[PlayerConfig, ...] = Field(min_length=1)
    anchors: tuple[str, ...] = Field(("random",), description="bots of fixed strength: random, mcts:N")
    network: NetworkConfig = NetworkConfig()
    learner: LearnerConfig = LearnerConfig()
    rollout: RolloutConfig = RolloutConfig()
    evaluation: EvaluationConfig = EvaluationConfig()
    envs: EnvsConfig = EnvsConfig()
    payoff: PayoffConfig = PayoffConfig()
    ratings: RatingsConfig = RatingsConfig()
    learner_workers: int = Field(
        1, ge=1, description="learner processes, a core each; players are dealt to them"
    )
    save_interval_seconds: float = Field(1.0, gt=0.0, description="between savings of a learner's full state")

    @model_validator(mode="after")
    def _parts_fit(self) -> RunConfig:
        roles = {p.role for p in self.players}
        for role in ("main_exploiter", "league_exploiter"):
            if role in roles and "main" not in roles:
                raise ValueError(f"players: {role} has no main to exploit; add a player with role: main")
        if self.topology == "sync" and self.rollout.workers != 1:
            raise ValueError(
                f"rollout.workers: {self.rollout.workers} with topology: sync, which plays in one process; "
                "set it to 1 or topology: async"
            )
        if self.topology == "sync" and self.stop.minutes is not None:
            raise ValueError("stop.minutes: a clock is not reproducible; with topology: sync stop by moves")
        learners = self.roster()
        for name, entry in learners.items():
            all_roles = {n: e.role for n, e in learners.items()}
            problem = never_met(entry.opponents or (), entry.targets, name, all_roles, self.anchors)
            if problem:
                raise ValueError(f"players: {name}: {problem}")
        duplicates = {a for a in self.anchors if self.anchors.count(a) > 1}
        if duplicates:
            raise ValueError(f"anchors: {', '.join(sorted(duplicates))} is there more than once")
        batch = self.rollout.fragment_length * self.rollout.fragment_lanes
        for learner in [self.learner, *(p.learner for p in self.players if p.learner)]:
            if learner.minibatch > batch:
                raise ValueError(
                    f"learner.minibatch: {learner.minibatch} is more than a fragment holds "
                    f"(fragment_length × fragment_lanes = {batch})"
                )
        return self

    @classmethod
    def from_yaml(cls, path: str | Path) -> RunConfig:
        """Reads and checks a config file, the game and the bots it names included.

        Raises:
          ConfigError: names each wrong field, its value, what is allowed and the nearest valid word.
        """
        try:
            text = Path(path).read_text(encoding="utf-8")
        except (OSError, UnicodeDecodeError) as error:
            reason = error.strerror if isinstance(error, OSError) else "not a text file"
            raise ConfigError(f"{path}: {reason}") from error
        return cls.from_text(text, source=str(path))

    @classmethod
    def from_text(cls, text: str, source: str = "config") -> RunConfig:
        """The same for YAML text. Raises: ConfigError."""
        try:
            data = yaml.safe_load(text)
        except yaml.YAMLError as error:
            raise ConfigError(f"{source}: not YAML: {' '.join(str(error).split())}") from error
        if not isinstance(data, dict):
            raise ConfigError(
                f"{source}: expected keys such as game, players, stop; got {type(data).__name__}"
            )
        return cls.from_data(data, source)

    @classmethod
    def from_data(cls, data: dict[str, Any], source: str = "config") -> RunConfig:
        """The same for data already parsed. Raises: ConfigError."""
        try:
            config = cls.model_validate(data)
        except ValidationError as error:
            lines = explain_all(cls, error)
            raise ConfigError("\n".join(f"{source}: {line}" for line in lines)) from error
        config.game_spec(source)
        return config

    def game_spec(self, source: str = "config") -> GameSpec:
        """Returns the game's spec. Raises: ConfigError: the game or a bot cannot be had for a league."""
        try:
            spec = spec_of(self.game)
        except GameError as error:
            raise ConfigError(f"{source}: game: {error}") from error
        self._require_sides(spec, source)
        for index, anchor in enumerate(self.anchors):
            try:
                make_bot(anchor, spec, 0)
            except AgentError as error:
                raise ConfigError(f"{source}: anchors[{index}]: {error}") from error
        return spec

    def num_sides(self) -> int:
        """Returns how many players a game of this run has: one for each team."""
        return len(spec_of(self.game).sides)

    def limited_sides(self) -> dict[str, tuple[int, ...]]:
        """Returns the sides of those learning players that do not play every one, by name."""
        spec = spec_of(self.game)
        limited = {}
        for name, entry in self.roster().items():
            if entry.seats is not None:
                sides = sides_of(spec, entry.seats)
                if len(sides) < len(spec.sides):
                    limited[name] = sides
        return limited

    def _require_sides(self, spec: GameSpec, source: str) -> None:
        names = [seat.name for seat in spec.seats]
        for index, entry in enumerate(self.players):
            for pattern in entry.seats or ():
                if not fnmatch.filter(names, pattern):
                    raise ConfigError(
                        f"{source}: players[{index}].seats: {pattern!r} is no seat of {self.game}"
                        f"{nearest(pattern, names)}; it has {', '.join(names)}"
                    )
            chosen = {n for p in entry.seats or ("*",) for n in fnmatch.filter(names, p)}
            for seats in spec.sides:
                part = [names[k] for k in seats]
                if chosen & set(part) and not chosen >= set(part):
                    raise ConfigError(
                        f"{source}: players[{index}].seats: {', '.join(sorted(chosen & set(part)))} without "
                        f"{', '.join(sorted(set(part) - chosen))}: one player plays a whole team"
                    )
        if len(spec.sides) == 1:
            exploiters = sorted({e.role for e in self.players} - {"main"})
            if exploiters:
                raise ConfigError(
                    f"{source}: players: {', '.join(exploiters)} has nobody to exploit: in {self.game} "
                    "all seats are of one team; use role: main"
                )
        mains = [e.seats for e in self.players if e.role == "main"]
        covered = {k for seats in mains for k in (sides_of(spec, seats) if seats else range(len(spec.sides)))}
        for side, seats in enumerate(spec.sides):
            if side not in covered:
                team = ", ".join(names[k] for k in seats)
                raise ConfigError(f"{source}: players: no main plays {team}; add one with these seats")

    def network_spec(self, entry: PlayerConfig, spec: GameSpec) -> NetworkSpec:
        """Returns the network of a roster entry for a game."""
        network = entry.network or self.network
        factors = spec.action_factors if len(spec.action_factors) > 1 else ()
        highest = max(float(np.max(getattr(s.observation_space, "high", 1.0))) for s in spec.seats)
        image = spec.observation_dtype == np.uint8 and highest > 1.0
        return NetworkSpec(
            spec.observation_size,
            spec.num_actions,
            network.hidden,
            network.kind,
            factors,
            1.0 / 255.0 if image else 1.0,
            network.normalise,
        )

    def roster(self) -> dict[str, PlayerConfig]:
        """Returns every learning player by name (`main.0`, `main.1`, …) and its entry."""
        seen: dict[str, int] = {}
        players: dict[str, PlayerConfig] = {}
        for entry in self.players:
            for _ in range(entry.count):
                number = seen.get(entry.role, 0)
                seen[entry.role] = number + 1
                players[f"{entry.role}.{number}"] = entry
        return players

    def first_hyperparameters(self) -> dict[str, dict[str, float]]:
        """Returns every learning player's first factors; empty where it is in no population."""
        return {
            name: entry.population.build().initial(np.random.default_rng([self.seed, k]))
            if entry.population
            else {}
            for k, (name, entry) in enumerate(self.roster().items())
        }
