"""Processes that die are started again, unless they die as soon as they are started."""

from __future__ import annotations

from league.runtime.restarts import AN_HOUR, IN_A_ROW, Restarts


class Clock:
    def __init__(self) -> None:
        self.now = 0.0

    def __call__(self) -> float:
        return self.now


def lives(clock: Clock, restarts: Restarts, seconds: float, count: int) -> list[float | None]:
    delays = []
    for _ in range(count):
        restarts.begin()
        clock.now += seconds
        delays.append(restarts.delay())
    return delays


def test_short_lives_are_given_up_after_ever_longer_pauses() -> None:
    clock = Clock()
    assert lives(clock, Restarts(clock), 5.0, IN_A_ROW + 1) == [2.0, 4.0, 8.0, 16.0, 30.0, None]


def test_a_life_of_some_length_starts_the_count_anew() -> None:
    clock = Clock()
    restarts = Restarts(clock)
    for _ in range(10):
        assert lives(clock, restarts, 5.0, 3) == [2.0, 4.0, 8.0]
        assert lives(clock, restarts, 600.0, 1) == [1.0]


def test_there_is_an_end_to_deaths_an_hour() -> None:
    clock = Clock()
    assert lives(clock, Restarts(clock), 31.0, AN_HOUR + 1)[-2:] == [1.0, None]
    assert None not in lives(clock, Restarts(clock), 40.0, 3 * AN_HOUR)
