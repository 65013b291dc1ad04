"""One learning player: fragments in, better weights out."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
import torch
from torch import nn

from agents import networks, weights
from agents.algorithms.ppo import PPOConfig, PPOLoss, ppo_loss
from agents.errors import DivergenceError, WeightsError
from agents.fragment import Fragment
from agents.networks import NetworkSpec
from agents.processor import resolve_precision
from agents.returns import gae


@dataclass(frozen=True)
class UpdateMetrics:
    """Means over the minibatches of one update; `policy_lag` is in updates."""

    policy_loss: float
    value_loss: float
    entropy: float
    approximate_kl: float
    clip_fraction: float
    gradient_norm: float
    policy_lag: int


class Learner:
    """Holds a player's network and optimiser and learns by PPO.

    Attributes:
      spec: of the network.
      generation: resets so far. version: updates since the last reset.
      steps: decisions learnt from since the start; `generation_steps` since the last reset.
      factors: on the config's learning_rate and entropy, 1 where there is none.
    """

    def __init__(self, spec: NetworkSpec, config: PPOConfig, seed: int) -> None:
        self.spec = spec
        self.generation = 0
        self.version = 0
        self.steps = 0
        self.generation_steps = 0
        self.factors: dict[str, float] = {}
        self._config = config
        self._dtype = resolve_precision(config.precision)
        self._rng = torch.Generator().manual_seed(seed)
        self._network = networks.build(spec, seed)
        self._optimiser = self._fresh_optimiser()

    @property
    def network(self) -> nn.Module:
        return self._network

    def configure(self, config: PPOConfig) -> None:
        """Learns by other numbers from the next update on; the precision stays."""
        self._config = config

    def update(self, fragment: Fragment, progress: float) -> UpdateMetrics | None:
        """Learns from one fragment.

        Args:
          progress: of the run towards its stop rule, in [0, 1].

        Returns:
          The metrics, or None when the fragment was too old or from before a reset and was left out.

        Raises:
          DivergenceError: a loss or gradient is not finite. The weights are no longer to be trusted: restore.
        """
        lag = self.version - fragment.version
        if fragment.generation != self.generation or lag > self._config.max_policy_lag:
            return None
        batch = self._prepare(fragment)
        learning_rate = self._config.learning_rate.at(self.generation_steps, progress)
        learning_rate *= self.factors.get("learning_rate", 1.0)
        entropy_coefficient = self._config.entropy.at(self.generation_steps, progress)
        entropy_coefficient *= self.factors.get("entropy", 1.0)
        for group in self._optimiser.param_groups:
            group["lr"] = learning_rate
        losses: list[PPOLoss] = []
        norms: list[float] = []
        for _ in range(self._config.epochs):
            for minibatch in self._minibatches(batch):
                loss, norm = self._descend(minibatch, entropy_coefficient)
                losses.append(loss)
                norms.append(norm)
            if float(losses[-1].approximate_kl) > self._config.target_kl:
                break  # further epochs would leave the region where the surrogate means anything
        self.version += 1
        self.steps += fragment.steps
        self.generation_steps += fragment.steps
        return UpdateMetrics(
            policy_loss=_mean([loss.policy for loss in losses]),
            value_loss=_mean([loss.value for loss in losses]),
            entropy=_mean([loss.entropy for loss in losses]),
            approximate_kl=_mean([loss.approximate_kl for loss in losses]),
            clip_fraction=_mean([loss.clip_fraction for loss in losses]),
            gradient_norm=float(np.mean(norms)),
            policy_lag=lag,
        )

    def weights(self) -> dict[str, npt.NDArray[np.float32]]:
        """Returns a copy of the weights, for actors."""
        return {k: v.detach().numpy().copy() for k, v in self._network.state_dict().items()}

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
        self._network = network
        self._optimiser = self._fresh_optimiser()
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
        tensors["rng"] = self._rng.get_state()
        counters = {
            "generation": self.generation,
            "version": self.version,
            "steps": self.steps,
            "generation_steps": self.generation_steps,
        }
        metadata = {"network": self.spec.to_json(), "counters": counters, "factors": self.factors}
        return weights.dump(tensors, metadata)

    def restore(self, state: bytes) -> None:
        """Goes on from `state()`.

        Raises:
          WeightsError: it is not a state of this network.
        """
        tensors, metadata = weights.load(state)
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
            self._rng.set_state(tensors["rng"])
            self.generation, self.version = counters["generation"], counters["version"]
            self.steps, self.generation_steps = counters["steps"], counters["generation_steps"]
            self.factors = dict(metadata.get("factors", {}))
        except (KeyError, TypeError, RuntimeError) as error:
            raise WeightsError(f"not a learner's state: {error}") from error

    def _fresh_optimiser(self) -> torch.optim.Adam:
        rate = self._config.learning_rate.start
        return torch.optim.Adam(self._network.parameters(), lr=rate, eps=1e-5, fused=True)

    def _prepare(self, fragment: Fragment) -> list[torch.Tensor]:
        """Returns obs, legal, actions, log μ, advantages, returns, each with T·B rows."""
        values = torch.tensor(fragment.values)
        discounts = self._config.discount * (~torch.tensor(fragment.terminal)).float()
        advantages, returns = gae(
            torch.tensor(fragment.rewards),
            discounts,
            values[:-1],
            values[-1],
            lambda_=self._config.gae_lambda,
        )
        advantages = (advantages - advantages.mean()) / (advantages.std() + 1e-8)
        steps = fragment.steps
        obs = torch.tensor(fragment.obs[:-1]).reshape(steps, -1)
        if self.spec.normalise:
            self._network.observe(obs.float())  # type: ignore[operator]
        return [
            obs,
            torch.tensor(fragment.legal).reshape(steps, -1),
            torch.tensor(fragment.actions, dtype=torch.int64).reshape(steps),
            torch.tensor(fragment.log_probs).reshape(steps),
            advantages.reshape(steps),
            returns.reshape(steps),
        ]

    def _minibatches(self, batch: list[torch.Tensor]) -> Iterator[list[torch.Tensor]]:
        """Yields parts of a batch: in a new order for each of several epochs, else as they lie.

        Neighbours in a fragment are decisions of different games, so a single pass has nothing to gain from
        mixing them, and gathering rows is a seventh of an update.
        """
        size = self._config.minibatch
        if self._config.epochs == 1:
            yield from (list(part) for part in zip(*(torch.split(t, size) for t in batch), strict=True))
            return
        order = torch.randperm(len(batch[0]), generator=self._rng)
        for rows in torch.split(order, size):
            yield [t[rows] for t in batch]

    def _descend(self, batch: list[torch.Tensor], entropy_coefficient: float) -> tuple[PPOLoss, float]:
        obs, legal, actions, log_probs, advantages, returns = batch
        with torch.autocast("cpu", torch.bfloat16, enabled=self._dtype == torch.bfloat16):
            heads = self._network(obs.float())
        loss = ppo_loss(
            heads.float(),
            legal,
            actions,
            log_probs,
            advantages,
            returns,
            clip=self._config.clip,
            value_coefficient=self._config.value_coefficient,
            entropy_coefficient=entropy_coefficient,
            factors=self.spec.factors,
        )
        self._optimiser.zero_grad(set_to_none=True)
        loss.total.backward()  # type: ignore[no-untyped-call]
        norm = float(nn.utils.clip_grad_norm_(self._network.parameters(), self._config.max_grad_norm))
        total = float(loss.total.detach())
        if not np.isfinite(norm) or not np.isfinite(total):
            raise DivergenceError(f"loss {total:.3g}, gradient norm {norm:.3g}")
        self._optimiser.step()
        return loss, norm


def _mean(values: list[torch.Tensor]) -> float:
    return float(torch.stack(values).mean())
