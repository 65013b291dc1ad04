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


Order = SnapshotOrder | TakeoverOrder


@dataclass(frozen=True)
class LearnerProgress:
    """Where a learning player is, its state safely stored.

    `steps`: decisions learnt from in all generations. `state`: sha256 of its full learning state.
    """

    player: str
    generation: int
    steps: int
    state: str
