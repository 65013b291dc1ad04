"""What the league manager and the learners say to each other."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class SnapshotOrder:
    """What a learner shall do: copy itself under a name, and perhaps start over as `next_generation`."""

    player: str
    snapshot: str
    generation: int
    next_generation: int

    @property
    def resets(self) -> bool:
        return self.next_generation != self.generation


@dataclass(frozen=True)
class TakeoverOrder:
    """What a learner shall do: go on as a copy of another's stored state, with these hyper-parameters.

    `state`: sha256 of the source's learning state.
    """

    player: str
    source: str
    state: str
    next_generation: int
    hyperparameters: dict[str, float]


@dataclass(frozen=True)
class FreezeOrder:
    """What a learner shall do: stop learning; its state and a copy of its weights are kept."""

    player: str


@dataclass(frozen=True)
class ResumeOrder:
    """What a learner shall do: go on learning from its stored state, as if it had never stopped."""

    player: str
    state: str


@dataclass(frozen=True)
class RollbackOrder:
    """What a learner shall do: go on from older weights with a fresh optimiser."""

    player: str
    checkpoint: str
    next_generation: int


@dataclass(frozen=True)
class BeginOrder:
    """A new learning player begins where another is.

    `weights`: sha256 of a checkpoint or of a learner's state.
    """

    player: str
    weights: str


Order = SnapshotOrder | TakeoverOrder | FreezeOrder | ResumeOrder | RollbackOrder | BeginOrder


@dataclass(frozen=True)
class Carried:
    """A freeze, resume, rollback or begin order carried out.

    `checkpoint`: of the weights as they are now. `state`: of the learner. Both None when what it was to start
    from is gone (`gone`) or fits another network; `error` says so.
    """

    order: FreezeOrder | ResumeOrder | RollbackOrder | BeginOrder
    steps: int
    checkpoint: str | None
    state: str | None
    error: str = ""
    gone: bool = False


@dataclass(frozen=True)
class LearnerProgress:
    """Where a learning player is, its state safely stored.

    `steps`: decisions learnt from in all generations. `state`: sha256 of its full learning state.
    """

    player: str
    generation: int
    steps: int
    state: str
