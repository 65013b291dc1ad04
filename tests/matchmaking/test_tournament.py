"""Who meets whom in a tournament."""

from __future__ import annotations

from itertools import combinations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import kendalltau

from matchmaking.errors import MatchmakingError
from matchmaking.tournament import Format, Gauntlet, MatchScore, RoundRobin, Swiss

NAMES = tuple("abcdefghijklmnop")


def play(form: Format, strength: dict[str, float], rng: np.random.Generator) -> list[list[MatchScore]]:
    """The stronger player wins, most of the time."""
    rounds: list[list[MatchScore]] = []
    while pairs := form.next_round(rounds):
        noise = rng.normal(0, 0.3, len(pairs))
        rounds.append(
            [
                MatchScore(a, b, float(strength[a] - strength[b] + e > 0))
                for (a, b), e in zip(pairs, noise, strict=True)
            ]
        )
    return rounds


def test_a_round_robin_is_every_pair_once() -> None:
    form = RoundRobin(NAMES[:5])
    assert form.next_round([]) == list(combinations("abcde", 2))
    assert form.next_round([[MatchScore("a", "b", 1.0)]]) == []
    assert form.points([[MatchScore("a", "b", 1.0), MatchScore("c", "a", 0.5)]]) == {
        "a": 1.5, "b": 0.0, "c": 0.5, "d": 0.0, "e": 0.0,
    }  # fmt: skip


def test_a_gauntlet_is_every_challenger_against_every_opponent() -> None:
    form = Gauntlet(("a", "b"), ("x", "y"))
    assert form.next_round([]) == [("a", "x"), ("a", "y"), ("b", "x"), ("b", "y")]
    assert len(Gauntlet(("a", "x"), ("x", "a")).next_round([])) == 1  # nobody meets itself or anybody twice
    assert form.players == ("a", "b", "x", "y")


@given(st.integers(2, 16), st.integers(0, 1000))
def test_in_a_swiss_nobody_meets_twice_and_rests_once_at_most(count: int, seed: int) -> None:
    names = NAMES[:count]
    form = Swiss(names, min((count + 1) // 2, 5))
    strength = {name: float(-k) for k, name in enumerate(names)}
    rounds = play(form, strength, np.random.default_rng(seed))
    assert len(rounds) == form.rounds
    met = [frozenset((m.first, m.second)) for matches in rounds for m in matches]
    assert len(met) == len(set(met))
    for matches in rounds:
        seated = [p for m in matches for p in (m.first, m.second)]
        assert len(seated) == len(set(seated)) == count - count % 2
    rests = [set(names) - {p for m in matches for p in (m.first, m.second)} for matches in rounds]
    resting = [p for r in rests for p in r]
    assert len(resting) == len(set(resting))
    assert sum(form.points(rounds).values()) == pytest.approx(len(met) + len(resting))


def test_a_swiss_of_as_many_rounds_as_opponents_seats_everybody_every_round() -> None:
    for count in range(2, 9):
        form = Swiss(NAMES[:count], count - 1 + count % 2)
        rounds = play(form, dict.fromkeys(NAMES[:count], 0.0), np.random.default_rng(count))
        assert [len(matches) for matches in rounds] == [count // 2] * form.rounds


def test_a_swiss_pairs_equals_and_finds_the_order_in_few_rounds() -> None:
    form = Swiss(NAMES, 6)
    shuffled = np.random.default_rng(1).permutation(len(NAMES))
    strength = {name: float(s) for name, s in zip(NAMES, shuffled, strict=True)}
    rounds = play(form, strength, np.random.default_rng(2))
    for k in range(1, 4):  # those of equal points meet while there are enough of them
        points = form.points(rounds[:k])
        assert max(abs(points[m.first] - points[m.second]) for m in rounds[k]) <= 1.0
    final = form.points(rounds)
    tau = kendalltau([strength[n] for n in NAMES], [final[n] for n in NAMES]).statistic
    assert tau > 0.7  # with 48 matches, where a round-robin takes 120


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: RoundRobin(("a",)), "2 players or more"),
        (lambda: RoundRobin(("a", "b", "a")), "a is listed more than once"),
        (lambda: Swiss(("a", "b", "c"), 4), r"rounds: 4 must lie in \[1, 3\] for 3 players"),
        (lambda: Swiss(("a", "b"), 0), "rounds: 0"),
        (lambda: Gauntlet(("a",), ("a",)), "not the challenger itself"),
        (lambda: Gauntlet((), ("a",)), "1 players or more"),
    ],
)
def test_what_cannot_be_played_is_refused(make: object, message: str) -> None:
    with pytest.raises(MatchmakingError, match=message):
        make()  # type: ignore[operator]
