"""Many workers leave the coordinator time, few are answered soon."""

from __future__ import annotations

import pytest

from league.runtime.pace import (
    INTERVAL_SECONDS,
    LONGEST_SERIES,
    LONGEST_STRETCH,
    MOST_BUSY,
    RATED_A_SECOND,
    Pace,
)


def busy_after(pace: Pace, workers: int, fixed_ms: float, series_ms: float, seconds: float) -> float:
    """Lets workers report at the pace, a report costing something in itself and something by its series.

    Returns the share of the last ten intervals, ten seconds at least, that was work.
    """
    now, work = 0.0, []
    while now < seconds:
        interval = pace.interval_seconds
        series = max(1.0, 100.0 * interval * 256 / pace.episodes(256))
        cost = workers * (fixed_ms + series_ms * series) / 1000.0
        begin, now = now, now + max(interval, cost)
        pace.worked(cost, now)
        work.append((begin, now, cost))
    since = now - max(10.0, 10 * interval)
    return sum(cost for begin, _, cost in work if begin >= since) / (now - since)


def test_few_workers_are_left_alone() -> None:
    pace = Pace(0.0)
    assert busy_after(pace, 2, 3.0, 0.25, 60.0) < MOST_BUSY
    assert (pace.stretch, pace.interval_seconds, pace.episodes(256)) == (1, INTERVAL_SECONDS, 256)


@pytest.mark.parametrize("workers", [50, 300, 1000, 5000])
def test_the_coordinator_has_time_for_many(workers: int) -> None:
    pace = Pace(0.0)
    assert busy_after(pace, workers, 3.0, 0.25, 4000.0) <= 1.2 * MOST_BUSY
    assert 1 < pace.stretch < LONGEST_STRETCH
    assert 256 < pace.episodes(256) <= LONGEST_SERIES


def test_the_pace_comes_back_when_workers_leave() -> None:
    pace = Pace(0.0)
    busy_after(pace, 300, 3.0, 0.25, 1000.0)
    stretched = pace.stretch
    now = 1000.0
    while now < 2000.0:
        now += pace.interval_seconds
        pace.worked(0.001, now)
    assert stretched > 1
    assert pace.stretch == 1


def test_games_that_must_not_depend_on_the_clock_keep_their_length() -> None:
    pace = Pace(0.0, fixed=True)
    pace.worked(100.0, 100.0)
    assert pace.episodes(32) == 32


def test_a_series_configured_longer_than_any_stretch_stays_as_it_is() -> None:
    pace = Pace(0.0)
    pace.worked(100.0, 100.0)
    assert pace.stretch > 1
    assert pace.episodes(10 * LONGEST_SERIES) == 10 * LONGEST_SERIES


def test_all_workers_together_are_given_no_more_rating_games_than_a_league_needs() -> None:
    pace, given = Pace(0.0), 0
    for step in range(1, 1001):
        now = 0.01 * step  # 50 workers that report twice a second, each for a tenth of its games
        games = pace.rated(1000, now)
        pace.rating(games)
        given += games
    assert given == pytest.approx(RATED_A_SECOND * 10.0, rel=0.15)
    assert Pace(0.0).rated(100, 1.0) == 100
