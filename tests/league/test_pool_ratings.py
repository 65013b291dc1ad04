"""Rankings of the whole pool are written down only of those whom they moved."""

from __future__ import annotations

from league.config.sections import RatingsConfig
from league.pool.ratings import PoolRatings
from matchmaking.payoff import PayoffMatrix

NAMES = ["random", "a", "b"]


def test_a_survey_changes_only_whom_new_games_moved() -> None:
    ratings = PoolRatings(RatingsConfig(), 2, {})
    payoff = PayoffMatrix()
    payoff.record("a", "random", 6000, 0, 4000)
    payoff.record("b", "random", 7000, 0, 3000)
    ratings.survey(payoff, NAMES, "random", set())
    assert set(ratings.changed()["bradley_terry"]) == set(NAMES)
    ratings.written(history=True)
    payoff.record("a", "random", 1, 0, 0)
    ratings.survey(payoff, NAMES, "random", set())
    assert ratings.changed() == {}
    assert ratings.unrecorded() == {}
    before = ratings.of("b", "bradley_terry").mu
    payoff.record("b", "random", 1000, 0, 0)
    ratings.survey(payoff, NAMES, "random", set())
    assert "b" in ratings.changed()["bradley_terry"]
    assert ratings.of("b", "bradley_terry").mu > before + 1.0
