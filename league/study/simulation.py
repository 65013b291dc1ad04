"""A league without games: the league manager driven by players of known strength.

What match-making costs, how far ratings are from the truth, whom the rules leave out: answered in a minute,
for pools larger than anybody trains. No Ray, no networks, no database; the manager, its rules and its ratings
are the ones that real runs use.
"""

from __future__ import annotations

import resource
import time
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field

import numpy as np
import numpy.typing as npt
from scipy.stats import kendalltau

from agents.acting.seating import Series, SeriesResult
from league.config.run import RunConfig
from league.pool.manager import LeagueManager
from league.pool.orders import LearnerProgress, SnapshotOrder
from league.pool.records import PlayerRecord, RunRecord, Snapshot
from matchmaking import meta_game
from matchmaking.ordering import best_first
from matchmaking.rankings import rank

ELO_PER_NAT = 400.0 / np.log(10.0)
SERIES_PER_EXCHANGE = 512
# A learner's decisions in an episode, as in Connect Four.
STEPS_PER_EPISODE = 18
CYCLE_SCORE = 0.85
FINALISTS = 24
NOBODY = RunRecord("", "", "", 0, {}, "running", "running", 0, 0, None, 0, 0, 0, 0, None, None, 0)


@dataclass(frozen=True)
class Simulation:
    """What came of it.

    Attributes:
      players, series, snapshots, resets: counted at the end.
      decisions_per_second: matches drawn, rules only. records_per_second: results taken in, ratings included.
      longest_exchange: seconds, the longest that a worker would have waited for its answer.
      peak_memory: bytes, of the whole process.
      rated_games: a frozen player, the median.
      kendall_tau: rank correlation of the frozen players with the truth, by rating system, in [−1, 1].
      error: root mean square of Bradley-Terry against the truth, in Elo points, both about their means.
      met: share of all pairs that have met. never_met: players nobody has met.
      branches: training series by branch.
      planted: the cycle that was planted. cycles: those found among the best, clearest first.
    """

    players: int
    series: int
    snapshots: int
    resets: int
    decisions_per_second: float
    records_per_second: float
    longest_exchange: float
    peak_memory: int
    rated_games: float
    kendall_tau: dict[str, float]
    error: float
    met: float
    never_met: int
    branches: dict[str, int]
    planted: tuple[str, ...]
    cycles: tuple[tuple[str, str, str], ...]


