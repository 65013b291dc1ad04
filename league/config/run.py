"""A run's config: every number of the league, with its unit, its default and its bounds."""

from __future__ import annotations

from pathlib import Path
from typing import Any, Literal

import numpy as np
from pydantic import Field, ValidationError, model_validator

from agents.errors import AgentError
from agents.networks.fitting import spec_for
from agents.networks.spec import NetworkSpec
from agents.players.bots import make_bot
from envs.errors import GameError
from envs.spec import GameSpec
from envs.team_view import team_size
from league.config.explain import explain_all
from league.config.opponents import never_met
from league.config.players import PlayerConfig
from league.config.reading import read_yaml
from league.config.sections import (
    EnvsConfig,
    EvaluationConfig,
    InferenceConfig,
    LearnerConfig,
    NetworkConfig,
    PayoffConfig,
    PlacementConfig,
    RatingsConfig,
    RetentionConfig,
    RolloutConfig,
    Section,
    StopConfig,
)
from league.config.sides import require_sides, sides_of, spec_of
from league.errors import ConfigError


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
    retention: RetentionConfig = RetentionConfig()
    ratings: RatingsConfig = RatingsConfig()
    inference: InferenceConfig = InferenceConfig()
    placement: PlacementConfig = PlacementConfig()
    learner_workers: int = Field(
        1, ge=1, description="learner processes, a core each; players are dealt to them"
    )
    learner_processes: int = Field(
        1,
        ge=1,
        le=64,
        description="processes in the place of each learner process, which share every minibatch: for large "
        "networks, of which one core or GPU learns too slowly",
    )
    save_interval_seconds: float = Field(1.0, gt=0.0, description="between savings of a learner's full state")

    @model_validator(mode="after")
    def _parts_fit(self) -> RunConfig:
        roles = {p.role for p in self.players}
        for role in ("main_exploiter", "league_exploiter"):
            if role in roles and "main" not in roles:
                raise ValueError(f"players: {role} has no main to exploit; add a player with role: main")
        if self.topology == "sync" and self.rollout.workers not in (1, "auto"):
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
            raise ValueError(f"anchors: {', '.join(sorted(duplicates))} is listed more than once")
        batch = self.rollout.fragment_length * self.rollout.fragment_lanes
        for learner in [self.learner, *(p.learner for p in self.players if p.learner)]:
            if learner.minibatch > batch:
                raise ValueError(
                    f"learner.minibatch: {learner.minibatch} is more than a fragment holds "
                    f"(fragment_length × fragment_lanes = {batch})"
                )
            if learner.burn_in >= self.rollout.fragment_length:
                raise ValueError(
                    f"learner.burn_in: {learner.burn_in} leaves nothing of a fragment to learn from "
                    f"(rollout.fragment_length = {self.rollout.fragment_length})"
                )
            if self.learner_processes > 1 and not learner.needs.data_parallel:
                raise ValueError(
                    f"learner_processes: {learner.algorithm} draws its minibatches by what one process has "
                    "learnt; use 1, or another algorithm"
                )
            if self.learner_processes > 1 and learner.device != self.learner.device:
                raise ValueError(
                    f"learner_processes: processes that learn together use one kind of device, not "
                    f"{self.learner.device} and {learner.device}"
                )
        networks = [self.network, *(p.network for p in self.players if p.network)]
        if self.has_central and any(network.memory for network in networks):
            raise ValueError(
                "inference: central asks networks that do not remember; leave network.memory out or set "
                "inference: {where: local}"
            )
        for network in networks:
            if network.critic != "shared" and network.memory:
                raise ValueError(
                    f"network.critic: {network.critic} is of networks without memory; use shared"
                )
        if self.has_central and self.shows_teams:
            raise ValueError(
                "inference: central asks networks what each seat sees; with network.critic: team set "
                "inference: {where: local}"
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
        return cls.from_data(read_yaml(text, source), source)

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
        require_sides(self.players, spec, source)
        self._require_networks(spec, source)
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

    def _require_networks(self, spec: GameSpec, source: str) -> None:
        parts = len(spec.action_factors)
        learners = {
            learner.algorithm: learner for learner in (p.learner or self.learner for p in self.players)
        }
        for learner in learners.values():
            if parts > 1 and not learner.needs.action_parts:
                raise ConfigError(
                    f"{source}: learner.algorithm: {learner.algorithm} learns a value of every action; "
                    f"one of {self.game} has {parts} parts; use ppo"
                )
            if spec.action_size and not learner.needs.continuous_actions:
                raise ConfigError(
                    f"{source}: learner.algorithm: {learner.algorithm} learns a value of every action; "
                    f"those of {self.game} are continuous; use ppo, or take actions=continuous out of its id"
                )
        for path, network, entry in (
            ("network", self.network, None),
            *((f"players[{k}].network", e.network, e) for k, e in enumerate(self.players)),
        ):
            if network is not None and network.critic == "team" and team_size(spec) == 1:
                raise ConfigError(
                    f"{source}: {path}.critic: team sees what teammates see, and in {self.game} nobody has "
                    "any; use separate or shared"
                )
            plain = network is not None and network.kind == "mlp" and not network.encoders
            if network is None or (plain and not spec.observation_parts):
                continue
            from agents.networks.build import (
                build,  # torch: a second and 150 MB that a coordinator need not spend
            )

            if network.kind == "cnn" and len(spec.observation_shape) != 3:
                raise ConfigError(
                    f"{source}: {path}.kind: cnn needs observations of planes, rows and columns; those of "
                    f"{self.game} are {list(spec.observation_shape)}; use mlp"
                )
            if network.kind == "attention" and len(spec.observation_shape) != 2:
                raise ConfigError(
                    f"{source}: {path}.kind: attention needs observations of rows, an entity each; those of "
                    f"{self.game} are {list(spec.observation_shape)}; use mlp"
                )
            try:
                build(
                    self.network_spec(entry or self.players[0].model_copy(update={"network": None}), spec), 0
                )
            except AgentError as error:
                raise ConfigError(f"{source}: {path}.kind: {error}") from error

    def network_spec(self, entry: PlayerConfig, spec: GameSpec) -> NetworkSpec:
        """Returns the network of a roster entry for a game."""
        network = entry.network or self.network
        return spec_for(
            spec,
            kind=network.kind,
            encoders=network.encoders,
            hidden=network.hidden,
            normalise=network.normalise,
            channels=network.channels,
            blocks=network.blocks,
            popart=network.popart,
            memory=network.memory or "",
            memory_units=network.memory_units,
            sharpness=(entry.learner or self.learner).needs.sharpness,
            critic="" if network.critic == "shared" else network.critic,
            teammates=team_size(spec) - 1 if network.critic == "team" else 0,
        )

    @property
    def shows_teams(self) -> bool:
        """Whether somebody's critic is to see what its teammates see."""
        return any(
            n.critic == "team" for n in (self.network, *(p.network for p in self.players if p.network))
        )

    def roster(self) -> dict[str, PlayerConfig]:
        """Returns every learning player by name (`main.0`, `main.1`, …) and its entry."""
        counts: dict[str, int] = {}
        players: dict[str, PlayerConfig] = {}
        for entry in self.players:
            for _ in range(entry.count):
                number = counts.get(entry.role, 0)
                counts[entry.role] = number + 1
                players[f"{entry.role}.{number}"] = entry
        return players

    def is_central(self, player: str) -> bool:
        """Whether a player's network runs in an inference server; those that do not learn go by the run."""
        entry = self.roster().get(player)
        own = None if entry is None else entry.inference
        return (own or self.inference.where) == "central"

    @property
    def has_central(self) -> bool:
        """Whether the run needs inference servers."""
        own = any(entry.inference == "central" for entry in self.players)
        return own or self.inference.where == "central"

    def first_hyperparameters(self) -> dict[str, dict[str, float]]:
        """Returns every learning player's first factors; empty where it is in no population."""
        return {
            name: entry.population.build().initial(np.random.default_rng([self.seed, k]))
            if entry.population
            else {}
            for k, (name, entry) in enumerate(self.roster().items())
        }
