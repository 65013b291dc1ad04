"""Payoffs: counted, antisymmetric, decayed, forgotten."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from matchmaking.errors import MatchmakingError
from matchmaking.payoff import PairRecord, PairResult, PayoffMatrix, Pool

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
    assert batch.raw("a", "b") == PairRecord(40, 0, 40, 0)


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
    assert payoff.total("b") == PairRecord(1, 0, 0, 1)


def test_totals_add_up_over_opponents() -> None:
    payoff = PayoffMatrix()
    payoff.record("a", "b", 3, 1, 1)
    payoff.record("c", "a", 2, 0, 4)
    assert payoff.total("a") == PairRecord(7, 1, 3, 4)


def test_impossible_numbers_are_refused() -> None:
    with pytest.raises(MatchmakingError, match=r"\(0, 1\], not 0"):
        PayoffMatrix(0.0)
    with pytest.raises(MatchmakingError, match="negative count"):
        PayoffMatrix().record("a", "b", -1, 0, 0)
    with pytest.raises(MatchmakingError, match="not a finite number"):
        PayoffMatrix().record("a", "b", 1, 0, 0, margin=float("nan"))
    with pytest.raises(MatchmakingError, match="not the sum of its seats"):
        PayoffMatrix().record("a", "b", 3, 0, 0, seats=[[1, 0, 0], [1, 0, 0]])


def test_what_it_costs_to_sit_second_is_kept() -> None:
    payoff = PayoffMatrix()
    payoff.record("b", "a", 5, 1, 2, seats=[[4, 0, 0], [1, 1, 2]])
    assert payoff.by_seat("b", "a").tolist() == [[4, 0, 0], [1, 1, 2]]
    # a sat second where b sat first.
    assert payoff.by_seat("a", "b").tolist() == [[2, 1, 1], [0, 0, 4]]


def test_margins_are_what_was_won_not_how_often() -> None:
    payoff = PayoffMatrix()
    payoff.record("a", "b", 1, 0, 2, margin=4.0)
    assert payoff.mean_margin("a", "b") == pytest.approx(4 / 3)
    assert payoff.win_rate("a", "b") < 0.5
    table = payoff.table(["b", "a", "c"])
    assert table[1, 0] == -table[0, 1] == pytest.approx(4 / 3)
    assert np.isnan(table[0, 2])


RESULT = st.tuples(st.sampled_from("abcd"), st.sampled_from("abcd"), COUNTS, COUNTS, COUNTS)


@given(st.lists(RESULT, max_size=20), st.sampled_from([1.0, 0.99]))
def test_the_record_is_rebuilt_from_its_results(
    rows: list[tuple[str, str, int, int, int]], decay: float
) -> None:
    results = [PairResult(i, j, ((w, d, 0), (0, 0, x)), w - 0.5 * x) for i, j, w, d, x in rows]
    kept = PayoffMatrix(decay)
    for r in results:
        wins, draws, losses = r.seats[0][0], r.seats[0][1], r.seats[1][2]
        kept.record(r.first, r.second, wins, draws, losses, margin=r.margin, seats=r.seats)
    rebuilt = PayoffMatrix.from_results(results, decay)
    assert sorted(rebuilt.pairs()) == sorted(kept.pairs())
    for i, j in kept.pairs():
        assert rebuilt.raw(i, j) == kept.raw(i, j)
        assert rebuilt.decayed(i, j) == kept.decayed(i, j)
        assert rebuilt.by_seat(j, i).tolist() == kept.by_seat(j, i).tolist()


@given(st.lists(RESULT, max_size=20))
def test_the_record_is_the_same_after_it_was_stored(rows: list[tuple[str, str, int, int, int]]) -> None:
    kept = PayoffMatrix(0.99)
    for i, j, wins, draws, losses in rows:
        kept.record(i, j, wins, draws, losses, seats=((wins, 0, losses), (0, draws, 0)))
    pairs = [pair[:: (-1) ** k] for k, pair in enumerate(kept.pairs())]  # whichever name comes first
    raw, decayed = ([getattr(kept, name)(i, j).row for i, j in pairs] for name in ("raw", "decayed"))
    read = PayoffMatrix.from_stored(
        pairs,
        np.array(raw).reshape(-1, 4),
        np.array(decayed).reshape(-1, 4),
        np.array([kept.by_seat(i, j) for i, j in pairs]).reshape(-1, 2, 3),
        0.99,
    )
    assert sorted(read.pairs()) == sorted(kept.pairs())
    for payoff in (read, kept):
        payoff.record("a", "e", 1, 2, 3)
        payoff.record("a", "b", 3, 2, 1, margin=7.0)
    for i, j in kept.pairs():
        assert read.raw(i, j) == kept.raw(i, j)
        assert read.decayed(i, j).row == pytest.approx(kept.decayed(i, j).row)
        assert read.by_seat(j, i).tolist() == kept.by_seat(j, i).tolist()
    assert sorted(read.clear("a")) == sorted(kept.clear("a"))


def test_the_interval_is_wilsons() -> None:
    payoff = PayoffMatrix()
    assert payoff.interval("a", "b") == (0.0, 1.0)
    payoff.record("a", "b", 81, 0, 182)  # Newcombe 1998, table I: 81 of 263, 0.2553 to 0.3662
    assert payoff.interval("a", "b") == pytest.approx((0.2553, 0.3662), abs=5e-5)
    low, high = payoff.interval("b", "a")
    assert (1 - high, 1 - low) == pytest.approx((0.2553, 0.3662), abs=5e-5)


def test_win_rates_against_many_are_those_against_each() -> None:
    rng = np.random.default_rng(0)
    payoff, names = PayoffMatrix(0.99), Pool(f"p{k}" for k in range(200))
    payoff.win_rates("p7", names)  # from now on kept
    for _ in range(3000):
        i, j = rng.choice(200, 2, replace=False)
        payoff.record(f"p{i}", f"p{j}", *rng.integers(0, 9, 3).tolist())
        if rng.random() < 0.01:
            payoff.clear(f"p{i}")
    late = Pool((*names, *(f"q{k}" for k in range(300))))
    payoff.record("q250", "p7", 1, 0, 3)
    for pool in (names, late):
        expected = [payoff.win_rate("p7", name) for name in pool]
        assert payoff.win_rates("p7", pool) == pytest.approx(expected)


def test_a_version_says_whether_anything_changed() -> None:
    payoff = PayoffMatrix()
    payoff.record("a", "b", 1, 0, 0)
    payoff.record("c", "d", 1, 0, 0)
    a, c = payoff.version("a"), payoff.version("c")
    payoff.record("b", "a", 1, 0, 0)
    assert payoff.version("a") != a
    assert payoff.version("c") == c
    payoff.clear("d")
    assert payoff.version("c") != c