class Truth:
    """Every player's strength in Elo points, and three that beat each other in a circle."""

    def __init__(self, spread: float, rng: np.random.Generator) -> None:
        """Args: spread: standard deviation of the strengths of the first players."""
        self.spread = spread
        self.strength: dict[str, float] = {}
        self.ceiling = 0.0
        self.cycle: tuple[str, ...] = ()
        self._rng = rng

    def plant_cycle(self) -> None:
        """Sets the three strongest above the others, each beating the next and the last the first."""
        best = best_first(self.strength, lambda name: self.strength[name])[:3]
        self.ceiling = self.strength[best[0]]
        for name in best:
            self.strength[name] = self.ceiling + 0.25 * self.spread
        self.cycle = tuple(best)

    def play(self, series: list[Series]) -> list[SeriesResult]:
        """Plays series, half of the episodes from either seat."""
        gaps = np.array([self.strength[s.players[0]] - self.strength[s.players[1]] for s in series])
        chance = 1.0 / (1.0 + np.exp(-gaps / ELO_PER_NAT))
        for k, s in enumerate(series):
            if s.players[0] in self.cycle and s.players[1] in self.cycle and s.players[0] != s.players[1]:
                step = (self.cycle.index(s.players[1]) - self.cycle.index(s.players[0])) % 3
                chance[k] = CYCLE_SCORE if step == 1 else 1.0 - CYCLE_SCORE
        halves = np.array([(s.episodes - s.episodes // 2, s.episodes // 2) for s in series])
        wins = self._rng.binomial(halves, chance[:, None])
        counts = np.stack([wins, np.zeros_like(wins), halves - wins], axis=2)
        margins = (wins.sum(axis=1) - (halves - wins).sum(axis=1)).tolist()
        return [
            SeriesResult.of_two(s, counts[k], float(margins[k]), 2 * STEPS_PER_EPISODE * s.episodes)
            for k, s in enumerate(series)
        ]


def simulate(
    config: RunConfig,
    *,
    players: int = 10_000,
    series: int = 1_000_000,
    rating_games: float = 200.0,
    spread: float = 400.0,
    seed: int = 0,
    on_progress: Callable[[float], None] = lambda _: None,
) -> Simulation:
    """Runs a league of synthetic players.

    Args:
      config: whose roster, rules and ratings are used.
      players: in the pool from the start; snapshots come on top.
      series: to be drawn in all.
      rating_games: so many rated games a frozen player, on average.
      spread: standard deviation of the players' strengths, in Elo points.
      on_progress: told the share that is done.
    """
    rng = np.random.default_rng(seed)
    truth = Truth(spread, rng)
    manager = _founded(config, players, truth)
    progress = {name: LearnerProgress(name, 0, 0, "") for name in config.roster()}
    tally = Tally()
    while tally.series < series:
        missing = rating_games * len(manager.players) - tally.rated_games
        exchanges = max(1.0, (series - tally.series) / SERIES_PER_EXCHANGE)
        rated = min(SERIES_PER_EXCHANGE, int(missing / tally.frozen_games_a_series(config) / exchanges))
        begin = time.perf_counter()
        training = manager.matchmaker.next_training_series(
            max(1, SERIES_PER_EXCHANGE - rated) * config.rollout.episodes_per_series
        )
        evaluation = manager.matchmaker.next_evaluation_series(rated * config.evaluation.episodes)
        drawn = time.perf_counter()
        results = truth.play(training + evaluation)
        played = time.perf_counter()
        manager.record(results)
        for s in training:
            progress[s.players[0]] = _further(progress[s.players[0]], s, manager)
        for order in manager.learners_progressed(list(progress.values())):
            if isinstance(order, SnapshotOrder):
                _snapshot(manager, order, truth, rng)
                tally.snapshots += 1
                tally.resets += order.resets
        manager.written(manager.changes(play_seconds=0.0, moves=0, games=0, history=True, metrics=None))
        tally.add(training, evaluation, manager, drawn - begin, time.perf_counter() - played)
        on_progress(min(1.0, tally.series / series))
    return _summary(manager, truth, tally)


@dataclass
class Tally:
    """What has been counted so far; times in seconds."""

    series: int = 0
    rating_series: int = 0
    rated_games: int = 0
    snapshots: int = 0
    resets: int = 0
    drawing: float = 0.0
    recording: float = 0.0
    longest: float = 0.0
    branches: Counter[str] = field(default_factory=Counter)

    def add(
        self,
        training: list[Series],
        evaluation: list[Series],
        manager: LeagueManager,
        draw: float,
        rec: float,
    ) -> None:
        self.series += len(training) + len(evaluation)
        self.rating_series += len(evaluation)
        frozen = sum(manager.players[p].state == "frozen" for s in evaluation for p in s.players)
        self.rated_games += frozen * manager.config.evaluation.episodes
        self.drawing += draw
        self.recording += rec
        self.longest = max(self.longest, draw + rec)
        self.branches.update(s.branch for s in training)

    def frozen_games_a_series(self, config: RunConfig) -> float:
        """Returns how many games of frozen players a rating series has brought, two a game at most."""
        if self.rated_games == 0:
            return 2.0 * config.evaluation.episodes
        return self.rated_games / self.rating_series


def _founded(config: RunConfig, players: int, truth: Truth) -> LeagueManager:
    """A league in which the learners have left a pool behind, each snapshot stronger than most before it."""
    learners = list(config.roster())
    pool = max(0, players - len(learners) - len(config.anchors))
    roles = {name: entry.role for name, entry in config.roster().items()}
    rng = np.random.default_rng(config.seed)
    historicals = [
        PlayerRecord(
            f"{parent}.v{k // len(learners) + 1}",
            "historical",
            "frozen",
            parent=parent,
            parent_role=roles[parent],
            checkpoint="",
        )
        for k in range(pool)
        for parent in (learners[k % len(learners)],)
    ]
    manager = LeagueManager(config, Snapshot(NOBODY, [], [], {}))
    manager.create(dict.fromkeys(learners, ""), dict.fromkeys(learners, ""))
    for player in historicals:
        manager.adopt(player)
    strengths = np.sort(rng.normal(0.0, truth.spread, pool)) + rng.normal(0.0, 0.3 * truth.spread, pool)
    truth.strength = {p.name: float(s) for p, s in zip(historicals, strengths, strict=True)}
    truth.plant_cycle()
    for k, anchor in enumerate(config.anchors):
        truth.strength[anchor] = truth.spread * (-2.0 + k)
    for name in learners:
        truth.strength[name] = float(strengths[-1]) if pool else 0.0
    return manager


def _further(progress: LearnerProgress, series: Series, manager: LeagueManager) -> LearnerProgress:
    player = manager.players[progress.player]
    seats = 2 if series.learners[1] else 1
    steps = progress.steps + seats * STEPS_PER_EPISODE * series.episodes
    return LearnerProgress(player.name, player.generation, steps, "")


def _snapshot(manager: LeagueManager, order: SnapshotOrder, truth: Truth, rng: np.random.Generator) -> None:
    """The copy is as strong as its parent; the parent goes on a little stronger, or starts over."""
    strength = truth.strength[order.snapshot] = truth.strength[order.player]
    gain = rng.normal(0.02, 0.05) * truth.spread
    truth.strength[order.player] = 0.0 if order.resets else min(strength + gain, truth.ceiling)
    manager.snapshot_taken(order, "", manager.players[order.player].steps, "")


def _summary(manager: LeagueManager, truth: Truth, tally: Tally) -> Simulation:
    manager.survey()
    frozen = [p.name for p in manager.players.values() if p.state == "frozen" and p.name not in truth.cycle]
    actual = np.array([truth.strength[name] for name in frozen])
    ratings: dict[str, npt.NDArray[np.float64]] = {
        system: np.array([manager.rating(name, system).mu for name in frozen])
        for system in ("trueskill", "openskill", "elo", "bradley_terry")
    }
    fitted = ratings["bradley_terry"]
    wrong = (fitted - fitted.mean()) - (actual - actual.mean())
    games = [manager.rating(name).games for name in frozen]
    pairs = sum(1 for _ in manager.payoff.pairs())
    n = len(manager.players)
    return Simulation(
        players=n,
        series=tally.series,
        snapshots=tally.snapshots,
        resets=tally.resets,
        decisions_per_second=tally.series / tally.drawing,
        records_per_second=tally.series / tally.recording,
        longest_exchange=tally.longest,
        peak_memory=resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024,
        rated_games=float(np.median(games)),
        kendall_tau={s: float(kendalltau(actual, r).statistic) for s, r in ratings.items()},
        error=float(np.sqrt(np.mean(wrong**2))),
        met=pairs / (n * (n - 1) / 2.0),
        never_met=sum(g == 0 for g in games),
        branches=dict(tally.branches.most_common()),
        planted=truth.cycle,
        cycles=_cycles_among_the_best(manager, truth),
    )


def _cycles_among_the_best(manager: LeagueManager, truth: Truth) -> tuple[tuple[str, str, str], ...]:
    """The best play each other, and whoever beats each other in a circle is named."""
    best = best_first(manager.players, lambda name: manager.rating(name, "bradley_terry").mu)[:FINALISTS]
    manager.record(truth.play(manager.matchmaker.series_among(best, 64)))
    ranked = rank(manager.payoff, best)
    names = ranked.names
    return tuple(
        (names[a], names[b], names[c]) for a, b, c in meta_game.cycles(ranked.table, margin=0.3, limit=3)
    )
