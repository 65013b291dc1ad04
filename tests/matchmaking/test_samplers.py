"""Each way to choose an opponent, by the numbers of where it comes from."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from matchmaking import samplers
from matchmaking.errors import MatchmakingError
from matchmaking.payoff import PayoffMatrix
from matchmaking.ratings.base import Rating
from matchmaking.records import Player
from matchmaking.roster import Context, Roster
from matchmaking.samplers import (
    Candidates,
    Fictitious,
    Fixed,
    Pfsp,
    Quality,
    RatingBand,
    SelfPlay,
    Uniform,
    Window,
)

PAST = tuple(f"main.0.v{i}" for i in range(1, 5))


def context(past: int = 4, **parts: Any) -> Context:
    players = [
        Player("main.0", "main", "learning"),
        Player("main.1", "main", "learning"),
        Player("random", "anchor", "frozen"),
        Player("x.v1", "historical", "frozen", "main_exploiter.0", "main_exploiter"),
        *(Player(name, "historical", "frozen", "main.0", "main") for name in PAST[:past]),
    ]
    return replace(Context("main.0", Roster(players), PayoffMatrix(), np.random.default_rng(0)), **parts)


def chances(found: Candidates) -> dict[str, float]:
    names, p = found
    return dict(zip(names, map(float, p), strict=True))


def rock_paper_scissors() -> PayoffMatrix:
    payoff = PayoffMatrix()
    payoff.record(PAST[0], PAST[1], 0, 0, 50)
    payoff.record(PAST[1], PAST[2], 0, 0, 50)
    payoff.record(PAST[2], PAST[0], 0, 0, 50)
    return payoff


@pytest.mark.parametrize(
    "sampler",
    [
        SelfPlay(),
        Uniform("everyone"),
        Uniform("learners"),
        Fictitious(),
        Window(),
        Quality(),
        Pfsp("mine", "variance"),
        RatingBand(),
        Fixed(("random",)),
        samplers.meta_nash("mine"),
        samplers.replicator("mine"),
        samplers.alpha_rank("mine"),
    ],
    ids=lambda s: type(s).__name__,
)
@pytest.mark.parametrize("past", [0, 1, 4])
def test_chances_are_a_probability_or_there_is_nobody(sampler: samplers.Sampler, past: int) -> None:
    names, p = sampler.candidates(context(past))
    assert len(names) == len(p)
    if names:
        assert sum(p) == pytest.approx(1.0)
        assert min(p) >= 0.0


def test_fictitious_meets_all_its_past_alike() -> None:
    assert chances(Fictitious().candidates(context())) == dict.fromkeys(PAST, 0.25)


def test_window_forgets_and_keeps_a_share_for_the_latest() -> None:
    assert chances(Window(size=2, latest_share=0.5).candidates(context())) == {
        PAST[2]: 0.25,
        PAST[3]: 0.25,
        "main.0": 0.5,
    }


def test_quality_is_80_percent_latest_and_20_percent_softmax() -> None:
    qualities = {PAST[0]: 0.0, PAST[1]: np.log(2), PAST[2]: 0.0, PAST[3]: 0.0}
    found = chances(Quality().candidates(context(qualities=qualities)))
    assert found["main.0"] == pytest.approx(0.8)
    assert found[PAST[1]] == pytest.approx(0.2 * 2 / 5)
    assert found[PAST[0]] == pytest.approx(0.2 / 5)


def test_a_beaten_past_self_loses_quality_by_openai_fives_rule() -> None:
    # N = 4, p = 1/4, η = 0.01: one win costs 0.01 / (4 · 1/4).
    after = Quality().after(PAST[0], 1, PAST, {})
    assert after == {PAST[0]: pytest.approx(-0.01), PAST[1]: 0.0, PAST[2]: 0.0, PAST[3]: 0.0}
    again = Quality().after(PAST[0], 3, PAST, after)
    p = np.exp(-0.01) / (3 + np.exp(-0.01))
    assert again[PAST[0]] == pytest.approx(-0.01 - 3 * 0.01 / (4 * p))
    assert Quality().after(PAST[0], 0, PAST, after) == after


def test_newcomers_start_with_the_highest_quality() -> None:
    q = Quality()
    known = {PAST[0]: -2.0, PAST[1]: -1.0}
    assert q.chances(PAST[:3], known)[2] == q.chances(PAST[:3], known)[1]


@given(st.lists(st.integers(0, 300), min_size=1, max_size=40))
def test_qualities_stay_usable_however_much_is_won(wins: list[int]) -> None:
    q, qualities = Quality(), {}
    for k, n in enumerate(wins):
        qualities = q.after(PAST[k % 4], n, PAST, qualities)
        assert q.chances(PAST, qualities).sum() == pytest.approx(1.0)


def test_rating_band_prefers_equals() -> None:
    ratings = {
        "main.0": Rating(30, 1),
        "main.1": Rating(30, 1),
        "random": Rating(10, 1),
        "x.v1": Rating(40, 1),
    }
    found = chances(RatingBand().candidates(context(0, ratings=ratings)))
    assert found["main.1"] > 3 * found["x.v1"] > 12 * found["random"]
    c2 = 2 * (25 / 6) ** 2 + 2
    assert found["x.v1"] / found["main.1"] == pytest.approx(np.exp(-100 / (2 * c2)))


def test_fixed_meets_the_named_that_are_there() -> None:
    assert chances(Fixed(("random", "gone")).candidates(context())) == {"random": 1.0}


@pytest.mark.parametrize("make", [samplers.meta_nash, samplers.replicator, samplers.alpha_rank])
def test_meta_strategies_mix_a_cycle_evenly_and_leave_the_beaten_out(make: Any) -> None:
    payoff = rock_paper_scissors()
    for winner in PAST[:3]:
        payoff.record(winner, PAST[3], 50, 0, 0)
    found = chances(make("mine").candidates(context(payoff=payoff)))
    for name in PAST[:3]:
        assert found[name] == pytest.approx(1 / 3, abs=0.02)
    assert found[PAST[3]] < 0.02


def test_a_meta_strategy_is_solved_anew_after_a_while_or_when_the_pool_changes() -> None:
    sampler = samplers.meta_nash("mine", refresh=3)
    payoff = PayoffMatrix()
    first = chances(sampler.candidates(context(2, payoff=payoff)))
    payoff.record(PAST[0], PAST[1], 90, 0, 10)
    assert chances(sampler.candidates(context(2, payoff=payoff))) == first
    assert len(chances(sampler.candidates(context(3, payoff=payoff)))) == 3
    sampler.candidates(context(2, payoff=payoff))
    assert chances(sampler.candidates(context(2, payoff=payoff)))[PAST[0]] > 0.95


@pytest.mark.parametrize(
    "wrong",
    [
        lambda: Uniform("nobody"),
        lambda: Pfsp("mine", "cubed"),
        lambda: Window(0),
        lambda: Window(3, 1.5),
        lambda: Quality(learning_rate=0.0),
        lambda: samplers.MetaStrategy("dice"),
        lambda: RatingBand("x"),
    ],
)
def test_impossible_samplers_are_refused_when_they_are_made(wrong: Any) -> None:
    with pytest.raises(MatchmakingError):
        wrong()
