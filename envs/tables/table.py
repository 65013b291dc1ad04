"""One PettingZoo environment, driven the same way whether its agents move in turn or together.

A table says who is to decide and takes their decisions; whatever the environment does wrong becomes a
`GameContractError` that names the episode's seed, the step, the seat and the value.
"""

from __future__ import annotations

import contextlib
import math
import warnings
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import numpy.typing as npt
from gymnasium import spaces

from envs.errors import GameContractError, GameError
from envs.tables.encoding import ActionEncoder, ImageOptions, NamedEncoder, ObservationEncoder, VectorActions


@dataclass(frozen=True)
class TableOptions:
    """How an environment is played.

    Attributes:
      bins: steps that a continuous dimension of an action is cut into.
      seat_indicator: append which seat it is to what it sees, for seats that share a network.
      max_episode_steps: steps of the environment after which an episode counts as endless.
      image: see `encoding`.
      named: observations keep their parts apart. continuous: actions are vectors, not steps.
    """

    bins: int = 7
    seat_indicator: bool = False
    max_episode_steps: int = 10_000
    image: ImageOptions = field(default_factory=ImageOptions)
    named: bool = False
    continuous: bool = False


@dataclass(frozen=True)
class TableSpec:
    """What a table shows and takes, by seat.

    Attributes:
      names: of the seats. observations: what each sees, its indicator included.
      actions: what each acts in. turn_based: one seat at a time.
    """

    names: tuple[str, ...]
    observations: tuple[spaces.Box | spaces.Dict, ...]
    actions: tuple[spaces.Discrete | spaces.MultiDiscrete | spaces.Box, ...]
    turn_based: bool


@dataclass
class Due:
    """The decisions due, in the order of the seats; `masks` are of the seat's choices, None: all legal."""

    seats: list[int]
    observations: list[npt.NDArray[Any]]
    masks: list[npt.NDArray[np.bool_] | None]


@dataclass
class Outcome:
    """What a step brought: rewards by seat, whether the episode is over and was cut off."""

    rewards: npt.NDArray[np.float32]
    ended: bool
    truncated: bool


