"""Rating games go where they tell most."""

from __future__ import annotations

from collections import Counter

import numpy as np

from matchmaking.evaluation import EvaluationRule, RatedPlayer, RatedPool
from matchmaking.payoff import PayoffMatrix

MAIN = RatedPlayer("main", 35, 1, True, False)
NEAR = RatedPlayer("near", 33, 1, False, False)
FAR = RatedPlayer("far", 5, 1, False, False)
UNSURE = RatedPlayer("unsure", 30, 8, False, False)
BOT = RatedPlayer("bot", 20, 1, False, True)


def pairs(players: list[RatedPlayer], n: int = 5000) -> Counter[tuple[str, str]]:
    rng, pool = np.random.default_rng(0), RatedPool(players)
    return Counter(
        p for _ in range(n) if (p := EvaluationRule().choose(pool, PayoffMatrix(), rng)) is not None
    )


def test_a_third_of_a_learners_games_is_against_anchors_and_of_the_others_if_they_are_near() -> None:
    counts = pairs([MAIN, NEAR, BOT])
    started = sum(n for (subject, _), n in counts.items() if subject == "main")
    assert 0.33 < counts["main", "bot"] / started < 0.5
    frozen = sum(n for (subject, _), n in counts.items() if subject == "near")
    assert counts["near", "bot"] / frozen < 0.25


def test_near_opponents_come_first_but_nobody_is_left_out() -> None:
    counts = pairs([MAIN, NEAR, FAR])
    assert counts["main", "near"] > 5 * counts["main", "far"] > 0


def test_the_unsure_are_met_more_than_the_sure() -> None:
    counts = pairs([NEAR, UNSURE, FAR])
    started = Counter[str]()
    for (subject, _), n in counts.items():
        started[subject] += n
    assert started["unsure"] > 5 * started["near"]


def test_nobody_plays_alone_or_itself() -> None:
    assert EvaluationRule().choose(RatedPool([MAIN]), PayoffMatrix(), np.random.default_rng(0)) is None
    assert all(a != b for a, b in pairs([MAIN, NEAR, BOT]))


def test_a_share_goes_to_pairs_that_have_hardly_met() -> None:
    payoff, rule, rng = PayoffMatrix(), EvaluationRule(coverage_share=1.0), np.random.default_rng(0)
    players = [MAIN, NEAR, FAR, UNSURE, BOT]
    pool = RatedPool(players)
    for _ in range(40):
        pair = rule.choose(pool, payoff, rng)
        assert pair is not None
        payoff.record(*pair, 1, 0, 1)
    met = [payoff.games(a.name, b.name) for a in players for b in players if a.name < b.name]
    assert min(met) >= 4


def test_in_a_large_pool_equals_meet_and_everybody_is_rated() -> None:
    rng = np.random.default_rng(0)
    pool = RatedPool(RatedPlayer(f"p{k}", 0.05 * k, 2.0, False, False) for k in range(1000))
    rule, payoff = EvaluationRule(coverage_share=0.0), PayoffMatrix()
    drawn = [rule.choose(pool, payoff, rng) for _ in range(20_000)]
    gaps = [0.05 * abs(int(a[1:]) - int(b[1:])) for a, b in filter(None, drawn)]
    assert np.mean(gaps) < rule.spread
    assert len({name for pair in drawn if pair for name in pair}) == 1000


def test_a_rating_that_moved_is_found_at_its_new_place() -> None:
    pool = RatedPool([MAIN, NEAR, FAR])
    pool.refresh()
    pool.put(RatedPlayer("far", 36, 1, False, False))
    pool.remove("near")
    pool.refresh()
    assert [pool.name(k) for k in range(len(pool))] == ["main", "far"]
