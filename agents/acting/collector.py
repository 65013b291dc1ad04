"""Plays thousands of games at once among many policies.

One tick is one decision in every game: rows are grouped by policy, each network runs once over its
rows, bots are asked for theirs, and learning players' decisions go into their trajectories. Nothing
here is per game in Python.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from time import perf_counter

import numpy as np
import numpy.typing as npt
import torch

import envs
from agents.acting import kernels
from agents.acting.central import CentralPolicy, Centre, Request
from agents.acting.exploration import Exploration
from agents.acting.memory import SeatMemory
from agents.acting.policy import NetworkPolicy, Policy
from agents.acting.recorder import Recorder
from agents.acting.sampling import empty_actions, sampler_of
from agents.acting.seating import Seating, Series, SeriesResult
from agents.acting.trajectories import Trajectories
from agents.fragment import Fragment
from agents.networks.build import build
from agents.networks.fitting import spec_for
from envs.spec import rows_of
from envs.vector_game import Turns, VectorGame

# Rows a forward are rounded up to this: oneDNN compiles a bfloat16 kernel for each new number of rows
# and group sizes take every value. 353,000 -> 526,000 moves/s with 16 opponents, one core.
ROW_MULTIPLE = 32
# Who chooses in which sorted rows, from and to.
_Group = tuple[Policy | None, int, int]


@dataclass
class PlayCounts:
    """What has been played since the start.

    `env_seconds`: in the game. `inference_seconds`: in networks and bots, which were asked `forwards` times.
    """

    moves: int = 0
    episodes: int = 0
    learning_steps: int = 0
    env_seconds: float = 0.0
    inference_seconds: float = 0.0
    forwards: int = 0


class Collector:
    """A batch of games, the policies that play them, and what comes of it.

    Attributes:
      counts: totals since the start.
    """

    def __init__(
        self,
        game: VectorGame,
        learners: list[str],
        *,
        fragment_length: int,
        fragment_lanes: int,
        seed: int,
        temperature: float = 1.0,
        discounts: Sequence[float] | None = None,
        reward_scales: Sequence[float] | None = None,
        recorder: Recorder | None = None,
        memory_size: int = 0,
        epsilons: Sequence[float] | None = None,
    ) -> None:
        """Args:
        game: of any number of seats, turn-based or simultaneous.
        learners: players whose decisions are kept as fragments; empty for evaluation.
        fragment_length: T. fragment_lanes: B.
        temperature: of the networks' play; 0 plays the best action.
        discounts, reward_scales: the learners', see `Trajectories`.
        recorder: writes games down now and then.
        memory_size: of the learner that remembers most.
        epsilons: of the learners that explore by playing anything now and then.
        """
        spec = game.spec
        self.counts = PlayCounts()
        self._game = game
        self._rng = np.random.default_rng(seed)
        self._temperature = temperature
        self._seating = Seating(game.num_envs, spec.side_of_seat)
        self._sample = sampler_of(spec)
        self._policies: list[Policy | None] = []
        self._policy_index: dict[str, int] = {}
        self._owner_index = {name: i for i, name in enumerate(learners)}
        self._shape = {"fragment_length": fragment_length, "fragment_lanes": fragment_lanes}
        self._discounts = list(discounts or [1.0] * len(learners))
        self._reward_scales = list(reward_scales or [1.0] * len(learners))
        rows = game.num_envs * (1 if spec.turn_based else spec.num_seats)
        self._exploration = Exploration(game.num_envs, list(epsilons or [0.0] * len(learners)))
        self._seat_memory = SeatMemory(game.num_envs, spec.num_seats, rows, memory_size)
        self._trajectories = self._new_trajectories() if learners else None
        self._recorder = recorder
        self._sorted_obs = np.zeros((rows + ROW_MULTIPLE, spec.observation_size), spec.observation_dtype)
        self._heads = np.zeros((len(self._sorted_obs), spec.policy_size + 1), np.float32)
        self._asked = np.zeros(rows, np.bool_)
        self._actions = empty_actions(spec, rows)
        self._log_probs = np.zeros(rows, np.float32)
        self._values = np.zeros(rows, np.float32)

    @property
    def queued_episodes(self) -> int:
        """Episodes leased but not yet started."""
        return self._seating.queued

    @property
    def is_idle(self) -> bool:
        """Nothing has been leased yet."""
        return not self._seating.active

    def knows(self, player: str) -> bool:
        """Whether a player's policy is here."""
        return player in self._policy_index

    def put_policy(self, player: str, policy: Policy) -> None:
        """Adds a player's policy, or replaces it."""
        if isinstance(policy, NetworkPolicy):
            self._seat_memory.make_room(policy.memory_size)
        index = self._policy_index.get(player)
        if index is not None:
            self._policies[index] = policy
        elif None in self._policies:
            index = self._policies.index(None)
            self._policies[index], self._policy_index[player] = policy, index
        else:
            self._policy_index[player] = len(self._policies)
            self._policies.append(policy)

    def add_learner(
        self,
        player: str,
        discount: float,
        reward_scale: float,
        memory_size: int = 0,
        epsilon: float = 0.0,
    ) -> None:
        """Lets another player learn from what it plays from now on.

        What the others have in open fragments, a moment's worth of play, is let go.
        """
        self._owner_index[player] = len(self._owner_index)
        self._discounts.append(discount)
        self._reward_scales.append(reward_scale)
        self._seat_memory.learn_from(memory_size)
        self._exploration.add(epsilon)
        before, self._trajectories = self._trajectories, self._new_trajectories()
        if before is not None:
            self._trajectories.versions[:-1] = before.versions
            self._trajectories.generations[:-1] = before.generations

    def keep_policies(self, limit: int) -> None:
        """Drops the longest known policies without a game in progress until at most `limit` are left."""
        seated = {player for series in self._seating.active for player in series.players}
        for player in [p for p in self._policy_index if p not in seated and p not in self._owner_index]:
            if len(self._policy_index) <= limit:
                return
            self._policies[self._policy_index.pop(player)] = None

    def add_series(self, *leased: Series) -> None:
        """Queues series whose players are all known."""
        for series in leased:
            policies = [self._policy_index[p] for p in series.players]
            owners = [
                self._owner_index.get(player, -1) if learns else -1
                for player, learns in zip(series.players, series.learners, strict=True)
            ]
            self._seating.add(series, policies, owners)
        self._seating.fill()

    def tick(self) -> None:
        """Plays one decision in every game."""
        begin = perf_counter()
        turns = self._game.turns()
        self.counts.env_seconds += perf_counter() - begin
        rows = len(turns.env)
        policy = self._seating.policy_of[turns.env, turns.seat]
        order, starts = kernels.group_rows(policy, len(self._policies))
        flat = rows_of(turns.obs)
        kernels.take_rows(flat, order, self._sorted_obs)
        noise = self._sample.noise(rows, self._rng)
        begin = perf_counter()
        groups = [
            (self._policies[index], int(starts[index]), int(starts[index + 1]))
            for index in np.flatnonzero(np.diff(starts)).tolist()
        ]
        asked = self._ask_networks(groups, rows, order, turns)
        if self._exploration.needed:
            owners = self._seating.owner_of[turns.env[order], turns.seat[order]]
            self._exploration.apply(self._heads[:rows], owners, turns.env[order], self._rng)
        self.counts.inference_seconds += perf_counter() - begin
        self.counts.forwards += len(groups)
        self._sample(
            self._heads,
            asked,
            order,
            turns.legal,
            noise,
            self._temperature,
            self._actions,
            self._log_probs,
            self._values,
        )
        self._ask_bots(groups, order, turns)
        actions = self._actions[:rows]
        if self._trajectories is not None:
            self.counts.learning_steps += self._trajectories.record_decisions(
                turns.env,
                turns.seat,
                self._seating.owner_of,
                flat,
                turns.legal,
                actions,
                self._log_probs,
                self._values,
                self._seat_memory.before,
            )
        self._seating.count_moves(turns.env)
        recorder = self._recorder
        if recorder is not None and recorder.is_watching:
            _, players = self._seating.seated(recorder.env)
            spec = self._game.spec
            told = spec.turn_based and spec.openspiel_id is not None  # else a history need not be of actions
            watched = np.array([recorder.env])
            recorder.see_moves(
                turns,
                actions,
                spec.action_factors,
                players,
                lambda row: self._heads_of(row, order, asked),
                (lambda: self._game.histories(watched)[0]) if told else None,
            )
        begin = perf_counter()
        step = self._game.step(actions)
        self.counts.env_seconds += perf_counter() - begin
        if recorder is not None:
            recorder.see_step(step, *self._seating.seated(recorder.env))
        if self._trajectories is not None:
            self._trajectories.record_rewards(step)
        self._seat_memory.forget(step.ended)
        self.counts.episodes += self._seating.finish(step.ended, step.returns, step.aborted)
        self.counts.moves += rows

    def _ask_bots(self, groups: list[_Group], order: npt.NDArray[np.int32], turns: Turns) -> None:
        """Has each player without a network choose in its rows."""
        begin = perf_counter()
        for chooser, first, end in groups:
            if chooser is not None and not isinstance(chooser, NetworkPolicy):
                group = order[first:end]
                self._actions[group] = chooser.act(
                    self._game, turns.env[group], turns.legal[group], self._rng
                )
        self.counts.inference_seconds += perf_counter() - begin

    def _ask_networks(
        self, groups: list[_Group], rows: int, order: npt.NDArray[np.int32], turns: Turns
    ) -> npt.NDArray[np.bool_]:
        """Has each network look at its rows of the sorted observations; returns which rows were looked at."""
        asked = self._asked[:rows]
        asked[:] = False
        converted: dict[torch.dtype, torch.Tensor] = {}
        sorted_obs = torch.from_numpy(self._sorted_obs[: rows + ROW_MULTIPLE])
        heads = torch.from_numpy(self._heads)
        answered = self._ask_centres(groups)
        with torch.inference_mode():
            for chooser, begin, end in groups:
                if not isinstance(chooser, NetworkPolicy):
                    continue
                asked[begin:end] = True
                if isinstance(chooser, CentralPolicy):
                    continue
                padded = _padded(begin, end)
                shown = slice(begin, padded), slice(chooser.input_size)
                if chooser.memory_size:
                    memory = self._seat_memory.take(
                        chooser.memory_size, order[begin:end], turns, padded - begin
                    )
                    result, memory = chooser.step(self._sorted_obs[shown], memory)
                    self._heads[begin:padded] = result
                    self._seat_memory.put(memory, order[begin:end], turns)
                    continue
                if chooser.dtype is None:
                    self._heads[begin:padded] = chooser.heads(self._sorted_obs[shown])
                    continue
                if chooser.dtype not in converted:
                    converted[chooser.dtype] = sorted_obs.to(chooser.dtype)
                chooser.heads_of(converted[chooser.dtype][shown], heads[begin:padded])
        for write_down in answered:
            write_down()
        return asked

    def _ask_centres(self, groups: list[_Group]) -> list[Callable[[], None]]:
        """Sends the rows of networks that run elsewhere, one request to each place.

        Returns:
          What waits for the answers and writes them down: there is time for other things before.
        """
        central: dict[Centre, list[tuple[str, int, int]]] = {}
        for chooser, begin, end in groups:
            if isinstance(chooser, CentralPolicy):
                central.setdefault(chooser.centre, []).append((chooser.key, begin, end))
        return [self._ask_centre(centre, parts) for centre, parts in central.items()]

    def _ask_centre(self, centre: Centre, parts: list[tuple[str, int, int]]) -> Callable[[], None]:
        blocks = [self._sorted_obs[begin : _padded(begin, end)] for _, begin, end in parts]
        starts = np.cumsum([0, *map(len, blocks)]).tolist()
        keys = tuple((key, starts[k], starts[k + 1]) for k, (key, _, _) in enumerate(parts))
        wait = centre.ask(Request(keys, np.concatenate(blocks)))

        def write_down() -> None:
            answer = wait()
            for (_, begin, end), start in zip(parts, starts[:-1], strict=True):
                self._heads[begin:end] = answer[start : start + end - begin]

        return write_down

    def take_results(self) -> list[SeriesResult]:
        """Returns the series finished since the last call."""
        return self._seating.take_results()

    def ready_fragments(self, player: str) -> int:
        """Returns how many fragments of a learning player can be taken."""
        assert self._trajectories is not None  # noqa: S101  asked only of a collector with learners
        return self._trajectories.ready(self._owner_index[player])

    def take_fragment(self, player: str) -> Fragment:
        """Takes a ready fragment."""
        assert self._trajectories is not None  # noqa: S101
        return self._trajectories.take(self._owner_index[player])

    def update_learner(self, player: str, policy: NetworkPolicy, version: int, generation: int) -> None:
        """Puts newer weights of a learning player to play; a new generation forgets what is in flight."""
        self.put_policy(player, policy)
        if self._trajectories is not None and player in self._owner_index:
            owner = self._owner_index[player]
            self._trajectories.versions[owner] = version
            if self._trajectories.generations[owner] != generation:
                self._trajectories.start_generation(owner, generation)

    def _heads_of(
        self, row: int, order: npt.NDArray[np.int32], asked: npt.NDArray[np.bool_]
    ) -> npt.NDArray[np.float32] | None:
        """Returns what a network said in a row of the present turns, None of a bot's."""
        place = int(np.flatnonzero(order == row)[0])
        return self._heads[place] if asked[place] else None

    def _new_trajectories(self) -> Trajectories:
        return Trajectories(
            self._game.spec,
            self._game.num_envs,
            list(self._owner_index),
            discounts=self._discounts,
            reward_scales=self._reward_scales,
            memory_size=self._seat_memory.learnt,
            **self._shape,
        )


def _padded(begin: int, end: int) -> int:
    """Where the last block of rows ends; the rows that follow fill it up, their outputs are written over."""
    return begin + -(-(end - begin) // ROW_MULTIPLE) * ROW_MULTIPLE


def warm_up(game_id: str) -> None:
    """Compiles the kernels for a game's dtypes: 20 s at the very first time, then from a cache."""
    game = envs.make(game_id, 2, 0)
    collector = Collector(game, ["warm_up"], fragment_length=1, fragment_lanes=1, seed=0)
    spec = spec_for(game.spec, hidden=(8,))
    collector.update_learner("warm_up", NetworkPolicy(build(spec)), 0, 1)
    k = len(game.spec.sides)
    collector.add_series(Series(0, ("warm_up",) * k, (0,) * k, (True,) * k, 2, "training", "self_play"))
    while not collector.ready_fragments("warm_up"):
        collector.tick()
    collector.take_fragment("warm_up")
