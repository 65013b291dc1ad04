"""Payoffs: counted, antisymmetric, decayed, forgotten."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from matchmaking.errors import MatchmakingError
from matchmaking.payoff import PairRecord, PayoffMatrix

COUNTS = st.integers(0, 50)


def test_a_draw_is_half_a_win_and_no_games_are_a_half() -> None:
    payoff = PayoffMatrix()
    assert payoff.win_rate("a", "b") == 0.5
    payoff.record("a", "b", 6, 2, 2)
    assert payoff.win_rate("a", "b") == pytest.approx(0.7)
    assert payoff.games("b", "a") == 10


@given(st.lists(st.tuples(COUNTS, COUNTS, COUNTS), max_size=8), st.sampled_from([1.0, 0.99, 0.9]))
def test_what_one_wins_the_other_loses(batches: list[tuple[int, int, int]], decay: float) -> None:
    payoff = PayoffMatrix(decay)
    for wins, draws, losses in batches:
        payoff.record("b", "a", wins, draws, losses)
    assert payoff.win_rate("a", "b") + payoff.win_rate("b", "a") == pytest.approx(1.0)
    assert payoff.raw("a", "b") == payoff.raw("b", "a").swapped()
    assert payoff.games("a", "b") == sum(map(sum, batches))


def test_a_batch_decays_like_its_games_one_by_one() -> None:
    batch, single = PayoffMatrix(0.99), PayoffMatrix(0.99)
    batch.record("a", "b", 40, 0, 0)
    batch.record("a", "b", 0, 0, 40)
    for _ in range(40):
        single.record("a", "b", 1, 0, 0)
    for _ in range(40):
        single.record("a", "b", 0, 0, 1)
    assert batch.win_rate("a", "b") == pytest.approx(single.win_rate("a", "b"))
    assert batch.win_rate("a", "b") < 0.5  # the losses are newer
    assert batch.raw("a", "b") == PairRecord(40, 0, 40)


def test_games_against_oneself_say_nothing() -> None:
    payoff = PayoffMatrix()
    payoff.record("a", "a", 5, 0, 5)
    assert payoff.games("a", "a") == 0
    assert payoff.total("a") == PairRecord()


def test_clearing_forgets_one_player_and_nobody_else() -> None:
    payoff = PayoffMatrix()
    payoff.record("a", "b", 3, 0, 1)
    payoff.record("c", "a", 2, 0, 2)
    payoff.record("b", "c", 1, 0, 0)
    assert sorted(payoff.clear("a")) == [("a", "b"), ("a", "c")]
    assert payoff.games("a", "b") == payoff.games("a", "c") == 0
    assert payoff.games("b", "c") == 1
    assert payoff.total("b") == PairRecord(1, 0, 0)


def test_totals_add_up_over_opponents() -> None:
    payoff = PayoffMatrix()
    payoff.record("a", "b", 3, 1, 1)
    payoff.record("c", "a", 2, 0, 4)
    assert payoff.total("a") == PairRecord(7, 1, 3)


def test_impossible_numbers_are_refused() -> None:
    with pytest.raises(MatchmakingError, match=r"\(0, 1\], not 0"):
        PayoffMatrix(0.0)
    with pytest.raises(MatchmakingError, match="negative count"):
        PayoffMatrix().record("a", "b", -1, 0, 0)
