"""The parts of a run's config, each with its numbers, their units, defaults and bounds."""

from __future__ import annotations

import dataclasses
from typing import TYPE_CHECKING, Annotated, Any, Literal

from pydantic import (
    BaseModel,
    ConfigDict,
    Field,
    TypeAdapter,
    ValidationError,
    field_validator,
    model_validator,
)

from agents.algorithms.config import LearningConfig, QLearningConfig, Schedule
from agents.algorithms.registry import OWN as OWN_ALGORITHMS
from agents.algorithms.registry import algorithm_class, known_algorithms
from agents.errors import AgentError
from agents.networks.spec import ENCODERS, KINDS, OWN, NetworkSpec
from league.config.explain import nearest
from matchmaking.evaluation import EvaluationRule
from matchmaking.population import PopulationRule

if TYPE_CHECKING:  # it needs torch
    from agents.algorithms.algorithm import Needs

Share = Annotated[float, Field(ge=0.0, le=1.0)]
Count = Annotated[int, Field(ge=1)]


class Section(BaseModel):
    """A part of the config. Unknown keys are errors, not silence."""

    model_config = ConfigDict(extra="forbid", frozen=True, allow_inf_nan=False)


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

    kind: str = Field(
        "mlp",
        max_length=300,
        description="mlp; cnn: residual convolutions over boards and images, then the hidden layers; "
        "attention: over observations of rows, an entity each, then the same; "
        "encoders: one for each named array of a game that shows such; "
        "python:MODULE:FACTORY, one's own",
    )
    hidden: tuple[Annotated[int, Field(ge=1, le=8192)], ...] = Field((128, 128), min_length=1, max_length=16)
    channels: int = Field(32, ge=1, le=512, description="of a cnn; the width of attention")
    blocks: int = Field(2, ge=0, le=64, description="of a cnn, two convolutions each; layers of attention")
    encoders: dict[str, Literal[ENCODERS]] = Field(  # type: ignore[valid-type]
        default_factory=dict,
        description="by named array: cnn for planes, set for rows of entities, mlp, flat; else by its shape",
    )
    memory: Literal["lstm", "gru"] | None = Field(
        None,
        description="between the hidden layers and the head, for games in which what was seen before matters",
    )
    memory_units: int = Field(0, ge=0, le=8192, description="0: as wide as the last hidden layer")
    critic: Literal["shared", "separate", "team"] = Field(
        "shared",
        description="shared: value and policy share hidden layers. separate: the value has its own. team: "
        "its own, over what all of the team see (MAPPO); the policy sees what its seat sees",
    )
    popart: bool = Field(
        False,
        description="the value's scale follows the returns (PopArt): for rewards of unknown or changing size",
    )
    normalise: bool = Field(
        False,
        description="observations, by mean and variance of those seen so far, kept with the weights",
    )

    @classmethod
    def of(cls, spec: NetworkSpec) -> NetworkConfig:
        """Returns what a config says of a network that is there already."""
        said = {name: getattr(spec, name) for name in cls.model_fields if name != "encoders"}
        encoders = {part.name: part.encoder for part in spec.parts}
        rest = {"memory": spec.memory or None, "critic": spec.critic or "shared", "encoders": encoders}
        return cls(**said | rest)

    @field_validator("kind")
    @classmethod
    def _known(cls, kind: str) -> str:
        if kind not in KINDS and not kind.startswith(OWN):
            known = (*KINDS, "python:MODULE:FACTORY")
            raise ValueError(f"{kind!r}{nearest(kind, known)} allowed: {', '.join(known)}")
        return kind


