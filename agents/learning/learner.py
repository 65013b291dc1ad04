"""One learning player: fragments in, better weights out."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import numpy.typing as npt
import torch
from torch import nn

from agents.algorithms.batches import (
    Columns,
    column_minibatches,
    columns_of,
    gae_of,
    lanes_of,
    minibatches,
    rows_of,
)
from agents.algorithms.config import LearningConfig
from agents.algorithms.loss import Loss, kl_to, masked
from agents.algorithms.off_policy import Lanes, off_policy_loss
from agents.algorithms.ppo import ppo_loss
from agents.algorithms.r2d2 import r2d2_loss
from agents.algorithms.replay import Replay
from agents.errors import DivergenceError, WeightsError
from agents.fragment import Fragment
from agents.learning.data_parallel import Together
from agents.learning.references import References
from agents.networks import build as networks
from agents.networks import weights
from agents.networks.inputs import Seen
from agents.networks.spec import NetworkSpec
from agents.prefetch import Staged
from agents.processor import resolve_device, resolve_precision

# A nat too little entropy multiplies its coefficient by e to this; a nat too much divides it. At the most so.
STEERING, MOST_STEERING = 8.0, 4.0


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
      device: where it learns.
      factors: on the config's learning_rate and entropy, 1 where there is none.
    """

    def __init__(
        self, spec: NetworkSpec, config: LearningConfig, seed: int, together: Together | None = None
    ) -> None:
        """Args: together: the processes that hold it, if there are more than this one."""
        self.spec = spec
        self.revision = 0
        self.generation = 0
        self.version = 0
        self.steps = 0
        self.generation_steps = 0
        self.factors: dict[str, float] = {}
        self._config = config
        self._together = together
        self.device = resolve_device(config.device)
        self._dtype = resolve_precision(config.precision, self.device)
        self._rng = torch.Generator().manual_seed(seed)
        self._network = networks.build(spec, seed).to(self.device)
        self._forward = self._compiled()
        self._optimiser = self._fresh_optimiser()
        self._references = self._fresh_references()
        self._last_entropy: float | None = None
        self._replay = Replay(config.q_learning)

    @property
    def network(self) -> nn.Module:
        return self._network

    @property
    def config(self) -> LearningConfig:
        return self._config

    def configure(self, config: LearningConfig) -> None:
        """Learns by other numbers from the next update on; the precision stays."""
        self.revision += 1
        self._config = config
        missing = [name for name in self._wanted_references() if name not in self._references]
        self._references.add(self._network, missing)

    def update(self, fragment: Fragment | Staged, progress: float) -> UpdateMetrics | None:
        """Learns from one fragment.

        Args:
          fragment: staged on `device` already, or as it was played.
          progress: of the run towards its stop rule, in [0, 1].

        Returns:
          The metrics, or None when the fragment was too old or from before a reset and was left out.

        Raises:
          DivergenceError: a loss or gradient is not finite. The weights are no longer to be trusted: restore.
        """
        lag = self.version - fragment.version
        if fragment.generation != self.generation or lag > self._config.max_policy_lag:
            return None
        if isinstance(fragment, Fragment):
            fragment = Staged.of(fragment, self.device)
        if fragment.obs.shape[-1] > self.spec.seen_size:  # others' critics are shown more
            fragment = replace(fragment, obs=fragment.obs[..., : self.spec.seen_size])
        if self.spec.normalise:
            seen = fragment.obs[:-1].reshape(fragment.steps, -1)
            self._network.observe(seen.float())  # type: ignore[operator]
        if self.spec.popart:
            self._rescale_values(fragment)
        learning_rate = self._config.learning_rate.at(self.generation_steps, progress)
        learning_rate *= self.factors.get("learning_rate", 1.0)
        entropy_coefficient = self._entropy_coefficient(progress)
        pulls = {
            "magnet": self._config.magnet.at(self.generation_steps, progress),
            "teacher": self._config.teacher.at(self.generation_steps, progress),
        }
        for group in self._optimiser.param_groups:
            group["lr"] = learning_rate
        losses: list[Loss] = []
        norms: list[float] = []
        reuse = 0
        batch = self._batch(fragment)
        is_replayed = self._config.algorithm == "r2d2"
        for _ in range(self._config.epochs if self._config.algorithm in ("ppo", "appo") else 1):
            for loss in self._losses(batch, entropy_coefficient, pulls):
                norms.append(self._descend(loss.total))
                losses.append(loss)
            reuse += 1
            if self._agreed(losses[-1].approximate_kl) > self._config.target_kl:
                break  # further epochs would leave the region where the surrogate means anything
        self.version += 1
        self.steps += fragment.steps
        self.generation_steps += fragment.steps
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
            sample_reuse=self._config.q_learning.replay_ratio if is_replayed else float(reuse),
            policy_lag=lag,
        )

    def follow(self, teacher: bytes) -> None:
        """Begins as a teacher, returns to it at every reset, and is pulled towards it as the config says.

        Raises:
          WeightsError: the bytes are no checkpoint of this network.
        """
        self.reset(teacher, self.generation)
        network, _ = weights.load_network(teacher)
        self._references.hold("teacher", network.to(self.device))

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
        self._replay.clear()
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
        tensors["rng"] = self._rng.get_state()
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
                self._references.hold("teacher", self._network)
            self._references.load(tensors, metadata.get("references", {}))
            self._replay.clear()  # it is not stored: it fills again in a moment
            self._rng.set_state(tensors["rng"])
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
        config = self._config
        wanted = {
            "target": config.algorithm in ("appo", "r2d2"),
            "magnet": max(config.magnet.start, config.magnet.end) > 0,
        }
        return tuple(name for name, needed in wanted.items() if needed)

    def _fresh_references(self) -> References:
        return References(self._network, self._wanted_references())

    def _age_references(self, steps: int) -> None:
        if "target" in self._references:
            self._references.grow_older("target", 1, self._config.target_updates, self._network)
        if "magnet" in self._references:
            self._references.grow_older("magnet", steps, self._config.magnet_steps, self._network)

    def _entropy_coefficient(self, progress: float) -> float:
        """Returns the scheduled one, raised where entropy is below its target and lowered where above."""
        coefficient = self._config.entropy.at(self.generation_steps, progress)
        coefficient *= self.factors.get("entropy", 1.0)
        target = self._config.entropy_target
        if target is not None and self._last_entropy is not None:
            missing = target.at(self.generation_steps, progress) - self._last_entropy
            coefficient *= float(np.exp(np.clip(STEERING * missing, -MOST_STEERING, MOST_STEERING)))
        return coefficient

    def _batch(self, fragment: Staged) -> list[torch.Tensor] | Columns | Lanes:
        if self._config.algorithm != "ppo":
            return lanes_of(fragment, self._config)
        return (columns_of if self.spec.memory else rows_of)(fragment, self._config)

    def _losses(
        self, batch: list[torch.Tensor] | Columns | Lanes, entropy: float, pulls: dict[str, float]
    ) -> Iterator[Loss]:
        """Yields the loss of one minibatch after the other; each must be descended before the next."""
        if isinstance(batch, Lanes) and self._config.algorithm == "r2d2":
            yield from self._replayed_losses(batch, pulls)
        elif isinstance(batch, Lanes):
            yield from self._off_policy_losses(batch, entropy, pulls)
        else:
            yield from self._ppo_losses(batch, entropy, pulls)

    def _ppo_losses(
        self, batch: list[torch.Tensor] | Columns, entropy: float, pulls: dict[str, float]
    ) -> Iterator[Loss]:
        for seen, rows in self._minibatches(batch):
            legal, actions, log_probs, advantages, returns = rows
            heads = self._heads(seen)
            loss = ppo_loss(
                heads,
                legal,
                actions,
                log_probs,
                advantages,
                returns,
                clip=self._config.clip,
                value_coefficient=self._config.value_coefficient,
                entropy_coefficient=entropy,
                factors=self.spec.factors,
                value_std=self._value_std(),
            )
            yield self._pulled(loss, heads, seen, legal, pulls)

    def _minibatches(self, batch: list[torch.Tensor] | Columns) -> Iterator[tuple[Seen, list[torch.Tensor]]]:
        """Yields what the network shall see, and legal, actions, log μ, advantages, returns as rows."""
        if isinstance(batch, Columns):
            first = self._config.burn_in
            for part in column_minibatches(batch, self._config, self._rng):
                yield Seen(part.obs, part.memory, part.begins, first), part.rows(first)[1:]
        else:
            for obs, *others in minibatches(batch, self._config, self._rng):
                yield Seen(obs), others

    def _off_policy_losses(self, lanes: Lanes, entropy: float, pulls: dict[str, float]) -> Iterator[Loss]:
        steps, count = lanes.actions.shape
        for columns in torch.split(torch.arange(count), max(1, self._config.minibatch // steps)):
            batch = lanes.part(slice(int(columns[0]), int(columns[-1]) + 1))
            seen = Seen(batch.obs.flatten(0, 1))
            if self.spec.memory:
                first = self._config.burn_in
                seen, batch = Seen(batch.obs, batch.memory, batch.begins, first), batch.later(first)
            shape = batch.obs.shape[:2]
            heads = self._heads(seen)
            target = None
            if "target" in self._references:
                target = self._reference_heads("target", seen).reshape(*shape, -1)
            loss = off_policy_loss(
                heads.reshape(*shape, -1),
                batch,
                self._config,
                entropy_coefficient=entropy,
                target_heads=target,
                factors=self.spec.factors,
                value_std=self._value_std(),
            )
            decisions = batch.actions.numel()  # what was seen after the last decision is none
            legal = batch.legal.reshape(decisions, -1)
            yield self._pulled(loss, heads[:decisions], seen, legal, pulls)

    def _replayed_losses(self, lanes: Lanes, pulls: dict[str, float]) -> Iterator[Loss]:
        """Keeps the columns of a fragment and yields the losses of as many as it is due."""
        config, first = self._config, self._config.burn_in if self.spec.memory else 0
        self._replay.add(lanes, self.version)
        self._replay.forget_before(self.version - config.max_policy_lag)
        steps = len(lanes.actions)
        columns = max(1, config.minibatch // steps)
        due = config.q_learning.replay_ratio * lanes.actions.numel() / (columns * steps)
        for _ in range(max(1, round(due))):
            drawn, importance, places = self._replay.draw(columns, self._rng)
            obs, begins = drawn.obs[:-1], drawn.begins[:-1]
            seen = Seen(obs, drawn.memory, begins, first) if self.spec.memory else Seen(obs.flatten(0, 1))
            drawn = drawn.later(first)
            shape = (*drawn.actions.shape, -1)
            heads = self._heads(seen)
            target = self._reference_heads("target", seen).reshape(shape)
            loss, priorities = r2d2_loss(
                heads.reshape(shape),
                target,
                drawn,
                importance.to(self.device),
                config.q_learning,
                self.spec.factors,
            )
            self._replay.reconsider(places, priorities)
            yield self._pulled(loss, heads, seen, drawn.legal.flatten(0, 1), pulls)

    def _heads(self, seen: Seen) -> torch.Tensor:
        def own(part: Seen) -> torch.Tensor:
            with self._autocast():
                return part.heads(self._network, self._forward).float()

        return self._shared(own, seen)

    def _reference_heads(self, name: str, seen: Seen) -> torch.Tensor:
        return self._shared(lambda part: self._references.heads(name, part), seen)

    def _shared(self, heads: Callable[[Seen], torch.Tensor], seen: Seen) -> torch.Tensor:
        """Returns heads of all that is seen; with other processes each asks for a part."""
        return heads(seen) if self._together is None else self._together.part(heads, seen)

    def _agreed(self, number: torch.Tensor) -> float:
        return float(number) if self._together is None else self._together.agreed(number)

    def _autocast(self) -> torch.autocast:
        return torch.autocast(self.device.type, torch.bfloat16, enabled=self._dtype == torch.bfloat16)

    def _pulled(
        self,
        loss: Loss,
        heads: torch.Tensor,
        seen: Seen,
        legal: torch.Tensor,
        pulls: dict[str, float],
    ) -> Loss:
        """Adds c KL(π ‖ other) for the magnet (Sokota et al. 2023) and the teacher (Vinyals et al. 2019)."""
        total = loss.total
        for name, coefficient in pulls.items():
            if coefficient <= 0.0 or name not in self._references:
                continue
            with self._autocast():
                others = self._reference_heads(name, seen)[: len(heads)]
            kl = kl_to(masked(heads[:, :-1], legal), masked(others[:, :-1], legal), self.spec.factors)
            total = total + coefficient * kl
        return loss._replace(total=total)

    def _rescale_values(self, fragment: Staged) -> None:
        """Lets the value's scale follow the returns of a fragment, by the values noted while acting."""
        network: Any = self._network
        network.value_scale.update(gae_of(fragment, self._config).returns, network.head)

    def _value_std(self) -> torch.Tensor | float:
        scale: Any = getattr(self._network, "value_scale", None)
        return 1.0 if scale is None else scale.std.detach()

    def _descend(self, loss: torch.Tensor) -> float:
        """Takes one gradient step; returns the gradient's norm before it was clipped."""
        self._optimiser.zero_grad(set_to_none=True)
        loss.backward()  # type: ignore[no-untyped-call]
        if self._together is not None:
            self._together.add_gradients(self._network)
        norm = float(nn.utils.clip_grad_norm_(self._network.parameters(), self._config.max_grad_norm))
        total = float(loss.detach())
        if not np.isfinite(norm) or not np.isfinite(total):
            raise DivergenceError(f"loss {total:.3g}, gradient norm {norm:.3g}")
        self._optimiser.step()
        return norm


def _mean(values: list[torch.Tensor]) -> float:
    return float(torch.stack(values).mean())
