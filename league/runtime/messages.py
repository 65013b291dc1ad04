"""What passes between the processes of a run."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np
import numpy.typing as npt

from agents.acting.episode import Episode
from agents.acting.seating import Series, SeriesResult
from league.config.run import RunConfig
from league.pool.orders import Carried, LearnerProgress, Order, SnapshotOrder, TakeoverOrder


@dataclass(frozen=True)
class RolloutReport:
    """What a worker has played since its last report, and how many more episodes it could start.

    `spent`: shares of the time since then: `env`, in the game; `inference`; `transfer`, of fragments,
    weights and reports; `waiting` for learners. What is missing to 1 keeps the books. `rows`: in a forward.
    `errors`: what games did wrong, some of them; each broke an episode off. `episodes`: games written down.
    `revision`: of the config it plays by. `unplayable`: frozen players that could not be had, with why.
    `life`, `number`: of which worker's life it is which report.
    """

    results: list[SeriesResult]
    moves: int
    games: int
    wanted_training: int
    wanted_evaluation: int
    spent: dict[str, float]
    rows: float = 0.0
    errors: tuple[str, ...] = ()
    episodes: tuple[Episode, ...] = ()
    revision: int = 0
    unplayable: dict[str, str] = field(default_factory=dict)
    life: str = ""
    number: int = 0


@dataclass(frozen=True)
class FrozenPlayer:
    """How to play somebody who does not learn: a bot's id or a checkpoint's sha256."""

    bot: str | None
    checkpoint: str | None


@dataclass(frozen=True)
class RolloutOrders:
    """What a worker shall play; `frozen` has every player in it that does not learn.

    `interval_seconds`: until the worker shall report again. `config`: with its revision, when it is newer
    than what the worker plays by.
    """

    training: list[Series]
    evaluation: list[Series]
    frozen: dict[str, FrozenPlayer]
    stop: bool
    interval_seconds: float
    config: RunConfig | None = None
    revision: int = 0


@dataclass(frozen=True)
class TakenSnapshot:
    """A snapshot order carried out; `state` is the learner's state afterwards."""

    order: SnapshotOrder
    checkpoint: str
    steps: int
    state: str


@dataclass(frozen=True)
class TakenOver:
    """A takeover carried out; `state` is the learner's afterwards, None when the source's was gone."""

    order: TakeoverOrder
    steps: int
    state: str | None


@dataclass(frozen=True)
class LearnerReport:
    """Where the learners of a worker are, all of it safely in the checkpoint store.

    `metrics`: by player, the means since the last report. `rolled_back`: players that diverged, with why.
    `worker`: which learner process. `revision`: of the config it learns by. `spent`: shares of the time
    since the last report: `learning`, `transfer` of weights, states and reports, `waiting` for fragments.
    `waited`: seconds for which the checkpoint store could not be written, and why.
    """

    progress: list[LearnerProgress]
    done: list[TakenSnapshot | TakenOver | Carried]
    metrics: dict[str, dict[str, float]]
    rolled_back: dict[str, str]
    worker: int = 0
    revision: int = 0
    spent: dict[str, float] = field(default_factory=dict)
    waited: tuple[float, str] | None = None


@dataclass(frozen=True)
class LearnerOrders:
    """What the learners shall do; `progress` of the run in [0, 1] steers their schedules."""

    orders: list[Order]
    progress: float
    stop: bool
    config: RunConfig | None = None
    revision: int = 0


@dataclass(frozen=True)
class WeightsUpdate:
    """One version of a learning player's weights."""

    player: str
    generation: int
    version: int
    weights: dict[str, npt.NDArray[np.float32]]


@dataclass(frozen=True)
class RunStatus:
    """Where a run is, for the eyes of whoever started it.

    `workers`: how many shall play, None: whoever runs it decides, by how long workers wait for learners and
    learners for fragments, shares of their time.
    """

    play_seconds: float
    moves: int
    games: int
    moves_per_second: float
    learner_steps_per_second: float
    policy_lag: float
    snapshots: int
    progress: float
    finished: bool
    failure: str | None = None
    workers: int | None = None
    workers_wait: float = 0.0
    learners_wait: float = 0.0
