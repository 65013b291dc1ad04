"""Plays a league's games: one collector for training, one for the ratings.

Plain object: an actor carries it in a Ray run, the serial loop calls it directly.
"""

from __future__ import annotations

import secrets
import time
from typing import Any

import torch
from torch import nn

import envs
from agents.acting.central import CentralPolicy, Centre
from agents.acting.collector import Collector, warm_up
from agents.acting.policy import NetworkPolicy, Policy
from agents.acting.recorder import Recorder
from agents.acting.seating import Series, SeriesResult
from agents.errors import WeightsError
from agents.fragment import Fragment
from agents.networks.build import build
from agents.players.remote import RemotePolicy
from agents.processor import resolve_precision
from envs.team_view import TeamView
from league.config.players import PlayerConfig
from league.config.run import RunConfig
from league.errors import CheckpointError
from league.runtime.messages import FrozenPlayer, RolloutOrders, RolloutReport, WeightsUpdate
from league.store.checkpoints import CheckpointStore
from league.store.policies import load_policy

# Policies of frozen players kept in memory, in use or not.
POLICY_CACHE = 256
# Of what games did wrong, so many of a report's; the rest are counted with their series.
ERRORS_REPORTED = 5
# A game is written down for people to look at about so often.
SECONDS_BETWEEN_EPISODES = 5.0


