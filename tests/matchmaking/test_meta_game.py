"""Meta-games with answers known from elsewhere."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from matchmaking import meta_game
from matchmaking.errors import MatchmakingError

RPS = np.array([[0, -1, 1], [1, 0, -1], [-1, 1, 0]], float)
# Rock's win counts double: the equilibrium plays (1/4, 1/2, 1/4).
BIASED = np.array([[0, -1, 2], [1, 0, -1], [-2, 1, 0]], float)
TRANSITIVE = np.array([[0, 1, 2], [-1, 0, 1], [-2, -1, 0]], float) / 4
PENNIES = np.array([[[1, -1], [-1, 1]], [[-1, 1], [1, -1]]], float)


def antisymmetric(n: int, seed: int) -> np.ndarray:
    table = np.random.default_rng(seed).uniform(-1, 1, (n, n))
    return (table - table.T) / 2


def test_rock_paper_scissors() -> None:
    third = pytest.approx(np.full(3, 1 / 3), abs=1e-3)
    assert meta_game.nash(RPS) == third
    assert meta_game.replicator(RPS) == third
    assert meta_game.alpha_rank(RPS) == third
    assert meta_game.nash_average(RPS)[0] == third
    assert meta_game.exploitability(RPS, [1 / 3] * 3) == pytest.approx(0.0)
    assert meta_game.exploitability(RPS, [1, 0, 0]) == pytest.approx(1.0)


def test_biased_rock_paper_scissors() -> None:
    assert meta_game.nash(BIASED) == pytest.approx([0.25, 0.5, 0.25])
    assert meta_game.nash_average(BIASED)[0] == pytest.approx([0.25, 0.5, 0.25], abs=1e-3)


def test_two_populations_matching_pennies() -> None:
    for solve in (meta_game.nash, meta_game.replicator):
        profile = solve(PENNIES)
        assert profile[0] == pytest.approx([0.5, 0.5], abs=1e-2)
        assert profile[1] == pytest.approx([0.5, 0.5], abs=1e-2)
    assert meta_game.exploitability(PENNIES, ([0.5, 0.5], [0.5, 0.5])) == pytest.approx(0.0)
    assert meta_game.exploitability(PENNIES, ([1.0, 0.0], [0.5, 0.5])) == pytest.approx(1.0)


@given(st.integers(1, 12), st.integers(0, 1000))
@settings(deadline=None)
def test_no_player_of_the_pool_gains_against_its_equilibrium(n: int, seed: int) -> None:
    payoff = antisymmetric(n, seed)
    assert meta_game.exploitability(payoff, meta_game.nash(payoff)) < 1e-6
    averaged, ratings = meta_game.nash_average(payoff)
    assert meta_game.exploitability(payoff, averaged) < 5e-3
    assert ratings.max() < 5e-3
    assert meta_game.alpha_rank(payoff).sum() == pytest.approx(1.0)


def test_copies_share_the_weight_of_one() -> None:
    with_copy = np.array([[0, 0, -1, 1], [0, 0, -1, 1], [1, 1, 0, -1], [-1, -1, 1, 0]], float)
    mixture, ratings = meta_game.nash_average(with_copy)
    assert mixture == pytest.approx([1 / 6, 1 / 6, 1 / 3, 1 / 3], abs=1e-3)
    assert ratings == pytest.approx(np.zeros(4), abs=1e-3)


def test_alpha_rank_dwells_on_the_strongest() -> None:
    assert meta_game.alpha_rank(TRANSITIVE)[0] > 0.98


def test_layers_of_a_transitive_pool_are_single_and_of_a_cycle_whole() -> None:
    assert meta_game.nash_clusters(TRANSITIVE) == [[0], [1], [2]]
    below = np.full((4, 4), 0.0)
    below[:3, :3] = RPS / 2
    below[:3, 3], below[3, :3] = 0.9, -0.9
    assert meta_game.nash_clusters(below) == [[0, 1, 2], [3]]


def test_a_cycle_is_found_once_and_a_ladder_has_none() -> None:
    planted = TRANSITIVE.copy()
    bigger = np.zeros((6, 6))
    bigger[:3, :3] = planted
    bigger[3:, 3:] = -RPS / 2
    bigger[:3, 3:], bigger[3:, :3] = 0.5, -0.5
    assert meta_game.cycles(bigger) == [(3, 4, 5)]
    assert meta_game.cycles(TRANSITIVE) == []


def test_transitivity_is_one_for_a_ladder_and_zero_for_a_cycle() -> None:
    assert meta_game.transitivity(TRANSITIVE) == pytest.approx(1.0)
    assert meta_game.transitivity(RPS) == pytest.approx(0.0)
    assert 0.0 < meta_game.transitivity(antisymmetric(6, 1)) < 1.0


def test_diversity_counts_differences_between_those_who_are_played() -> None:
    assert meta_game.effective_diversity(RPS, [1 / 3] * 3) == pytest.approx(1 / 3)
    assert meta_game.effective_diversity(RPS, [1, 0, 0]) == 0.0


@pytest.mark.parametrize("wrong", [[[0, 1], [1, 0]], [1, 2], [[np.nan]], np.zeros((2, 3)), np.zeros((0, 0))])
def test_what_is_no_payoff_is_refused(wrong: object) -> None:
    with pytest.raises(MatchmakingError):
        meta_game.nash(wrong)  # type: ignore[arg-type]


def test_general_sum_games_have_no_linear_programme() -> None:
    with pytest.raises(MatchmakingError, match="zero-sum"):
        meta_game.nash([[[3, 0], [5, 1]], [[3, 5], [0, 1]]])
