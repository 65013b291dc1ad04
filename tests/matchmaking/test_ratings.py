"""Ratings against published numbers."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from matchmaking.errors import RatingError
from matchmaking.ratings.base import Rating, SeriesOutcome
from matchmaking.ratings.elo import Elo, expected_score
from matchmaking.ratings.trueskill import TrueSkill

WIN = SeriesOutcome(1, 0, 0)
DRAW = SeriesOutcome(0, 1, 0)


def test_elo_of_the_fide_example() -> None:
    # Wikipedia, "Elo rating system": 1613 against five opponents, K = 32, all rated at once: 1601.
    opponents, scores = [1609, 1477, 1388, 1586, 1720], [0.0, 0.5, 1.0, 1.0, 0.0]
    expected = sum(expected_score(1613, r) for r in opponents)
    assert 1613 + 32 * (sum(scores) - expected) == pytest.approx(1601, abs=0.5)
    by_system = sum(
        Elo(k=32).rate(Rating(1613), Rating(r), SeriesOutcome(int(s == 1), int(s == 0.5), int(s == 0)))[0].mu
        - 1613
        for r, s in zip(opponents, scores, strict=True)
    )
    assert 1613 + by_system == pytest.approx(1601, abs=0.5)


@given(st.floats(0, 3000), st.floats(0, 3000), st.integers(0, 20), st.integers(0, 20), st.integers(0, 20))
def test_elo_gives_one_what_it_takes_from_the_other(a: float, b: float, w: int, d: int, lost: int) -> None:
    first, second = Elo().rate(Rating(a), Rating(b), SeriesOutcome(w, d, lost))
    assert first.mu + second.mu == pytest.approx(a + b)
    assert first.games == second.games == w + d + lost


def test_trueskill_of_two_newcomers_after_a_win() -> None:
    # The trueskill package's and Microsoft's own example, draw probability 10%, no drift.
    system = TrueSkill(draw_probability=0.1, tau=0.0)
    winner, loser = system.rate(system.initial(), system.initial(), WIN, a_moves=False, b_moves=False)
    assert (winner.mu, winner.sigma) == (pytest.approx(29.396, abs=1e-3), pytest.approx(7.171, abs=1e-3))
    assert (loser.mu, loser.sigma) == (pytest.approx(20.604, abs=1e-3), pytest.approx(7.171, abs=1e-3))


def test_a_frozen_player_gets_surer_and_a_learning_one_can_move() -> None:
    system = TrueSkill(tau=1.0)
    sure = Rating(25.0, 0.5)
    frozen, learning = system.rate(sure, sure, DRAW, a_moves=False, b_moves=True)
    assert frozen.sigma < 0.5 < learning.sigma


def test_the_loser_of_a_series_loses_rating_whichever_side_it_is_on() -> None:
    system = TrueSkill()
    a, b = system.rate(system.initial(), system.initial(), SeriesOutcome(2, 0, 8))
    assert a.mu < 25 < b.mu
    c, d = system.rate(system.initial(), system.initial(), SeriesOutcome(8, 0, 2))
    assert (c.mu, d.mu) == (pytest.approx(b.mu, abs=0.6), pytest.approx(a.mu, abs=0.6))


def test_conservative_is_three_sigma_below() -> None:
    assert TrueSkill().conservative(Rating(30.0, 2.0)) == 24.0
    assert Elo().conservative(Rating(1200.0)) == 1200.0


def test_games_of_a_series_are_mixed_evenly() -> None:
    assert SeriesOutcome(2, 1, 2).spread_out() == [0.0, 1.0, 0.5, 0.0, 1.0]
    assert SeriesOutcome(3, 0, 0).spread_out() == [1.0, 1.0, 1.0]


def test_an_impossible_draw_probability_is_refused() -> None:
    with pytest.raises(RatingError, match=r"\[0, 1\), not 1"):
        TrueSkill(draw_probability=1.0)
