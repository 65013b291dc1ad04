"""Rounding noise changes no place."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from matchmaking import meta_game
from matchmaking.ordering import TOLERANCE, ascending, best_first, descending
from matchmaking.payoff import PayoffMatrix
from matchmaking.rankings import rank

NOISE = 1e-9


@given(
    st.lists(st.integers(-5, 5), min_size=1, max_size=40),
    st.integers(0, 2**32 - 1),
)
def test_noise_below_the_tolerance_changes_no_order(values: list[int], seed: int) -> None:
    noise = np.random.default_rng(seed).uniform(-NOISE, NOISE, len(values))
    plain = sorted(range(len(values)), key=lambda k: -values[k])
    assert descending(np.array(values) + noise).tolist() == plain


def test_equals_keep_their_order_and_others_do_not() -> None:
    assert ascending([3.0, 1.0 + NOISE, 1.0, 2.0, 1.0 - NOISE]).tolist() == [1, 2, 4, 3, 0]
    assert ascending([1.0, 1.0 - 10 * TOLERANCE]).tolist() == [1, 0]
    assert descending([-np.inf, 0.0, np.inf, -np.inf, np.inf]).tolist() == [2, 4, 1, 0, 3]
    assert descending([]).tolist() == []
    assert best_first("bca", {"a": 0.5, "b": 0.5 - NOISE, "c": 0.5 + NOISE}.__getitem__) == ["b", "c", "a"]


@pytest.mark.parametrize("seed", range(4))
def test_players_of_equal_ratings_stand_by_age_and_cycles_begin_with_the_oldest(seed: int) -> None:
    names = ["paper", "rock", "scissors"]
    payoff = PayoffMatrix()
    wins = [("paper", "rock"), ("rock", "scissors"), ("scissors", "paper")]
    for k in np.random.default_rng(seed).permutation(3):
        payoff.record(*wins[k], 90, 0, 10)
    ranked = rank(payoff, names)
    assert ranked.names == tuple(names)
    assert meta_game.cycles(ranked.table) == [(0, 1, 2)]


def test_a_cycle_at_the_margin_is_one_whatever_the_last_digit_says() -> None:
    table = np.array([[0.0, 0.1, -0.1], [-0.1, 0.0, 0.1], [0.1, -0.1, 0.0]])
    for noise in (0.0, NOISE, -NOISE):
        assert meta_game.cycles(table * (1.0 + noise), margin=0.1) == [(0, 1, 2)]
