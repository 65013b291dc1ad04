"""When a pair has played enough, against simulated games."""

from __future__ import annotations

import math

import numpy as np
import pytest

from matchmaking.errors import MatchmakingError
from matchmaking.payoff import PairRecord
from matchmaking.sequential import StopRule, sequential_width


def test_the_width_is_the_papers() -> None:
    # Waudby-Smith et al. 2021, their margin, worked out by hand for t = 1000, α = 0.05, tightest at 1000:
    # ρ² = (5.99146 + log 6.99146)/1000 = 0.0079362; tρ²+1 = 8.93616.
    assert sequential_width(1000, 0.05) == pytest.approx(
        math.sqrt(2 * 8.936157 / (1000**2 * 0.007936157) * math.log(math.sqrt(8.936157) / 0.05)), rel=1e-6
    )
    assert sequential_width(1000, 0.05) == pytest.approx(0.0959, abs=2e-4)
    assert sequential_width(1000, 0.05) < sequential_width(999, 0.05)


@pytest.mark.parametrize(("win", "draw"), [(0.5, 0.0), (0.3, 0.4), (0.8, 0.1)])
def test_the_interval_holds_at_all_moments_together(win: float, draw: float) -> None:
    """An ordinary 95% interval looked at as often misses the truth in a third of the matches."""
    rng, rule = np.random.default_rng(0), StopRule()
    truth, missed = win + 0.5 * draw, {"sequence": 0, "ordinary": 0}
    matches = 400
    for _ in range(matches):
        uniforms = rng.random(2048)
        wins, losses = np.cumsum(uniforms < win), np.cumsum(uniforms > win + draw)
        ever = ever_ordinary = False
        for n in range(32, 2048, 16):
            record = PairRecord(int(wins[n]), int(n + 1 - wins[n] - losses[n]), int(losses[n]))
            low, high = rule.interval(record)
            ever |= not low <= truth <= high
            mean = (record.wins + 0.5 * record.draws) / record.games
            error = math.sqrt((record.wins + 0.25 * record.draws) / record.games - mean**2)
            ever_ordinary |= abs(mean - truth) > 1.96 * error / math.sqrt(record.games)
        missed["sequence"] += ever
        missed["ordinary"] += ever_ordinary
    assert missed["sequence"] / matches <= 0.05
    assert missed["ordinary"] / matches > 0.15


def test_a_pair_stops_when_the_interval_is_tight_or_it_is_decided_or_at_the_most() -> None:
    precise = StopRule(precision=0.05, max_games=2000)
    assert not precise.is_enough(PairRecord(100, 0, 100))
    assert precise.is_enough(PairRecord(700, 0, 700))
    assert precise.is_enough(PairRecord(0, 1000, 0))  # all drawn: known sooner
    assert StopRule(precision=0.001, max_games=2000).is_enough(PairRecord(1000, 0, 1000))
    one_sided = PairRecord(60, 0, 4)
    assert StopRule(until_decided=True).is_enough(one_sided)
    assert not StopRule().is_enough(one_sided)
    assert not StopRule(until_decided=True).is_enough(PairRecord(20, 0, 0))  # before min_games


def test_points_are_given_when_it_is_known_who_is_better() -> None:
    rule = StopRule()
    assert [rule.points(r) for r in (PairRecord(300, 0, 30), PairRecord(30, 0, 300))] == [1.0, 0.0]
    assert rule.points(PairRecord(170, 0, 160)) == 0.5
    assert rule.points(PairRecord()) == 0.5


@pytest.mark.parametrize(
    "numbers",
    [{"precision": 0.0}, {"precision": 0.6}, {"confidence": 1.0}, {"min_games": 1}, {"max_games": 10}],
)
def test_numbers_out_of_bounds_are_named(numbers: dict[str, float]) -> None:
    with pytest.raises(MatchmakingError, match=r"must lie in"):
        StopRule(**numbers)  # type: ignore[arg-type]