class RolloutPlayer:
    """Games, policies and what comes of them, for one worker of a run."""

    def __init__(
        self, config: RunConfig, checkpoint_url: str, worker: int, seed: int, centre: Centre | None = None
    ) -> None:
        """Args:
        worker: its number in the run. seed: of everything this worker draws.
        centre: where the networks run that do not run here; needed when the config has such.
        """
        self._config, self._centre = config, centre
        warm_up(config.game)
        self._store = CheckpointStore(checkpoint_url)
        self._dtype = resolve_precision(config.learner.precision)
        rollout, evaluation = config.rollout, config.evaluation
        how: dict[str, Any] = {"forfeit_illegal": True, "isolation": config.envs.isolation}
        training_game = envs.make(config.game, rollout.num_envs, seed, **how)
        evaluation_game = envs.make(config.game, evaluation.num_envs, seed + 1, **how)
        self._spec = training_game.spec
        if config.shows_teams:
            training_game = TeamView(training_game)
        self._games = (training_game, evaluation_game)
        self._revision = 0
        roster = config.roster()
        self.learners = list(roster)
        self._networks = {name: self._new_network(name) for name in roster}
        self._training = Collector(
            training_game,
            self.learners,
            fragment_length=rollout.fragment_length,
            fragment_lanes=rollout.fragment_lanes,
            seed=seed,
            discounts=[(entry.learner or config.learner).discount for entry in roster.values()],
            reward_scales=[(entry.learner or config.learner).reward_scale for entry in roster.values()],
            memory_size=max(self._memory_size(entry) for entry in roster.values()),
            epsilons=[(entry.learner or config.learner).needs.epsilon for entry in roster.values()],
        )
        self._recorder = Recorder(seconds_between=SECONDS_BETWEEN_EPISODES)
        self._evaluation = Collector(
            evaluation_game,
            [],
            fragment_length=1,
            fragment_lanes=1,
            seed=seed + 1,
            temperature=evaluation.temperature,
            recorder=self._recorder,
        )
        self._bot_seed = seed + 2 + worker
        self._versions: dict[str, tuple[int, int]] = {}
        self._loaded: dict[str, FrozenPlayer] = {}
        self._remote: dict[str, RemotePolicy] = {}
        self._unplayed: list[SeriesResult] = []
        self._unplayable: dict[str, str] = {}
        self._life, self._reports = secrets.token_hex(4), 0
        self._reported_moves = 0
        self._reported_episodes = (0, 0)
        self._last_report = time.monotonic()
        self._waited = self._transferred = 0.0
        # Of both collectors, as of the last report: seconds in games and networks, moves, forwards.
        self._spent_before = (0.0, 0.0, 0, 0)

    def apply_weights(self, update: WeightsUpdate) -> None:
        """Plays a learning player with newer weights from now on."""
        if self._versions.get(update.player) == (update.generation, update.version):
            return
        self._versions[update.player] = (update.generation, update.version)
        self._loaded.pop(update.player, None)
        policy = self._learning_policy(update)
        for collector in (self._training, self._evaluation):
            collector.update_learner(update.player, policy, update.version, update.generation)

    def version(self, player: str) -> tuple[int, int]:
        """Returns generation and version of the weights a learning player plays with; (-1, -1): none yet."""
        return self._versions.get(player, (-1, -1))

    def reconfigure(self, orders: RolloutOrders) -> list[str]:
        """Takes over another config, if the orders bring one, and says whose weights the orders need.

        Returns:
          Learning players in the orders that have just joined or have been frozen: their weights must be
          applied before the orders are.
        """
        if orders.config is not None:
            self._config, self._revision = orders.config, orders.revision
        players = {name for s in (*orders.training, *orders.evaluation) for name in s.players}
        learning = sorted(players - set(orders.frozen))
        for name in learning:
            if name not in self._networks:
                learner = self._config.roster()[name].learner or self._config.learner
                self._networks[name] = self._new_network(name)
                self.learners.append(name)
                memory_size = self._memory_size(self._config.roster()[name])
                self._training.add_learner(
                    name, learner.discount, learner.reward_scale, memory_size, learner.needs.epsilon
                )
        return [name for name in learning if name not in self._versions]

    def apply_orders(self, orders: RolloutOrders) -> None:
        """Queues leased series, loading the frozen players they need."""
        for name, player in orders.frozen.items():
            if self._loaded.get(name, player) != player or name in self._versions:
                self._forget(name)
        for collector, series_list in (
            (self._training, orders.training),
            (self._evaluation, orders.evaluation),
        ):
            playable = [s for s in series_list if self._seat_players(s, collector, orders)]
            if playable:
                collector.add_series(*playable)
            collector.keep_policies(POLICY_CACHE)

    def play_training(self) -> None:
        """One decision in every training game."""
        self._training.tick()

    @property
    def is_idle(self) -> bool:
        """Whether no training game is under way or waits to begin."""
        return self._training.is_idle

    def play_evaluation(self) -> bool:
        """One decision in every rating game; False when there is none."""
        if self._evaluation.is_idle:
            return False
        self._evaluation.tick()
        return True

    def play_while_waiting(self) -> None:
        """The same while a learner is behind: no loss, as ratings need no learner, but it is waiting."""
        counts = self._evaluation.counts
        before = counts.env_seconds, counts.inference_seconds
        self.play_evaluation()
        counts.env_seconds, counts.inference_seconds = before

    def fragment(self, player: str) -> Fragment | None:
        """Takes a fragment that is ready."""
        return self._training.take_fragment(player) if self._training.ready_fragments(player) else None

    def ready_fragments(self, player: str) -> int:
        return self._training.ready_fragments(player)

    def add_waiting(self, seconds: float) -> None:
        """Notes time in which no training game moved because a learner was behind."""
        self._waited += seconds

    def add_transfer(self, seconds: float) -> None:
        """Notes time in which fragments, weights or reports went from one process to another."""
        self._transferred += seconds

    def close(self) -> None:
        """Ends what the games hold, such as processes of their own."""
        for game in self._games:
            game.close()

    def report(self) -> RolloutReport:
        """Returns what was played since the last report and what could be played until the next but one."""
        now = time.monotonic()
        seconds = max(now - self._last_report, 1e-3)
        training, evaluation = self._training.counts, self._evaluation.counts
        moves = training.moves + evaluation.moves - self._reported_moves
        episodes = training.episodes, evaluation.episodes
        played, rated = (a - b for a, b in zip(episodes, self._reported_episodes, strict=True))
        self._reported_moves += moves
        self._reported_episodes = episodes
        spent, rows = self._take_spent(seconds)
        report = RolloutReport(
            results=self._training.take_results() + self._evaluation.take_results() + self._unplayed,
            moves=moves,
            games=played + rated,
            wanted_training=self._wanted(self._training, self._config.rollout.num_envs, played),
            wanted_evaluation=self._wanted(self._evaluation, self._config.evaluation.num_envs, rated)
            if self._config.evaluation.share > 0
            else 0,
            spent=spent,
            rows=rows,
            errors=self._take_errors()[:ERRORS_REPORTED],
            episodes=tuple(self._recorder.take()),
            revision=self._revision,
            unplayable=self._unplayable,
            life=self._life,
            number=self._reports,
        )
        self._reports += 1
        self._unplayed, self._unplayable = [], {}
        self._last_report = now
        return report

    def _take_spent(self, seconds: float) -> tuple[dict[str, float], float]:
        """Returns shares of so many seconds, and about how many rows a network or bot was asked at once."""
        counts = (self._training.counts, self._evaluation.counts)
        totals = (
            sum(c.env_seconds for c in counts),
            sum(c.inference_seconds for c in counts),
            sum(c.moves for c in counts),
            sum(c.forwards for c in counts),
        )
        env, inference, moves, forwards = (a - b for a, b in zip(totals, self._spent_before, strict=True))
        spent = {
            "env": env / seconds,
            "inference": inference / seconds,
            "transfer": self._transferred / seconds,
            "waiting": self._waited / seconds,
        }
        self._spent_before = totals
        self._waited = self._transferred = 0.0
        return {kind: min(1.0, share) for kind, share in spent.items()}, moves / max(forwards, 1)

    def _take_errors(self) -> tuple[str, ...]:
        games = [error for game in self._games for error in game.take_errors()]
        return (*games, *(error for policy in self._remote.values() for error in policy.take_errors()))

    @property
    def evaluation_share(self) -> float:
        return self._config.evaluation.share

    @staticmethod
    def _wanted(collector: Collector, num_envs: int, played: int) -> int:
        """Twice what was played since the last report, so that games whose series is over find the next."""
        return max(0, 2 * max(num_envs, played) - collector.queued_episodes)

    def _seat_players(self, series: Series, collector: Collector, orders: RolloutOrders) -> bool:
        """Loads a series' frozen players; False when one cannot be had: then it is reported back unplayed."""
        for name in series.players:
            if collector.knows(name) and (name not in orders.frozen or name in self._loaded):
                continue
            player = orders.frozen[name]
            try:
                self._put_frozen(name, player)
            except (CheckpointError, WeightsError) as error:
                if player.checkpoint is not None:
                    self._store.quarantine(player.checkpoint)
                self._unplayable[name] = str(error)
                self._unplayed.append(SeriesResult.unplayed(series))
                return False
        return True

    def _learning_policy(self, update: WeightsUpdate) -> NetworkPolicy:
        if self._centre is not None and self._config.is_central(update.player):
            spec = self._config.network_spec(self._config.roster()[update.player], self._spec)
            self._centre.put(update.player, (update.generation, update.version), spec, update.weights)
            return CentralPolicy(update.player, self._centre)
        network = self._networks[update.player]
        network.load_state_dict({k: torch.tensor(v) for k, v in update.weights.items()})
        policy = NetworkPolicy(network, self._dtype)
        policy.input_size = getattr(network, "input_size", self._spec.observation_size)
        return policy

    def _forget(self, name: str) -> None:
        """What is known of a player is of another time."""
        self._versions.pop(name, None)
        self._loaded.pop(name, None)

    def _put_frozen(self, name: str, player: FrozenPlayer) -> None:
        policy = self._frozen_policy(name, player)
        self._loaded[name] = player
        if isinstance(policy, RemotePolicy):
            self._remote[name] = policy
        for collector in (self._training, self._evaluation):
            collector.put_policy(name, policy)

    def _memory_size(self, entry: PlayerConfig) -> int:
        return self._config.network_spec(entry, self._spec).memory_size

    def _new_network(self, name: str) -> nn.Module:
        return build(self._config.network_spec(self._config.roster()[name], self._spec), 0)

    def _frozen_policy(self, name: str, player: FrozenPlayer) -> Policy:
        is_network = player.checkpoint is not None and player.bot is None
        if self._centre is not None and is_network and self._config.is_central(name):
            assert player.checkpoint is not None  # noqa: S101  the same
            self._centre.hold(player.checkpoint)
            return CentralPolicy(player.checkpoint, self._centre)
        policy = load_policy(
            self._store,
            self._spec,
            bot=player.bot,
            checkpoint=player.checkpoint,
            seed=self._bot_seed,
            dtype=self._dtype,
        )
        if isinstance(policy, NetworkPolicy):
            policy.input_size = self._spec.observation_size
        return policy
