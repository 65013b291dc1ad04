"""Ratings against published numbers."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from matchmaking.errors import RatingError
from matchmaking.ratings.base import Rating, RatingSystem, SeriesOutcome
from matchmaking.ratings.bradley_terry import PairScore, fit
from matchmaking.ratings.calibration import RatedSeries, replay
from matchmaking.ratings.elo import Elo, expected_score
from matchmaking.ratings.openskill import OpenSkill
from matchmaking.ratings.trueskill import TrueSkill

WIN = SeriesOutcome(1, 0, 0)
DRAW = SeriesOutcome(0, 1, 0)
LOSS = SeriesOutcome(0, 0, 1)


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


@given(
    st.floats(0, 50),
    st.floats(0.1, 8.3),
    st.floats(0, 50),
    st.floats(0.1, 8.3),
    st.sampled_from([WIN, DRAW, LOSS]),
)
def test_the_closed_form_is_the_packages_answer(
    mu_a: float, sigma_a: float, mu_b: float, sigma_b: float, outcome: SeriesOutcome
) -> None:
    system = TrueSkill(draw_probability=0.1)
    a, b = Rating(mu_a, sigma_a), Rating(mu_b, sigma_b)
    ours = system.rate(a, b, outcome, a_moves=False, b_moves=False)
    ((theirs_a,), (theirs_b,)) = system.rate_teams([[a], [b]], ranks=[outcome.losses, outcome.wins])
    for mine, theirs in zip(ours, (theirs_a, theirs_b), strict=True):
        assert mine.mu == pytest.approx(theirs.mu, abs=2e-2)
        assert mine.sigma == pytest.approx(theirs.sigma, abs=2e-2)


def test_impossible_upsets_leave_finite_ratings() -> None:
    system = TrueSkill()
    for outcome in (WIN, DRAW):
        for rating in system.rate(Rating(-500, 0.5), Rating(500, 0.5), outcome):
            assert np.isfinite([rating.mu, rating.sigma]).all()
            assert rating.sigma > 0


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


SYSTEMS: list[RatingSystem] = [Elo(), TrueSkill(), OpenSkill()]


@pytest.mark.parametrize("system", SYSTEMS, ids=lambda s: s.name)
def test_places_order_a_free_for_all(system: RatingSystem) -> None:
    teams = [[system.initial()] for _ in range(4)]
    rated = system.rate_teams(teams, ranks=[3, 1, 2, 2])
    last, first, *middle = (team[0].mu for team in rated)
    assert last < min(middle)
    assert max(middle) < first
    assert middle[0] == pytest.approx(middle[1], abs=1e-2)
    assert all(team[0].games == 1 for team in rated)


@pytest.mark.parametrize("system", SYSTEMS, ids=lambda s: s.name)
def test_a_team_wins_together(system: RatingSystem) -> None:
    new = system.initial()
    (a, b), (c, d) = system.rate_teams([[new, new], [new, new]], ranks=[0, 1])
    assert a.mu == pytest.approx(b.mu)
    assert c.mu == pytest.approx(d.mu)
    assert a.mu > new.mu > c.mu


@pytest.mark.parametrize("system", SYSTEMS, ids=lambda s: s.name)
def test_equals_are_even_and_the_stronger_is_favoured(system: RatingSystem) -> None:
    new = system.initial()
    assert system.win_probability(new, new) == pytest.approx(0.5)
    better, worse = system.rate(new, new, SeriesOutcome(20, 0, 2), a_moves=False, b_moves=False)
    assert system.win_probability(better, worse) > 0.6
    assert system.win_probability(better, worse) + system.win_probability(worse, better) == pytest.approx(1.0)


@pytest.mark.parametrize("system", SYSTEMS, ids=lambda s: s.name)
def test_a_game_needs_two_sides(system: RatingSystem) -> None:
    new = system.initial()
    for teams, ranks in (([[new]], [0]), ([[new], []], [0, 1]), ([[new], [new]], [0])):
        with pytest.raises(RatingError, match="two teams or more and a rank for each"):
            system.rate_teams(teams, ranks)


def test_elo_of_a_team_game_is_the_same_as_of_two_players() -> None:
    (a,), (b,) = Elo(k=32).rate_teams([[Rating(1200)], [Rating(1000)]], ranks=[1, 0])
    one, two = Elo(k=32).rate(Rating(1200), Rating(1000), SeriesOutcome(0, 0, 1))
    assert (a.mu, b.mu) == (pytest.approx(one.mu), pytest.approx(two.mu))


def test_bradley_terry_of_two_is_the_log_odds() -> None:
    # 75% of 400 games: 400·log10(3) = 190.8 Elo; σ = 1/√(n p q) nats.
    ratings = fit([PairScore("a", "b", 300, 400)], prior_games=1e-9)
    difference = ratings["a"].rating - ratings["b"].rating
    assert difference == pytest.approx(400 * np.log10(3), abs=0.1)
    anchored = fit([PairScore("a", "b", 300, 400)], anchor=("b", 1500), prior_games=1e-9)
    assert anchored["b"].rating == 1500
    assert anchored["b"].standard_error == 0
    assert anchored["a"].rating == pytest.approx(1690.8, abs=0.1)
    assert anchored["a"].standard_error == pytest.approx(400 / np.log(10) / np.sqrt(400 * 0.1875), rel=1e-3)


@given(st.integers(0, 10_000))
def test_bradley_terry_does_not_care_about_order_or_side(seed: int) -> None:
    rng = np.random.default_rng(seed)
    pairs = [
        PairScore(f"p{i}", f"p{j}", float(rng.integers(0, 11)), 10.0) for i in range(5) for j in range(i)
    ]
    shuffled = [pairs[k] for k in rng.permutation(len(pairs))]
    turned = [PairScore(p.second, p.first, p.games - p.score, p.games) for p in shuffled]
    one, two = fit(pairs), fit(turned)
    for name, fitted in one.items():
        assert two[name].rating == pytest.approx(fitted.rating, abs=1e-6)


def test_bradley_terry_keeps_the_unbeaten_finite_and_says_what_is_impossible() -> None:
    ratings = fit([PairScore("a", "b", 50, 50)], anchor=("b", 0))
    assert 300 < ratings["a"].rating < 3000
    low, high = ratings["a"].interval
    assert low < ratings["a"].rating < high
    assert fit([]) == {}
    with pytest.raises(RatingError, match="anchor 'x' has not played"):
        fit([PairScore("a", "b", 1, 2)], anchor=("x", 0))
    with pytest.raises(RatingError, match="a score of 3 in 2 games"):
        fit([PairScore("a", "b", 3, 2)])


def test_a_system_that_rates_predicts_better_than_one_that_does_not() -> None:
    rng = np.random.default_rng(0)
    strength = {f"p{i}": 300.0 * i for i in range(5)}
    history = []
    for _ in range(400):
        a, b = rng.choice(list(strength), 2, replace=False)
        wins = int(rng.binomial(10, expected_score(strength[a], strength[b])))
        history.append(RatedSeries(str(a), str(b), SeriesOutcome(wins, 0, 10 - wins), False, False))
    good = [replay(system, history, {}) for system in SYSTEMS]
    blind = replay(Elo(k=1e-9), history, {})
    assert blind.brier == pytest.approx(0.25, abs=1e-6)
    assert all(c.brier < 0.17 and c.games == 4000 for c in good)
    elo = good[0]
    assert all(abs(b.predicted - b.scored) < 0.15 for b in elo.bins if b.games > 200)
    assert replay(Elo(), [], {}).games == 0
