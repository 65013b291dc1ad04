"""The manager carries the rules out, driven by a plain loop."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from dataclasses import replace

import pytest

from agents.acting.seating import Series, SeriesResult
from league.config.run import RunConfig
from league.pool.manager import LeagueManager
from league.pool.orders import LearnerProgress, SnapshotOrder, TakeoverOrder
from league.pool.records import Changes, RunRecord, Snapshot
from matchmaking.errors import DuplicateResultError, ResultError
from matchmaking.ratings.trueskill import TrueSkill

Make = Callable[..., RunConfig]
RUN = RunRecord("r", "n", "g", 0, {}, "running", "running", 0, 0, None, 0, 0, 0, 0, None, None, 1)


def founded(config: RunConfig) -> LeagueManager:
    manager = LeagueManager(config, Snapshot(RUN, [], [], {}))
    names = list(config.roster())
    manager.create({n: f"initial-{n}" for n in names}, {n: f"state-{n}" for n in names})
    return manager


def result(series: Series, wins: int, draws: int, losses: int) -> SeriesResult:
    return SeriesResult.of_two(series, [[wins, draws, losses], [0, 0, 0]], float(wins - losses), 40)


def pending(manager: LeagueManager, **totals: float) -> Changes:
    changes = manager.changes(play_seconds=1.0, moves=1, games=1, history=True, metrics=None)
    manager.written(changes)
    return changes


def lease(manager: LeagueManager, first: str, second: str, purpose: str = "training") -> Series:
    return manager.matchmaker.lease((first, second), (True, False), 16, purpose, "test", (0, 1))


def progress(manager: LeagueManager, player: str, steps: int) -> list[str]:
    generation = manager.players[player].generation
    orders = manager.learners_progressed([LearnerProgress(player, generation, steps, f"state-{steps}")])
    for order in orders:
        assert isinstance(order, SnapshotOrder)
        manager.snapshot_taken(order, f"sha-{order.snapshot}", manager.players[order.player].steps, "after")
    return [o.snapshot for o in orders if isinstance(o, SnapshotOrder)]


def test_a_league_begins_with_its_roster_and_anchors(small_config: Make) -> None:
    manager = founded(small_config())
    assert [(p.name, p.role, p.state) for p in manager.players.values()] == [
        ("main.0", "main", "learning"),
        ("main_exploiter.0", "main_exploiter", "learning"),
        ("random", "anchor", "frozen"),
        ("mcts:2", "anchor", "frozen"),
    ]
    written = pending(manager)
    assert len(written.players) == 4
    assert written.events[0].kind == "run_started"
    assert set(written.ratings) == {"trueskill", "elo", "openskill"}


def test_learners_are_served_by_their_shares(small_config: Make) -> None:
    manager = founded(small_config())
    steps: Counter[str] = Counter()
    for _ in range(200):
        for series in manager.matchmaker.next_training_series(160):
            steps[series.players[0]] += series.episodes * (2 if series.learners[1] else 1)
    assert steps["main.0"] / steps["main_exploiter.0"] == pytest.approx(2.0, rel=0.02)


def test_self_play_is_learnt_from_both_seats_and_other_games_from_one(small_config: Make) -> None:
    manager = founded(small_config())
    for series in manager.matchmaker.next_training_series(1600):
        assert series.learners == (True, series.players[0] == series.players[1])


def test_payoffs_come_from_all_games_and_ratings_from_evaluation(small_config: Make) -> None:
    manager = founded(small_config())
    before = manager.rating("main.0")
    manager.record([result(lease(manager, "main_exploiter.0", "main.0"), 10, 0, 6)])
    assert manager.payoff.win_rate("main_exploiter.0", "main.0") == pytest.approx(10 / 16, abs=0.01)
    assert manager.rating("main.0") == before
    manager.record([result(lease(manager, "main.0", "random", "evaluation"), 16, 0, 0)])
    assert manager.rating("main.0").mu > before.mu
    assert manager.rating("main.0", "elo").mu > 1000 > manager.rating("random", "elo").mu


def test_a_series_reported_twice_counts_once(small_config: Make) -> None:
    manager = founded(small_config())
    outcome = result(lease(manager, "main.0", "random", "evaluation"), 8, 0, 8)
    with pytest.raises(DuplicateResultError, match="series 0 has been reported before"):
        manager.record([outcome, outcome])
    assert manager.payoff.games("main.0", "random") == 0  # none of a refused report is taken in
    manager.record([outcome])
    assert manager.matchmaker.is_recorded(outcome)
    with pytest.raises(DuplicateResultError, match="series 0 has been reported before"):
        manager.record([outcome])
    assert manager.payoff.games("main.0", "random") == 16
    assert len(pending(manager).series) == 1


def test_results_of_games_that_were_not_drawn_are_refused(small_config: Make) -> None:
    manager = founded(small_config())
    series = lease(manager, "main.0", "random", "evaluation")
    before = manager.rating("main.0")
    good = result(series, 8, 0, 8)
    other = replace(series, players=("main.0", "main_exploiter.0"))
    nan = SeriesResult.of_two(series, good.counts[0], float("nan"), 40)
    for wrong, complaint in (
        (result(replace(series, number=99), 8, 0, 8), "99 was never drawn"),
        (result(other, 8, 0, 8), "is of main.0 and random, a result came for main.0 and main_exploiter.0"),
        (result(series, 17, 0, -1), "six numbers from 0"),
        (nan, r"margin \[nan\] or score \[\] is not a finite number"),
    ):
        with pytest.raises(ResultError, match=complaint):
            manager.record([wrong])
    assert manager.rating("main.0") == before
    assert list(manager.payoff.pairs()) == []
    manager.record([good])
    assert manager.payoff.games("main.0", "random") == 16


def test_a_verification_is_told_once_a_snapshot(small_config: Make) -> None:
    manager = founded(small_config())
    pending(manager)
    for _ in range(3):
        manager.matchmaker.lease(
            ("main.0", "random"), (True, False), 16, "training", "verify_forgotten", (0, 1)
        )
    events = pending(manager).events
    assert [(e.kind, e.player, e.data["branch"]) for e in events] == [
        ("verification", "main.0", "verify_forgotten")
    ]


POPULATION = {
    "role": "main",
    "count": 3,
    "opponents": [{"sampler": "rating_band", "pool": "learners"}],
    "population": {"min_steps": 1000, "perturb_probability": 1.0},
}


def test_who_falls_behind_goes_on_as_a_copy_of_a_better_one(small_config: Make) -> None:
    manager = founded(small_config(players=[POPULATION]))
    factors = {p.name: p.hyperparameters for p in manager.learners}
    assert all(0.5 <= f <= 2.0 for h in factors.values() for f in h.values())
    assert len({h["entropy"] for h in factors.values()}) == 3
    for _ in range(20):
        for better in ("main.1", "main.2"):
            manager.record([result(lease(manager, "main.0", better, "evaluation"), 1, 0, 15)])
    names = ["main.0", "main.1", "main.2"]
    early = [LearnerProgress(n, 0, 900, f"state-{n}") for n in names]
    assert manager.learners_progressed(early) == []
    (order,) = manager.learners_progressed([LearnerProgress(n, 0, 1000, f"state-{n}") for n in names])
    assert isinstance(order, TakeoverOrder)
    assert (order.player, order.state, order.next_generation) == ("main.0", f"state-{order.source}", 1)
    steps = [order.hyperparameters[k] / factors[order.source][k] for k in ("learning_rate", "entropy")]
    assert sorted({round(max(s, 1 / s), 6) for s in steps}) == [1.2]
    pending(manager)
    manager.taken_over(order, 1000, "copied")
    copy = manager.players["main.0"]
    assert (copy.generation, copy.learner_state, copy.steps) == (1, "copied", 1000)
    assert manager.rating("main.0").mu == manager.rating(order.source).mu
    assert manager.payoff.games("main.0", "main.1") == 0
    assert [e.kind for e in pending(manager).events] == ["inherited"]
    assert manager.learners_progressed([LearnerProgress("main.0", 1, 1500, "s")]) == []


def test_a_takeover_whose_source_is_gone_changes_nothing(small_config: Make) -> None:
    manager = founded(small_config(players=[POPULATION]))
    for _ in range(20):
        manager.record([result(lease(manager, "main.0", "main.1", "evaluation"), 0, 0, 16)])
        manager.record([result(lease(manager, "main.0", "main.2", "evaluation"), 0, 0, 16)])
    (order,) = manager.learners_progressed([LearnerProgress("main.0", 0, 1000, "state")])
    assert isinstance(order, TakeoverOrder)
    manager.taken_over(order, 1000, None)
    assert manager.players["main.0"].generation == 0
    (again,) = manager.learners_progressed([LearnerProgress("main.0", 0, 1000, "state")])
    assert isinstance(again, TakeoverOrder)


def test_a_survey_ranks_the_whole_pool(small_config: Make) -> None:
    manager = founded(small_config())
    for _ in range(4):  # each player needs its thirty games to be placed
        manager.record([result(lease(manager, "main.0", "random", "evaluation"), 14, 0, 2)])
        manager.record([result(lease(manager, "main_exploiter.0", "random", "evaluation"), 10, 0, 6)])
    pending(manager)
    manager.survey()
    assert manager.rating("random", "bradley_terry").mu == 0.0
    assert (
        manager.rating("main.0", "bradley_terry").mu
        > manager.rating("main_exploiter.0", "bradley_terry").mu
        > 0
    )
    assert sum(manager.rating(p, "nash").mu for p in manager.players) == pytest.approx(1.0)
    written = pending(manager)
    assert set(written.history) >= {"bradley_terry", "nash", "alpha_rank"}


def test_main_is_copied_and_goes_on(small_config: Make) -> None:
    manager = founded(small_config())
    assert progress(manager, "main.0", 15_999) == []
    assert progress(manager, "main.0", 16_000) == ["main.0.v1"]
    copy, main = manager.players["main.0.v1"], manager.players["main.0"]
    assert (copy.role, copy.state, copy.parent, copy.checkpoint) == (
        "historical",
        "frozen",
        "main.0",
        "sha-main.0.v1",
    )
    assert (main.state, main.generation, main.snapshot_steps) == ("learning", 0, 16_000)
    assert progress(manager, "main.0", 20_000) == []  # has not beaten its copy yet
    manager.record([result(lease(manager, "main.0", "main.0.v1"), 14, 0, 2)])
    assert progress(manager, "main.0", 20_001) == ["main.0.v2"]


def test_main_exploiter_resets_after_beating_every_main(small_config: Make) -> None:
    manager = founded(small_config())
    manager.record([result(lease(manager, "main_exploiter.0", "main.0"), 14, 0, 2)])
    manager.record([result(lease(manager, "main_exploiter.0", "random", "evaluation"), 16, 0, 0)])
    in_flight = lease(manager, "main_exploiter.0", "main.0")
    pending(manager)
    assert progress(manager, "main_exploiter.0", 4_000) == ["main_exploiter.0.v1"]
    exploiter = manager.players["main_exploiter.0"]
    assert (exploiter.generation, exploiter.snapshot_steps) == (1, 4_000)
    assert manager.payoff.games("main_exploiter.0", "main.0") == 0
    assert manager.rating("main_exploiter.0") == TrueSkill().initial()
    written = pending(manager)
    assert [e.kind for e in written.events] == ["snapshot", "reset"]
    assert ("main.0", "main_exploiter.0") in written.cleared_pairs
    # What the old generation still had in flight is kept in the record and moves nothing.
    manager.record([result(in_flight, 16, 0, 0)])
    assert manager.payoff.games("main_exploiter.0", "main.0") == 0
    assert len(pending(manager).series) == 1


def test_a_copy_starts_with_its_parents_rating_and_less_certainty(small_config: Make) -> None:
    manager = founded(small_config())
    for _ in range(30):
        manager.record([result(lease(manager, "main.0", "random", "evaluation"), 12, 0, 4)])
    progress(manager, "main.0", 16_000)
    parent, copy = manager.rating("main.0"), manager.rating("main.0.v1")
    assert copy.mu == parent.mu
    assert copy.sigma > parent.sigma
    assert copy.games == 0


def test_changes_are_handed_out_until_they_are_written(small_config: Make) -> None:
    manager = founded(small_config())
    kept = manager.changes(play_seconds=1, moves=1, games=1, history=False, metrics=None)
    again = manager.changes(play_seconds=1, moves=1, games=1, history=False, metrics=None)
    assert len(kept.players) == len(again.players) == 4
    manager.written(again)
    empty = manager.changes(play_seconds=1, moves=1, games=1, history=False, metrics=None)
    assert (empty.players, empty.events, empty.ratings) == ([], [], {})


def test_evaluation_pairs_people_who_exist(small_config: Make) -> None:
    manager = founded(small_config())
    drawn = manager.matchmaker.next_evaluation_series(400)
    assert sum(s.episodes for s in drawn) >= 400
    assert all(s.purpose == "evaluation" and s.learners == (False, False) for s in drawn)
    assert {p for s in drawn for p in s.players} == set(manager.players)


def test_a_role_of_samplers_keeps_qualities_and_forgets_them_with_a_reset(small_config: Make) -> None:
    entry = {
        "role": "main",
        "opponents": [{"sampler": "quality", "learning_rate": 0.05}],
        "snapshot": {"min_steps": 100, "max_steps": 100},
    }
    manager = founded(small_config(players=[entry]))
    assert progress(manager, "main.0", 100) == ["main.0.v1"]
    assert progress(manager, "main.0", 200) == ["main.0.v2"]
    manager.record([result(lease(manager, "main.0", "main.0.v1"), 6, 0, 10)])
    # N = 2, p = 1/2, η = 0.05: six wins.
    assert manager.players["main.0"].qualities == {"main.0.v1": pytest.approx(-0.3), "main.0.v2": 0.0}
    met = Counter(s.players[1] for s in manager.matchmaker.next_training_series(160_000))
    assert met["main.0.v1"] < met["main.0.v2"] < met["main.0"]
    resetting = founded(small_config(players=[entry | {"reset_probability": 1.0}]))
    progress(resetting, "main.0", 100)
    resetting.record([result(lease(resetting, "main.0", "main.0.v1"), 6, 0, 10)])
    assert resetting.players["main.0"].qualities
    progress(resetting, "main.0", 200)
    assert resetting.players["main.0"].qualities == {}
