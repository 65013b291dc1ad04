"""The numbers a learner learns by, whatever the algorithm."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True)
class Schedule:
    """A number that moves in a straight line.

    Attributes:
      start, end: its values.
      steps: own learner steps from start to end since the last reset; None follows the run's progress
        towards its stop rule.
    """

    start: float
    end: float
    steps: int | None = None

    def at(self, steps: int, progress: float) -> float:
        """Args: steps: since the last reset. progress: of the run, in [0, 1]."""
        fraction = progress if self.steps is None else steps / self.steps
        return self.start + (self.end - self.start) * min(max(fraction, 0.0), 1.0)


@dataclass(frozen=True)
class QLearningConfig:
    """Of algorithms that learn what actions are worth.

    Attributes:
      n_step: decisions until a target looks at the target network.
      temperature: τ; what is worse by so much is played e times less often.
      epsilon: of exploration while training. A worker's games have ε to ε⁸, each its own.
      replay_capacity: decisions kept. replay_ratio: how often each is learnt from on average.
      priority_exponent, importance_exponent: α and β of prioritised replay. eta: of a column's priority.
    """

    n_step: int = 3
    temperature: float = 0.05
    epsilon: float = 0.4
    replay_capacity: int = 200_000
    replay_ratio: float = 2.0
    priority_exponent: float = 0.9
    importance_exponent: float = 0.6
    eta: float = 0.9


@dataclass(frozen=True)
class LearningConfig:
    """Defaults are those that make Connect Four strong in minutes.

    Attributes:
      algorithm: by its name in `agents.algorithms.registry`.
      entropy: coefficient of the bonus. entropy_target: nats; below it the
        coefficient is raised, above lowered.
      clip: ε of the clipped surrogates. clip_rho, clip_c: of V-trace.
      gae_lambda: λ of GAE, V-trace or TD(λ).
      upgo_coefficient: of the upgoing policy gradient beside V-trace's.
      options: numbers of the algorithm's own, its `Options`; None: it has none.
      target_updates: updates between two copies of the target network.
      magnet: coefficient of KL(π ‖ magnet); the magnet is the policy as it was, copied every magnet_steps.
      teacher: coefficient of KL(π ‖ teacher), for a learner that has one.
      epochs, target_kl: of algorithms that go over a fragment several times.
      burn_in: decisions at a fragment's begin that only bring the memory up to date, of a network with one.
      minibatch: decisions a gradient step. max_policy_lag: in updates.
      precision, device: see `agents.processor`. compile: the network, by torch.compile.
    """

    algorithm: str = "ppo"
    learning_rate: Schedule = Schedule(1e-3, 1e-4)
    entropy: Schedule = Schedule(0.1, 0.01)
    entropy_target: Schedule | None = None
    clip: float = 0.2
    clip_rho: float = 1.0
    clip_c: float = 1.0
    value_coefficient: float = 0.5
    upgo_coefficient: float = 1.0
    target_updates: int = 8
    magnet: Schedule = Schedule(0.0, 0.0)
    magnet_steps: int = 1_000_000
    teacher: Schedule = Schedule(0.0, 0.0)
    discount: float = 1.0
    gae_lambda: float = 0.95
    epochs: int = 1
    minibatch: int = 4096
    max_grad_norm: float = 0.5
    target_kl: float = 0.1
    max_policy_lag: int = 200
    burn_in: int = 0
    q_learning: QLearningConfig = QLearningConfig()
    options: Any = None
    precision: str = "auto"
    device: str = "auto"
    compile: bool = False