class QLearningSection(Section):
    """Of algorithms that learn what actions are worth, from a prioritised replay."""

    n_step: int = Field(3, ge=1, le=1000, description="decisions to the target network's value")
    temperature: float = Field(
        0.05,
        gt=0.0,
        le=100.0,
        description="what is worth less by so much is played e times less often",
    )
    epsilon: Share = Field(
        0.4, description="of exploration while training; a worker's games have ε to ε⁸, each its own"
    )
    replay_capacity: Count = Field(200_000, description="decisions kept; the oldest make room")
    replay_ratio: float = Field(2.0, gt=0.0, le=1000.0, description="how often a decision is learnt from")
    priority_exponent: Share = 0.9
    importance_exponent: Share = 0.6
    eta: Share = Field(0.9, description="a column's priority: so much of its largest error, rest of the mean")

    def build(self) -> QLearningConfig:
        return QLearningConfig(**{n: getattr(self, n) for n in type(self).model_fields})


class LearnerConfig(Section):
    """How a player learns."""

    algorithm: str = Field(
        "ppo",
        max_length=100,
        description="League's own, see docs/learning.md, or another package's by entry point "
        "`league.algorithms`, see docs/your-algorithm.md",
    )
    learning_rate: ScheduleConfig = ScheduleConfig(start=1e-3, end=1e-4)
    entropy: ScheduleConfig = ScheduleConfig(start=0.1, end=0.01)
    entropy_target: ScheduleConfig | None = Field(
        None, description="nats; entropy's coefficient is raised below it and lowered above"
    )
    clip: float = Field(0.2, gt=0.0, lt=1.0)
    clip_rho: float = Field(1.0, gt=0.0, description="V-trace's ρ̄")
    clip_c: float = Field(1.0, gt=0.0, description="V-trace's c̄")
    upgo_coefficient: float = Field(1.0, ge=0.0, description="of the upgoing policy gradient")
    target_updates: int = Field(
        8, ge=1, description="updates between copies of the target network, where the algorithm has one"
    )
    q_learning: QLearningSection = QLearningSection()
    options: dict[str, Any] = Field(
        default_factory=dict, description="numbers of the algorithm's own, where it has some"
    )
    magnet: ScheduleConfig = Field(
        ScheduleConfig(start=0.0, end=0.0),
        description="coefficient of KL to the policy as it was: steadies games with hidden information (MMD)",
    )
    magnet_steps: Count = Field(1_000_000, description="learner steps between copies of the magnet")
    teacher: ScheduleConfig = Field(
        ScheduleConfig(start=0.0, end=0.0),
        description="coefficient of KL to the player's teacher, if it has one",
    )
    value_coefficient: float = Field(0.5, ge=0.0)
    discount: float = Field(1.0, gt=0.0, le=1.0)
    reward_scale: float = Field(
        1.0,
        gt=0.0,
        description="of rewards before they are learnt from; returns near ±1 are best",
    )
    gae_lambda: Share = Field(0.95, description="λ of GAE, V-trace or TD(λ)")
    epochs: int = Field(1, ge=1, le=100)
    minibatch: int = Field(4096, ge=8, description="decisions a gradient step")
    max_grad_norm: float = Field(0.5, gt=0.0)
    target_kl: float = Field(0.1, gt=0.0, description="an update stops its epochs beyond this")
    max_policy_lag: int = Field(200, ge=1, description="updates; older fragments are left out")
    precision: Literal["auto", "float32", "bfloat16"] = Field(
        "auto", description="auto: bfloat16 where the processor multiplies it in hardware"
    )
    burn_in: int = Field(
        0,
        ge=0,
        description="of a network with a memory: a fragment's first decisions, not learnt from; they only "
        "bring up to date what it remembered when it acted",
    )
    device: Literal["auto", "cpu", "cuda"] = Field("auto", description="auto: a GPU where there is one")
    compile: bool = Field(
        False, description="the network, by torch.compile: needs a C++ compiler, pays for large ones"
    )

    @field_validator("algorithm")
    @classmethod
    def _known_algorithm(cls, algorithm: str) -> str:
        known = known_algorithms()
        if algorithm not in known:
            raise ValueError(f"{algorithm!r}{nearest(algorithm, known)} allowed: {', '.join(known)}")
        return algorithm

    @model_validator(mode="after")
    def _options_fit(self) -> LearnerConfig:
        if self.options:
            self._built_options()
        return self

    @property
    def needs(self) -> Needs:
        """What the algorithm asks of the rest; imports it, and torch with it."""
        return algorithm_class(self.algorithm).needs(self.build())

    def same_algorithm(self, other: LearnerConfig) -> bool:
        """Whether the other learns by the same algorithm, with the same numbers of its own."""
        own = ("algorithm", "options", "q_learning")
        return all(getattr(self, name) == getattr(other, name) for name in own)

    def build(self) -> LearningConfig:
        numbers = {n: getattr(self, n) for n in type(self).model_fields if n != "reward_scale"}
        for name, value in numbers.items():
            if isinstance(value, ScheduleConfig | QLearningSection):
                numbers[name] = value.build()
        numbers["options"] = self._built_options()
        return LearningConfig(**numbers)

    def _built_options(self) -> Any:
        """Returns the algorithm's `Options`. Raises: ValueError: it has no such number, or not that value."""
        if self.algorithm in OWN_ALGORITHMS and not self.options:
            return None  # none of League's own has any: nothing need be imported
        try:
            cls = algorithm_class(self.algorithm).Options
        except AgentError as error:
            raise ValueError(f"algorithm: {error}") from error
        known = [f.name for f in dataclasses.fields(cls)]
        for key in self.options:
            if key not in known:
                hint = f"{nearest(key, known)}; allowed: {', '.join(known)}" if known else "; it has none"
                raise ValueError(f"options.{key}: algorithm {self.algorithm} has no such number{hint}")
        try:
            return TypeAdapter(cls).validate_python(self.options)
        except ValidationError as error:
            first = error.errors()[0]
            where = ".".join(str(part) for part in first["loc"])
            raise ValueError(f"options.{where}: {first['input']!r}: {first['msg']}") from error


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


