"""PFSP by hand-computed numbers, and as a probability whatever it is given."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from matchmaking import pfsp
from matchmaking.errors import MatchmakingError


@pytest.mark.parametrize(
    ("weighting", "expected"),
    [
        # w = 0.9, 0.5, 0.1
        ("squared", np.array([0.01, 0.25, 0.81]) / 1.07),
        ("variance", np.array([0.09, 0.25, 0.09]) / 0.43),
        ("linear", np.array([0.1, 0.5, 0.9]) / 1.5),
        ("linear_capped", np.array([0.1, 0.5, 0.5]) / 1.1),
        ("uniform", np.full(3, 1 / 3)),
    ],
)
def test_weightings_by_hand(weighting: str, expected: np.ndarray) -> None:
    assert pfsp.probabilities([0.9, 0.5, 0.1], weighting) == pytest.approx(expected)


@pytest.mark.parametrize("weighting", list(pfsp.WEIGHTINGS))
def test_when_everybody_is_beaten_all_are_equal(weighting: str) -> None:
    assert pfsp.probabilities([1.0, 1.0], weighting) == pytest.approx([0.5, 0.5])


@given(st.lists(st.floats(0, 1), min_size=1, max_size=30), st.sampled_from(list(pfsp.WEIGHTINGS)))
def test_is_always_a_probability(win_rates: list[float], weighting: str) -> None:
    p = pfsp.probabilities(win_rates, weighting)
    assert p.sum() == pytest.approx(1.0)
    assert (p >= 0).all()


def test_says_what_is_wrong() -> None:
    with pytest.raises(MatchmakingError, match="at least one opponent"):
        pfsp.probabilities([])
    with pytest.raises(MatchmakingError, match="one of squared, variance"):
        pfsp.probabilities([0.5], "cubed")
    with pytest.raises(MatchmakingError, match=r"\[0, 1\]"):
        pfsp.probabilities([1.5])
