"""Turns a stream of rows into fragments, one learning player's decisions at a time.

Seats of thousands of games fill pages of T decisions; a page goes on across episodes, so nothing is
padded and nothing thrown away. B full pages make a fragment.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from agents.acting import kernels
from agents.acting.sampling import empty_actions
from agents.fragment import Fragment
from envs.actions import Actions
from envs.spec import GameSpec
from envs.vector_game import Step


class Trajectories:
    """The pages of every learning player of one collector."""

    def __init__(
        self,
        spec: GameSpec,
        num_envs: int,
        owners: list[str],
        *,
        fragment_length: int,
        fragment_lanes: int,
        discounts: Sequence[float] | None = None,
        reward_scales: Sequence[float] | None = None,
        memory_size: int = 0,
    ) -> None:
        """Args:
        owners: the learning players. fragment_length: T. fragment_lanes: B.
        discounts: γ of each owner. reward_scales: what each multiplies rewards by. By default 1.
        memory_size: of the network that remembers most.
        """
        self._discounts = np.array(discounts or [1.0] * len(owners), np.float32)
        self._scales = np.array(reward_scales or [1.0] * len(owners), np.float32)
        self.owners = owners
        self.versions = np.zeros(len(owners), np.int64)
        self.generations = [0] * len(owners)
        self._lanes = fragment_lanes
        size, actions, seats = spec.observation_size, spec.num_actions, spec.num_seats
        count = max(len(owners), 1)
        t = fragment_length
        # Every seat may write a page, each owner may keep as many again open or full.
        p = 2 * num_envs * seats + 3 * count * fragment_lanes
        self._pages = kernels.Pages(
            obs=np.zeros((p, t + 1, size), spec.observation_dtype),
            legal=np.zeros((p, t, actions), np.bool_),
            actions=empty_actions(spec, p, t),
            log_probs=np.zeros((p, t), np.float32),
            values=np.zeros((p, t + 1), np.float32),
            rewards=np.zeros((p, t), np.float32),
            terminal=np.zeros((p, t), np.bool_),
            memory=np.zeros((p, memory_size), np.float32),
            length=np.zeros(p, np.int32),
            owner=np.full(p, -1, np.int32),
            version=np.zeros(p, np.int64),
            lane=np.full((num_envs, seats), -1, np.int32),
            free=np.arange(p, dtype=np.int32)[::-1].copy(),
            free_count=np.array([p], np.int32),
            open_queue=np.zeros((count, p), np.int32),
            open_head=np.zeros(count, np.int32),
            open_count=np.zeros(count, np.int32),
            full_queue=np.zeros((count, p), np.int32),
            full_head=np.zeros(count, np.int32),
            full_count=np.zeros(count, np.int32),
        )

    def record_decisions(
        self,
        env: npt.NDArray[np.int32],
        seat: npt.NDArray[np.int32],
        owner_of: npt.NDArray[np.int32],
        obs: npt.NDArray[Any],
        legal: npt.NDArray[np.bool_],
        actions: Actions,
        log_probs: npt.NDArray[np.float32],
        values: npt.NDArray[np.float32],
        memory: npt.NDArray[np.float32],
    ) -> int:
        """Appends the rows that somebody learns from; returns how many those were."""
        return int(
            kernels.record_decisions(
                self._pages,
                env,
                seat,
                owner_of,
                self.versions,
                obs,
                legal,
                actions,
                log_probs,
                values,
                memory,
            )
        )

    def record_rewards(self, step: Step) -> None:
        """Credits the rewards of a step to each seat's last decision."""
        kernels.record_rewards(
            self._pages, step.rewards, step.ended, step.truncated, self._scales, self._discounts
        )

    def ready(self, owner: int) -> int:
        """Returns how many fragments of this owner can be taken."""
        return int(self._pages.full_count[owner]) // self._lanes

    def take(self, owner: int) -> Fragment:
        """Takes one fragment; only when `ready`."""
        steps, lanes = self._pages.actions.shape[1], self._lanes
        obs = np.empty((steps + 1, lanes, self._pages.obs.shape[2]), self._pages.obs.dtype)
        legal = np.empty((steps, lanes, self._pages.legal.shape[2]), np.bool_)
        actions = np.empty((steps, lanes, *self._pages.actions.shape[2:]), self._pages.actions.dtype)
        log_probs = np.empty((steps, lanes), np.float32)
        values = np.empty((steps + 1, lanes), np.float32)
        rewards = np.empty((steps, lanes), np.float32)
        terminal = np.empty((steps, lanes), np.bool_)
        memory = np.empty((lanes, self._pages.memory.shape[1]), np.float32)
        oldest = kernels.take_pages(
            self._pages, owner, obs, legal, actions, log_probs, values, rewards, terminal, memory
        )
        return Fragment(
            self.owners[owner],
            self.generations[owner],
            int(oldest),
            obs,
            legal,
            actions,
            log_probs,
            values,
            rewards,
            terminal,
            memory,
        )

    def start_generation(self, owner: int, generation: int) -> None:
        """Forgets what the owner has in flight: it was reset, and those decisions were somebody else's."""
        kernels.drop_pages(self._pages, owner)
        self.generations[owner] = generation