class RolloutConfig(Section):
    """How games are played."""

    workers: Annotated[int, Field(ge=1, le=10_000)] | Literal["auto"] = Field(
        "auto",
        description="rollout processes, a core each; auto: as many as there are cores beside the learners', "
        "fewer where they would wait for the learners",
    )
    num_envs: int = Field(4096, ge=2, le=1_000_000, description="games at once in a worker")
    fragment_length: int = Field(16, ge=1, le=4096, description="T, decisions of one seat in a row")
    fragment_lanes: int = Field(1024, ge=1, description="B, such rows in a fragment")
    episodes_per_series: int = Field(512, ge=2, description="games between one pair before the next is drawn")


class ResourcesConfig(Section):
    """What one process claims of the machines."""

    cpus: float = Field(1.0, gt=0.0, le=1024.0, description="cores it is counted for")
    gpus: float = Field(0.0, ge=0.0, le=64.0, description="GPUs it has to itself, or parts of one")
    resources: dict[str, Annotated[float, Field(gt=0.0)]] = Field(
        default_factory=dict, description="of the Ray cluster's own kinds, such as {spot: 1}"
    )


class PlacementConfig(Section):
    """Where processes go in a Ray cluster; on one machine they share what there is."""

    rollout: ResourcesConfig = ResourcesConfig()
    learner: ResourcesConfig = ResourcesConfig()
    inference: ResourcesConfig = ResourcesConfig()


class InferenceConfig(Section):
    """Where networks run when they play."""

    where: Literal["local", "central"] = Field(
        "local",
        description="local: in the rollout worker. central: in a process that all workers ask, for a GPU or "
        "networks too large for every worker; a learning player may have its own choice",
    )
    device: Literal["auto", "cpu", "cuda"] = Field(
        "auto", description="of central; auto: a GPU if there is one"
    )
    servers: int = Field(1, ge=1, le=256, description="central processes, dealt out to the workers")


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


class RetentionConfig(Section):
    """How many frozen copies a long league keeps."""

    copies: int | None = Field(
        None,
        ge=1,
        description="when there are a tenth more, those that are hardly needed are retired, and their "
        "weights deleted when the run's processes next start; all are kept by default",
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
