"""A player's policy for use outside the league: observations in, actions out, many callers in one forward.

For a service that answers thousands of requests a second from one thread: requests that wait at the same
moment are played by one forward a player, and a policy stays in memory until its player's weights change.
"""

from __future__ import annotations

import asyncio
import gc
import time
from collections import OrderedDict
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from league.errors import BadRequestError, ConflictError
from league.store.repositories.pages import LeaguePages
from league.store.session import Database

if TYPE_CHECKING:
    from agents.acting.policy import NetworkPolicy
    from envs.spec import GameSpec

POLICIES = 64
# A learning player's newest weights are looked for so often.
FRESH_SECONDS = 1.0
MOST_ROWS = 4096
# Rows of one forward are filled up to a multiple: a new number of rows may cost a compilation.
ROW_MULTIPLE = 8


@dataclass(frozen=True)
class Moves:
    """What a player does, a row each: `probabilities` over all actions; `memory` for its next decision."""

    actions: npt.NDArray[Any]
    values: npt.NDArray[np.float32]
    probabilities: npt.NDArray[np.float64]
    memory: npt.NDArray[np.float32]


@dataclass
class _Loaded:
    policy: NetworkPolicy
    spec: GameSpec
    weights: str
    checked_at: float


@dataclass
class _Waiting:
    obs: npt.NDArray[np.float32]
    legal: npt.NDArray[np.bool_]
    memory: npt.NDArray[np.float32]
    temperature: float
    loaded: _Loaded
    future: asyncio.Future[Moves]


