"""Environments with the spaces that boards do not have: parts by name, and continuous actions."""

from __future__ import annotations

from typing import Any

import numpy as np
from gymnasium import spaces
from pettingzoo import ParallelEnv


class _OneShot(ParallelEnv[str, Any, Any]):
    """Two agents who do not meet; every episode is one decision of each."""

    metadata: dict[str, Any] = {"name": "one_shot"}  # noqa: RUF012

    def __init__(self) -> None:
        self.possible_agents = ["a", "b"]
        self.agents: list[str] = []
        self._rng = np.random.default_rng()

    def reset(self, seed: int | None = None, options: Any = None) -> tuple[dict[str, Any], dict[str, Any]]:
        self._rng = np.random.default_rng(seed)
        self.agents = list(self.possible_agents)
        self._shown = {agent: self._draw() for agent in self.agents}
        return dict(self._shown), {agent: {} for agent in self.agents}

    def step(self, actions: dict[str, Any]) -> tuple[Any, ...]:
        rewards = {agent: self._reward(self._shown[agent], action) for agent, action in actions.items()}
        over, cut = dict.fromkeys(actions, True), dict.fromkeys(actions, False)
        self.agents = []
        return dict(self._shown), rewards, over, cut, {agent: {} for agent in actions}

    def _draw(self) -> Any:
        raise NotImplementedError

    def _reward(self, shown: Any, action: Any) -> float:
        raise NotImplementedError


class SignAndSide(_OneShot):
    """A bright spot on the left or the right of an image, and a number above or below 0: are they alike?

    Half of the answers are right to whoever looks at one part only.
    """

    def observation_space(self, agent: str) -> spaces.Dict:
        return spaces.Dict(
            {
                "camera": spaces.Box(0, 255, (8, 8, 3), np.uint8),
                "body": spaces.Dict({"speed": spaces.Box(-np.inf, np.inf, (2,), np.float32)}),
                "gear": spaces.Discrete(3),
            }
        )

    def action_space(self, agent: str) -> spaces.Discrete:
        return spaces.Discrete(2)

    def _draw(self) -> dict[str, Any]:
        camera = np.zeros((8, 8, 3), np.uint8)
        camera[self._rng.integers(8), self._rng.integers(8)] = 250
        speed = self._rng.choice([-1.0, 1.0], 2).astype(np.float32)
        return {"camera": camera, "body": {"speed": speed}, "gear": int(self._rng.integers(3))}

    def _reward(self, shown: Any, action: Any) -> float:
        right = bool(shown["camera"][:, 4:].any())
        return float(action == (right == (shown["body"]["speed"][0] > 0)))


class Aim(_OneShot):
    """Hit what is shown: two numbers, the second of which lies off centre in its bounds."""

    low, high = np.array([-2.0, 0.0], np.float32), np.array([2.0, 5.0], np.float32)

    def observation_space(self, agent: str) -> spaces.Box:
        return spaces.Box(-5.0, 5.0, (2,), np.float32)

    def action_space(self, agent: str) -> spaces.Box:
        return spaces.Box(self.low, self.high, dtype=np.float32)

    def _draw(self) -> Any:
        return self._rng.uniform(0.6 * self.low, 0.6 * self.high).astype(np.float32)

    def _reward(self, shown: Any, action: Any) -> float:
        assert action.dtype == np.float32
        assert (action >= self.low).all()
        assert (action <= self.high).all()
        return float(-np.square(action - shown).sum())


class UnlikeSeats(SignAndSide):
    """The second agent has no camera."""

    def observation_space(self, agent: str) -> spaces.Dict:
        space = super().observation_space(agent)
        return space if agent == "a" else spaces.Dict({"gear": space["gear"]})