class Table:
    """One environment and its encoders."""

    def __init__(self, game_id: str, make: Callable[[], Any], options: TableOptions) -> None:
        """Raises: GameError: it cannot be made, or what its agents see or do cannot be encoded."""
        self._game_id, self._make, self._options = game_id, make, options
        with _quiet():
            self._env = _guarded(game_id, make)
        self._parallel = not hasattr(self._env, "agent_iter")
        self.agents: tuple[str, ...] = tuple(self._env.possible_agents)
        self._seat = {agent: k for k, agent in enumerate(self.agents)}
        with _quiet():
            observed = [self._env.observation_space(a) for a in self.agents]
            acted = [self._env.action_space(a) for a in self.agents]
        encoder = NamedEncoder if options.named else ObservationEncoder
        self._observers = [encoder(space, options.image) for space in observed]
        self._actors = [
            VectorActions(space) if options.continuous else ActionEncoder(space, options.bins)
            for space in acted
        ]
        self.spec = self._describe()
        self._indicated: list[npt.NDArray[np.float32]] = []
        if options.seat_indicator:
            self._indicated = [np.zeros(box.shape or (), np.float32) for box in self.spec.observations]
            for seat, array in enumerate(self._indicated):
                array[seat - len(self.agents)] = 1.0  # its number stands at the end
        self._factors: tuple[int, ...] = ()
        self._episode_seed = -1
        self._steps = 0
        self._alive: list[str] = []
        self._observed: dict[str, Any] = {}
        self._infos: dict[str, Any] = {}

    def play_in(self, factors: tuple[int, ...]) -> None:
        """Sets the game's factors, in which the seats' own are padded."""
        self._factors = factors

    def reset(self, seed: int) -> Due:
        """Begins an episode. Raises: GameContractError."""
        self._episode_seed, self._steps = seed, 0
        for observer in self._observers:
            observer.reset()
        try:
            with _quiet():
                answer = self._env.reset(seed=seed)
        except Exception as error:
            raise self._broken("reset", error) from error
        if self._parallel:
            self._observed, self._infos = answer
            self._alive = list(self._env.agents)
        return self._due()

    def step(self, actions: Sequence[Any], due: Due) -> Outcome:
        """Plays the decisions that were due. Raises: GameContractError."""
        self._steps += 1
        chosen = {
            self.agents[seat]: self._actors[seat].decode(action, self._factors)
            for seat, action in zip(due.seats, actions, strict=True)
        }
        try:
            outcome = self._step_simultaneous(chosen) if self._parallel else self._step_in_turn(chosen)
        except GameContractError:
            raise
        except Exception as error:
            raise self._broken("step", error) from error
        if not math.isfinite(outcome.rewards.dot(outcome.rewards)):
            seat = int(np.abs(np.nan_to_num(outcome.rewards, nan=np.inf)).argmax())
            raise self._wrong(f"{self.agents[seat]} got a reward of {outcome.rewards[seat]}")
        if self._steps >= self._options.max_episode_steps and not outcome.ended:
            raise self._wrong(f"not over after max_episode_steps={self._options.max_episode_steps}")
        return outcome

    def due(self) -> Due:
        """Returns the decisions due after a step that did not end the episode. Raises: GameContractError."""
        return self._due()

    def restart(self) -> None:
        """Makes the environment anew, after it broke down."""
        self.close()
        self._env = _guarded(self._game_id, self._make)

    def close(self) -> None:
        with contextlib.suppress(Exception):  # it is thrown away; why it would not close is nobody's concern
            self._env.close()

    def _step_simultaneous(self, chosen: dict[str, Any]) -> Outcome:
        alive = self._alive
        self._observed, rewards, terminated, _, self._infos = self._env.step(chosen)
        got = np.zeros(len(self.agents), np.float32)
        for agent, reward in rewards.items():
            if agent not in alive and reward:
                raise self._wrong(f"{agent}, who is not in the game any more, got a reward of {reward}")
            if agent in self._seat:
                got[self._seat[agent]] = reward
        # Asked once a step: behind PettingZoo's wrappers an attribute costs more than a move of a small game.
        self._alive = list(self._env.agents)
        ended = not self._alive
        return Outcome(got, ended, ended and not any(terminated.values()))

    def _step_in_turn(self, chosen: dict[str, Any]) -> Outcome:
        env, got = self._env, np.zeros(len(self.agents), np.float32)
        (action,) = chosen.values()
        env.step(action)
        for agent, reward in env.rewards.items():
            if agent in self._seat:
                got[self._seat[agent]] = reward
        terminations, truncations = env.terminations, env.truncations
        terminated = any(terminations.values())
        if not (terminated or any(truncations.values())):
            return Outcome(got, False, False)
        # Those who are out have to be stepped past before anybody else can move.
        while env.agents and (env.terminations[env.agent_selection] or env.truncations[env.agent_selection]):
            env.step(None)
        ended = not env.agents
        return Outcome(got, ended, ended and not terminated)

    def _due(self) -> Due:
        due = Due([], [], [])
        if self._parallel:
            for agent in self.agents if len(self._alive) == len(self.agents) else self._in_order():
                if agent not in self._observed:
                    raise self._wrong(f"{agent} is in the game and sees nothing")
                self._add(due, agent, self._observed[agent], self._infos.get(agent))
        else:
            agent = self._env.agent_selection
            try:
                observation, info = self._env.observe(agent), self._env.infos.get(agent)
            except Exception as error:
                raise self._broken("observe", error) from error
            self._add(due, agent, observation, info)
        if not due.seats:
            raise self._wrong("nobody is to decide, and the episode is not over")
        return due

    def _in_order(self) -> list[str]:
        """Returns those still in the game, in the order of the seats."""
        return [agent for agent in self.agents if agent in self._alive]

    def _add(self, due: Due, agent: str, observation: Any, info: Any) -> None:
        seat = self._seat[agent]
        try:
            array, mask = (
                self._observers[seat].encode(observation),
                self._observers[seat].mask(observation, info),
            )
        except Exception as error:
            raise self._wrong(f"{agent} sees {_brief(observation)}: {error}") from error
        # A sum of squares is finite where every number is, and one call; an overflow is looked at again.
        flat = array.ravel()
        if array.dtype == np.float32 and not math.isfinite(flat.dot(flat)) and not np.isfinite(flat).all():
            at = int(np.flatnonzero(~np.isfinite(flat))[0])
            raise self._wrong(f"{agent} sees {flat[at]} at place {at}")
        if mask is not None:
            choices = sum(self._actors[seat].factors)
            if mask.shape != (choices,):
                raise self._wrong(f"{agent} has an action mask of shape {mask.shape} for {choices} actions")
            if not mask.any():
                raise self._wrong(f"{agent} has an action mask without a legal action")
        if self._options.seat_indicator:
            array = self._indicated[seat]  # the batch copies it before the next move
            array[: len(flat)] = flat
        due.seats.append(seat)
        due.observations.append(array)
        due.masks.append(mask)

    def _describe(self) -> TableSpec:
        observed: list[spaces.Box | spaces.Dict] = [observer.space for observer in self._observers]
        if self._options.seat_indicator:
            sizes = [int(np.prod(box.shape or ())) + len(self.agents) for box in observed]
            observed = [spaces.Box(-np.inf, np.inf, (size,), np.float32) for size in sizes]
        actions = tuple(actor.space for actor in self._actors)
        return TableSpec(self.agents, tuple(observed), actions, not self._parallel)

    def _broken(self, what: str, error: Exception) -> GameContractError:
        return self._wrong(f"{what} raised {type(error).__name__}: {error}")

    def _wrong(self, what: str) -> GameContractError:
        where = f"episode with seed {self._episode_seed}, step {self._steps}"
        return GameContractError(f"{self._game_id}, {where}: {what}")


@contextlib.contextmanager
def _quiet() -> Iterator[None]:
    """Keeps to itself what environments warn of while they are made: precision of bounds, render modes."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        yield


def _guarded(game_id: str, make: Callable[[], Any]) -> Any:
    try:
        env = make()
    except Exception as error:
        raise GameError(f"{game_id} cannot be made: {type(error).__name__}: {error}") from error
    for needed in ("possible_agents", "observation_space", "action_space", "reset", "step"):
        if not hasattr(env, needed):
            raise GameError(
                f"{game_id} made a {type(env).__name__} without {needed}; expected a PettingZoo environment, "
                "AEC or Parallel, or a VectorGame"
            )
    return env


def _brief(value: Any) -> str:
    text = repr(value)
    return text if len(text) <= 80 else text[:77] + "..."