class ActingService:
    """Policies of any run's players, for one event loop."""

    def __init__(self, database: Database, checkpoint_url: str) -> None:
        self._pages = LeaguePages(database)
        self._checkpoint_url = checkpoint_url
        self._loaded: OrderedDict[tuple[str, str], _Loaded] = OrderedDict()
        self._loading: dict[tuple[str, str], asyncio.Future[_Loaded]] = {}
        self._waiting: dict[tuple[str, str], list[_Waiting]] = {}
        self._rng = np.random.default_rng()

    async def act(
        self,
        run_id: str,
        player: str,
        observations: Any,
        legal: Any,
        temperature: float,
        memory: Any = None,
    ) -> Moves:
        """Returns a player's moves.

        Args:
          observations: numbers of one observation, or a list of such rows. legal: for each row the actions it
            may play, or one true or false for each action; None: all of them.
          temperature: 1 plays as the player does in training, 0 its best action.
          memory: rows that the player remembers, `Moves.memory` of the decisions before; None: nothing.

        Raises:
          NotFoundError. BadRequestError: rows that do not fit the game. ConflictError: no network.
        """
        key = (run_id, player)
        loaded = self._loaded.get(key)
        if loaded is None:
            loaded = await self._once(key)
        elif time.monotonic() - loaded.checked_at > FRESH_SECONDS and key not in self._loading:
            # One looks for newer weights while the others are answered by those at hand.
            loaded = await self._once(key)
        obs, mask = _rows(observations, legal, loaded.spec)
        remembered = _memory(memory, len(obs), loaded.policy.memory_size)
        future: asyncio.Future[Moves] = asyncio.get_running_loop().create_future()
        queue = self._waiting.setdefault((run_id, player), [])
        queue.append(_Waiting(obs, mask, remembered, temperature, loaded, future))
        if len(queue) == 1:
            # Whoever else is being read just now joins the same forward.
            asyncio.get_running_loop().call_soon(self._play, (run_id, player))
        return await future

    async def _once(self, key: tuple[str, str]) -> _Loaded:
        """Loads a player, one caller for all who wait for it."""
        task = self._loading.get(key)
        if task is None:
            task = asyncio.ensure_future(asyncio.to_thread(self._load, *key))
            self._loading[key] = task
            task.add_done_callback(lambda _: self._loading.pop(key, None))
        return await asyncio.shield(task)

    def _play(self, key: tuple[str, str]) -> None:
        waiting = self._waiting.pop(key)
        try:
            loaded = waiting[-1].loaded
            obs = np.concatenate([w.obs for w in waiting])
            rows = len(obs)
            padded = np.zeros((-(-rows // ROW_MULTIPLE) * ROW_MULTIPLE, obs.shape[1]), obs.dtype)
            padded[:rows] = obs
            memory = np.zeros((len(padded), loaded.policy.memory_size), np.float32)
            memory[:rows] = np.concatenate([w.memory for w in waiting])
            heads, memory = (x[:rows] for x in loaded.policy.step(padded, memory))
            legal = np.concatenate([w.legal for w in waiting])
            temperature = np.repeat([w.temperature for w in waiting], [len(w.obs) for w in waiting])
            if loaded.spec.action_size:
                from agents.acting.sampling import gaussian_actions

                noise = self._rng.standard_normal((rows, loaded.spec.action_size), np.float32)
                vectors, _ = gaussian_actions(heads[:, :-1], noise, temperature[:, None].astype(np.float32))
                actions: npt.NDArray[Any] = np.clip(vectors, -1.0, 1.0)
                chances = np.zeros((rows, 0))
            else:
                chances = _chances(heads[:, :-1], legal, temperature, loaded.spec.action_factors)
                actions = _draw(chances, self._rng, loaded.spec.action_factors)
            begin = 0
            for w in waiting:
                end = begin + len(w.obs)
                if not w.future.done():
                    w.future.set_result(
                        Moves(
                            actions[begin:end],
                            heads[begin:end, -1],
                            chances[begin:end],
                            memory[begin:end],
                        )
                    )
                begin = end
        except Exception as error:  # each caller is told; the loop lives on
            for w in waiting:
                if not w.future.done():
                    w.future.set_exception(error)

    def _load(self, run_id: str, player: str) -> _Loaded:
        import torch

        from agents.acting.policy import NetworkPolicy
        from league.config.sides import spec_of
        from league.store.checkpoints import CheckpointStore
        from league.store.policies import load_policy

        record = self._pages.player(run_id, player)
        sha = record.learner_state if record.state == "learning" else record.checkpoint
        weights = f"{record.bot}{sha}"
        key = (run_id, player)
        known = self._loaded.get(key)
        if known is not None and known.weights == weights:
            known.checked_at = time.monotonic()
            return known
        spec = spec_of(self._pages.game(run_id))
        policy = load_policy(
            CheckpointStore(self._checkpoint_url),
            spec,
            bot=record.bot,
            checkpoint=sha,
            seed=0,
            dtype=torch.float32,
        )
        if not isinstance(policy, NetworkPolicy):
            raise ConflictError(
                f"{player} is the bot {record.bot}, which looks at the game, not at observations"
            )
        if known is None:
            # What has been imported by now stays; looked through by every full collection it would halt the
            # event loop for a fifth of a second.
            gc.collect()
            gc.freeze()
        loaded = _Loaded(policy, spec, weights, time.monotonic())
        self._loaded[key] = loaded
        self._loaded.move_to_end(key)
        while len(self._loaded) > POLICIES:
            self._loaded.popitem(last=False)
        return loaded


def _named_rows(observations: Any, spec: GameSpec) -> npt.NDArray[np.uint8]:
    """Returns the bytes of named arrays. Args: observations: an object by name, or a list of such."""
    from envs.spec import rows_of

    given = observations if isinstance(observations, list) else [observations]
    shapes = ", ".join(f"{part.name} {list(part.shape)}" for part in spec.observation_parts)
    if not 1 <= len(given) <= MOST_ROWS or not all(isinstance(row, dict) for row in given):
        raise BadRequestError(f"observation: an object with {shapes}, or 1 to {MOST_ROWS} of them")
    rows = np.zeros(len(given), spec.row_dtype)
    for k, row in enumerate(given):
        for part in spec.observation_parts:
            try:
                array = np.asarray(row[part.name], np.float64).reshape(part.shape)
            except (KeyError, TypeError, ValueError, OverflowError) as error:
                raise BadRequestError(
                    f"observation.{part.name}: numbers of shape {list(part.shape)}"
                ) from error
            low, high = (0.0, 255.0) if np.dtype(part.dtype) == np.uint8 else (-3e38, 3e38)
            if not ((array >= low) & (array <= high)).all():
                raise BadRequestError(f"observation.{part.name}: every number from {low:g} to {high:g}")
            rows[part.name][k] = array
    return rows_of(rows)


def _rows(observations: Any, legal: Any, spec: GameSpec) -> tuple[npt.NDArray[Any], npt.NDArray[np.bool_]]:
    obs = _named_rows(observations, spec) if spec.observation_parts else _flat_rows(observations, spec)
    return obs, _mask(legal, len(obs), spec)


def _flat_rows(observations: Any, spec: GameSpec) -> npt.NDArray[np.float32]:
    size = spec.observation_size
    try:
        obs = np.asarray(observations, np.float32)
    except (TypeError, ValueError, OverflowError) as error:
        raise BadRequestError(f"observation: {size} numbers, or rows of {size} numbers") from error
    obs = (
        obs.reshape(1, -1) if obs.ndim == 1 else obs.reshape(len(obs), -1) if obs.ndim else obs.reshape(0, 0)
    )
    if obs.shape[1:] != (size,) or not 1 <= len(obs) <= MOST_ROWS:
        raise BadRequestError(
            f"observation: {spec.game_id} shows {size} numbers a row, 1 to {MOST_ROWS} rows; "
            f"got {obs.shape[0]} rows of {obs.shape[1]}"
        )
    if not np.isfinite(obs).all():
        raise BadRequestError("observation: every number must be finite")
    return obs


def _mask(legal: Any, count: int, spec: GameSpec) -> npt.NDArray[np.bool_]:
    actions = spec.num_actions
    if legal is None or spec.action_size:
        return np.ones((count, actions), np.bool_)
    rows = legal if legal and isinstance(legal[0], list) else [legal]
    if len(rows) != count:
        raise BadRequestError(f"legal: {len(rows)} rows for {count} observations")
    mask = np.zeros((count, actions), np.bool_)
    for k, row in enumerate(rows):
        if not isinstance(row, list):
            raise BadRequestError(f"legal: a row is a list of actions from 0 to {actions - 1}")
        if len(row) == actions and all(type(x) is bool for x in row):
            mask[k] = row
        elif all(type(x) is int and 0 <= x < actions for x in row):
            mask[k, row] = True
        else:
            raise BadRequestError(f"legal: actions from 0 to {actions - 1}, or {actions} times true or false")
    if not all(part.any(axis=1).all() for part in _parts(mask, spec.action_factors)):
        raise BadRequestError("legal: every row needs an action")
    return mask


def _memory(memory: Any, rows: int, size: int) -> npt.NDArray[np.float32]:
    if memory is None:
        return np.zeros((rows, size), np.float32)
    try:
        result = np.asarray(memory, np.float32)
    except (TypeError, ValueError, OverflowError) as error:
        raise BadRequestError(f"memory: {rows} rows of {size} numbers") from error
    result = result.reshape(1, -1) if result.ndim == 1 else result
    if result.shape != (rows, size) or not np.isfinite(result).all():
        raise BadRequestError(
            f"memory: {rows} rows of {size} finite numbers, as the answer before had them"
            if size
            else "memory: this player has none"
        )
    return result


def _parts(table: npt.NDArray[Any], factors: tuple[int, ...]) -> list[npt.NDArray[Any]]:
    if len(factors) == 1:
        return [table]
    return list(np.split(table, np.cumsum(factors)[:-1], axis=1))


def _chances(
    logits: npt.NDArray[np.float32],
    legal: npt.NDArray[np.bool_],
    temperature: npt.NDArray[np.float64],
    factors: tuple[int, ...],
) -> npt.NDArray[np.float64]:
    from agents.acting.policy import probabilities

    chances = np.empty(logits.shape)
    for t in np.unique(temperature):
        rows = temperature == t
        parts = zip(_parts(logits[rows], factors), _parts(legal[rows], factors), strict=True)
        chances[rows] = np.concatenate([probabilities(x, may, float(t)) for x, may in parts], axis=1)
    return chances


def _draw(
    chances: npt.NDArray[np.float64], rng: np.random.Generator, factors: tuple[int, ...]
) -> npt.NDArray[np.int64]:
    from envs.actions import compose

    drawn = []
    for part in _parts(chances, factors):
        cumulative = np.cumsum(part, axis=1)
        places = (cumulative <= rng.random((len(part), 1)) * cumulative[:, -1:]).sum(axis=1)
        # Rounding must not end at an action that has no chance.
        last = part.shape[1] - 1 - (part[:, ::-1] > 0).argmax(axis=1)
        drawn.append(np.minimum(places, last))
    return compose(np.stack(drawn, axis=1), factors)
