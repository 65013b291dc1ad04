"""One learning player: fragments in, better weights out."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import numpy.typing as npt
import torch
from torch import nn

from agents.algorithms.algorithm import Algorithm
from agents.algorithms.config import LearningConfig
from agents.algorithms.lanes import gae_of
from agents.algorithms.loss import Loss
from agents.algorithms.registry import algorithm_class
from agents.errors import DivergenceError, WeightsError
from agents.fragment import Fragment
from agents.learning.data_parallel import DataParallel
from agents.learning.references import References
from agents.learning.update import LearnerUpdate
from agents.networks import build as networks
from agents.networks import weights
from agents.networks.distributions import distribution_of
from agents.networks.inputs import NetworkInputs
from agents.networks.spec import NetworkSpec
from agents.prefetch import PrefetchedFragment
from agents.processor import resolve_device, resolve_precision

# A nat too little entropy multiplies its coefficient by e to this; a nat too much divides it. At the most so.
STEERING, MOST_STEERING = 8.0, 4.0
# References of every algorithm: the policy as it was, and a teacher.
MAGNET, TEACHER = "magnet", "teacher"


@dataclass(frozen=True)
class UpdateMetrics:
    """Means over the minibatches of one update.

    `policy_lag` is in updates. `sample_reuse`: how often each decision was learnt from.
    """

    policy_loss: float
    value_loss: float
    entropy: float
    approximate_kl: float
    clip_fraction: float
    gradient_norm: float
    explained_variance: float
    entropy_coefficient: float
    sample_reuse: float
    policy_lag: int


class Learner:
    """Holds a player's network and optimiser and learns by the algorithm its config names.

    Attributes:
      spec: of the network.
      generation: resets so far. version: updates since the last reset.
      steps: decisions learnt from since the start; `generation_steps` since the last reset.
      revision: counts what else than updates has changed it; processes that learn with it start over then.
      device: where it learns. rng: of everything it draws, saved with its state.
      distribution: makes its policy out of the network's policy head.
      factors: on the config's learning_rate and entropy, 1 where there is none.
    """

    def __init__(
        self, spec: NetworkSpec, config: LearningConfig, seed: int, data_parallel: DataParallel | None = None
    ) -> None:
        """Args:
        data_parallel: the processes that hold it, if there are more than this one.

        Raises:
          AgentError: no such algorithm.
        """
        self.spec = spec
        self.revision = 0
        self.generation = 0
        self.version = 0
        self.steps = 0
        self.generation_steps = 0
        self.factors: dict[str, float] = {}
        self._config = config
        self._data_parallel = data_parallel
        self.device = resolve_device(config.device)
        self._dtype = resolve_precision(config.precision, self.device)
        self.rng = torch.Generator().manual_seed(seed)
        self._network = networks.build(spec, seed).to(self.device)
        self._forward = self._compiled()
        self._optimiser = self._fresh_optimiser()
        self._algorithm: Algorithm = algorithm_class(config.algorithm)(config)
        self.distribution = distribution_of(spec)
        self._references = References(self._network, self._wanted_references())
        self._last_entropy: float | None = None

    @property
    def network(self) -> nn.Module:
        return self._network

    @property
    def config(self) -> LearningConfig:
        return self._config

    def configure(self, config: LearningConfig) -> None:
        """Learns by other numbers from the next update on; the precision stays."""
        self.revision += 1
        if config.algorithm != self._config.algorithm:
            self._algorithm = algorithm_class(config.algorithm)(config)
        self._config = config
        missing = [name for name in self._wanted_references() if name not in self._references]
        self._references.add(self._network, missing)

    def update(self, fragment: Fragment | PrefetchedFragment, progress: float) -> UpdateMetrics | None:
        """Learns from one fragment.

        Args:
          fragment: on `device` already, or as it was played.
          progress: of the run towards its stop rule, in [0, 1].

        Returns:
          The metrics; None when the fragment was too old or from before a reset and was left out, or when
          the algorithm keeps it and learns nothing yet.

        Raises:
          DivergenceError: a loss or gradient is not finite. The weights are no longer to be trusted: restore.
        """
        lag = self.version - fragment.version
        if fragment.generation != self.generation or lag > self._config.max_policy_lag:
            return None
        if isinstance(fragment, Fragment):
            fragment = PrefetchedFragment.of(fragment, self.device)
        if fragment.obs.shape[-1] > self.spec.input_size:  # others' critics are shown more
            fragment = replace(fragment, obs=fragment.obs[..., : self.spec.input_size])
        if self.spec.normalise:
            observed = fragment.obs[:-1].reshape(fragment.steps, -1)
            self._network.observe(observed.float())  # type: ignore[operator]
        if self.spec.popart:
            self._rescale_values(fragment)
        learning_rate = self._config.learning_rate.at(self.generation_steps, progress)
        learning_rate *= self.factors.get("learning_rate", 1.0)
        entropy_coefficient = self._entropy_coefficient(progress)
        pulls = {
            MAGNET: self._config.magnet.at(self.generation_steps, progress),
            TEACHER: self._config.teacher.at(self.generation_steps, progress),
        }
        for group in self._optimiser.param_groups:
            group["lr"] = learning_rate
        losses: list[Loss] = []
        norms: list[float] = []
        update = LearnerUpdate(self, entropy_coefficient, pulls)
        batch = self._algorithm.batch(fragment, update)
        for _ in range(self._algorithm.passes(self._config)):
            for loss in self._algorithm.losses(batch, update):
                norms.append(self._descend(update.pulled(loss).total))
                losses.append(loss)
            if losses and self._agreed(losses[-1].approximate_kl) > self._config.target_kl:
                break  # further epochs would leave the region where the surrogate means anything
        self.steps += fragment.steps
        self.generation_steps += fragment.steps
        if not losses:
            return None
        self.version += 1
        self._age_references(fragment.steps)
        self._last_entropy = entropy = _mean([loss.entropy for loss in losses])
        return UpdateMetrics(
            policy_loss=_mean([loss.policy for loss in losses]),
            value_loss=_mean([loss.value for loss in losses]),
            entropy=entropy,
            approximate_kl=_mean([loss.approximate_kl for loss in losses]),
            clip_fraction=_mean([loss.clip_fraction for loss in losses]),
            gradient_norm=float(np.mean(norms)),
            explained_variance=_mean([loss.explained_variance for loss in losses]),
            entropy_coefficient=entropy_coefficient,
            sample_reuse=update.decisions / self._learnt_from(fragment),
            policy_lag=lag,
        )

    def follow(self, teacher: bytes) -> None:
        """Begins as a teacher, returns to it at every reset, and is pulled towards it as the config says.

        Raises:
          WeightsError: the bytes are no checkpoint of this network.
        """
        self.reset(teacher, self.generation)
        network, _ = weights.load_network(teacher)
        self._references.hold(TEACHER, network.to(self.device))

    def weights(self) -> dict[str, npt.NDArray[np.float32]]:
        """Returns a copy of the weights, for actors."""
        return {k: v.detach().cpu().numpy().copy() for k, v in self._network.state_dict().items()}

    def checkpoint(self) -> bytes:
        """Returns the weights and the network's spec, as a player of the pool points at."""
        return weights.dump_network(self._network, self.spec)

    def reset(self, initial: bytes, generation: int) -> None:
        """Returns to initial weights: nothing learnt, no optimiser state, a new generation.

        Raises:
          WeightsError: the bytes are no checkpoint of this network.
        """
        network, spec = weights.load_network(initial)
        if spec != self.spec:
            raise WeightsError(f"initial weights are of {spec}, the player's network is {self.spec}")
        self.revision += 1
        self._network.load_state_dict(network.state_dict())
        self._optimiser = self._fresh_optimiser()
        self._references.restart(network)
        self._algorithm.reset()
        self._last_entropy = None
        self.generation, self.version, self.generation_steps = generation, 0, 0

    def inherit(self, state: bytes, generation: int, factors: dict[str, float]) -> None:
        """Goes on as a copy of another learner: its weights and optimiser, a new generation, own step count.

        Raises:
          WeightsError: it is not a state of this network. Nothing has changed.
        """
        steps = self.steps
        self.restore(state)
        self.steps, self.generation, self.version, self.factors = steps, generation, 0, dict(factors)

    def state(self) -> bytes:
        """Returns everything that goes on: weights, optimiser, counters, random state."""
        tensors = {f"{weights.STATE_PREFIX}{k}": v for k, v in self._network.state_dict().items()}
        for index, slot in self._optimiser.state_dict()["state"].items():
            tensors |= {f"optimiser/{index}/{k}": v for k, v in slot.items()}
        tensors |= self._references.tensors()
        tensors["rng"] = self.rng.get_state()
        counters = {
            "generation": self.generation,
            "version": self.version,
            "steps": self.steps,
            "generation_steps": self.generation_steps,
        }
        metadata = {
            "network": self.spec.to_json(),
            "counters": counters,
            "factors": self.factors,
            "references": self._references.ages,
            "entropy": self._last_entropy,
        }
        return weights.dump(tensors, metadata)

    def restore(self, state: bytes) -> None:
        """Goes on from `state()`.

        Raises:
          WeightsError: it is not a state of this network.
        """
        tensors, metadata = weights.load(state)
        self.revision += 1
        try:
            if NetworkSpec.from_json(metadata["network"]) != self.spec:
                raise WeightsError(f"a state of {metadata['network']}, the player's network is {self.spec}")
            counters: dict[str, int] = metadata["counters"]
            network = weights.of_network(tensors)
            slots: dict[int, dict[str, torch.Tensor]] = {}
            for key, tensor in tensors.items():
                if key.startswith("optimiser/"):
                    _, index, name = key.split("/")
                    slots.setdefault(int(index), {})[name] = tensor
            self._network.load_state_dict(network)
            self._optimiser = self._fresh_optimiser()
            groups: Any = self._optimiser.state_dict()["param_groups"]
            self._optimiser.load_state_dict({"state": slots, "param_groups": groups})
            self._references.restart(self._network)
            if any(key.startswith("reference/teacher/") for key in tensors):
                self._references.hold(TEACHER, self._network)
            self._references.load(tensors, metadata.get("references", {}))
            self._algorithm.reset()
            self.rng.set_state(tensors["rng"])
            self.generation, self.version = counters["generation"], counters["version"]
            self.steps, self.generation_steps = counters["steps"], counters["generation_steps"]
            self.factors = dict(metadata.get("factors", {}))
            self._last_entropy = metadata.get("entropy")
        except (KeyError, TypeError, RuntimeError) as error:
            raise WeightsError(f"not a learner's state: {error}") from error

    def _fresh_optimiser(self) -> torch.optim.Adam:
        rate = self._config.learning_rate.start
        return torch.optim.Adam(self._network.parameters(), lr=rate, eps=1e-5, fused=True)

    def _compiled(self) -> Callable[[torch.Tensor], torch.Tensor]:
        """What `_heads` calls: the network, compiled when it shall be; its weights stay the network's."""
        if not self._config.compile:
            return self._network
        compiled: Callable[[torch.Tensor], torch.Tensor] = torch.compile(self._network, dynamic=False)
        return compiled

    def _wanted_references(self) -> tuple[str, ...]:
        wanted = algorithm_class(self._config.algorithm).needs(self._config).references
        has_magnet = max(self._config.magnet.start, self._config.magnet.end) > 0
        return (*wanted, MAGNET) if has_magnet else wanted

    def _age_references(self, steps: int) -> None:
        for name in self._wanted_references():
            if name == MAGNET:
                self._references.grow_older(name, steps, self._config.magnet_steps, self._network)
            else:
                self._references.grow_older(name, 1, self._config.target_updates, self._network)

    def _entropy_coefficient(self, progress: float) -> float:
        """Returns the scheduled one, raised where entropy is below its target and lowered where above."""
        coefficient = self._config.entropy.at(self.generation_steps, progress)
        coefficient *= self.factors.get("entropy", 1.0)
        target = self._config.entropy_target
        if target is not None and self._last_entropy is not None:
            missing = target.at(self.generation_steps, progress) - self._last_entropy
            coefficient *= float(np.exp(np.clip(STEERING * missing, -MOST_STEERING, MOST_STEERING)))
        return coefficient

    def heads(self, inputs: NetworkInputs) -> torch.Tensor:
        """Asks the network, with gradient; with other processes each asks about a part. Returns: [R, W]."""

        def own(part: NetworkInputs) -> torch.Tensor:
            with self.autocast():
                return part.heads(self._network, self._forward).float()

        return self._shared(own, inputs)

    def reference_heads(self, name: str, inputs: NetworkInputs) -> torch.Tensor:
        """The same of a reference network, without gradient."""
        return self._shared(lambda part: self._references.heads(name, part), inputs)

    def has_reference(self, name: str) -> bool:
        """Whether there is such a reference network."""
        return name in self._references

    def _shared(self, heads: Callable[[NetworkInputs], torch.Tensor], inputs: NetworkInputs) -> torch.Tensor:
        return heads(inputs) if self._data_parallel is None else self._data_parallel.part(heads, inputs)

    def _learnt_from(self, fragment: PrefetchedFragment) -> int:
        """Returns the decisions of a fragment, without those that only bring a memory up to date."""
        length = len(fragment.rewards)
        burnt = self._config.burn_in if self.spec.memory else 0
        return fragment.steps * (length - burnt) // length

    def _agreed(self, number: torch.Tensor) -> float:
        return float(number) if self._data_parallel is None else self._data_parallel.agreed(number)

    def autocast(self) -> torch.autocast:
        """The precision in which the network is asked."""
        return torch.autocast(self.device.type, torch.bfloat16, enabled=self._dtype == torch.bfloat16)

    def _rescale_values(self, fragment: PrefetchedFragment) -> None:
        """Lets the value's scale follow the returns of a fragment, by the values noted while acting."""
        network: Any = self._network
        network.value_scale.update(gae_of(fragment, self._config).returns, network.head)

    @property
    def value_std(self) -> torch.Tensor | float:
        """What errors of the value are measured by, where its scale follows the returns; else 1."""
        scale: Any = getattr(self._network, "value_scale", None)
        return 1.0 if scale is None else scale.std.detach()

    def _descend(self, loss: torch.Tensor) -> float:
        """Takes one gradient step; returns the gradient's norm before it was clipped."""
        self._optimiser.zero_grad(set_to_none=True)
        loss.backward()  # type: ignore[no-untyped-call]
        if self._data_parallel is not None:
            self._data_parallel.add_gradients(self._network)
        norm = float(nn.utils.clip_grad_norm_(self._network.parameters(), self._config.max_grad_norm))
        total = float(loss.detach())
        if not np.isfinite(norm) or not np.isfinite(total):
            raise DivergenceError(f"loss {total:.3g}, gradient norm {norm:.3g}")
        self._optimiser.step()
        return norm


def _mean(values: list[torch.Tensor]) -> float:
    return float(torch.stack(values).mean())
