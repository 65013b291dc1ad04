"""Who can sit where, whom that leaves to meet, and what a game without opponents is rated by."""

from __future__ import annotations

import numpy as np
import pytest

from matchmaking.errors import RatingError
from matchmaking.evaluation import EvaluationRule, RatedPlayer, RatedPool
from matchmaking.payoff import PayoffMatrix
from matchmaking.ratings.score import UNKNOWN, Score
from matchmaking.records import Player
from matchmaking.roles import Main, MainExploiter
from matchmaking.roster import Context, Roster
from matchmaking.samplers import Fictitious, Quality, SelfPlay, Window
from matchmaking.sides import Sides

CHASE = Sides(2, {"chaser": (0,), "chaser.v1": (0,), "runner": (1,), "runner.v1": (1,)})


def learner(name: str, role: str = "main") -> Player:
    return Player(name, role, "learning")  # type: ignore[arg-type]


def past(parent: str, number: int) -> Player:
    return Player(f"{parent}.v{number}", "historical", "frozen", parent, "main")


def test_those_who_can_play_everything_rotate_and_the_others_do_not() -> None:
    assert CHASE.rotate(["random", "random"])
    assert not CHASE.rotate(["random", "runner"])
    assert CHASE.of("random") == (0, 1)
    assert CHASE.of("chaser.v1") == (0,)


def test_players_are_seated_where_they_can_play() -> None:
    assert CHASE.seat(["runner", "chaser"]) == (1, 0)
    assert CHASE.seat(["runner", "random"]) == (1, 0)
    assert CHASE.seat(["random", "runner"]) == (0, 1)
    assert CHASE.seat(["chaser", "chaser.v1"]) is None
    assert Sides(3, {"a": (1, 2), "b": (1,)}).seat(["a", "b", "c"]) == (2, 1, 0)
    assert CHASE.may_meet("chaser", "runner.v1")
    assert not CHASE.may_meet("chaser", "chaser.v1")


def test_a_side_is_drawn_among_those_a_player_can_play() -> None:
    rng, three = np.random.default_rng(0), Sides(3, {"a": (0, 2), "b": (1,)})
    assert {three.draw("a", rng) for _ in range(50)} == {0, 2}
    assert {three.draw("b", rng) for _ in range(5)} == {1}
    assert {Sides(3).draw("anybody", rng) for _ in range(5)} == {0}  # all alike: rotation sees to it


def opposite(*players: Player) -> Context:
    """What a chaser sees when it looks for somebody on the runners' side."""
    return Context("chaser", Roster(players), PayoffMatrix(), np.random.default_rng(0))


def test_roles_meet_only_those_who_sit_opposite() -> None:
    context = opposite(learner("runner"), past("runner", 1), past("runner", 2))
    met = [Main(1, 2).match(context) for _ in range(400)]
    assert {m.opponent for m in met} == {"runner", "runner.v1", "runner.v2"}
    assert {m.opponent for m in met if m.branch == "self_play"} == {"runner"}
    assert MainExploiter(1, 2).match(context).opponent == "runner"


def test_who_cannot_sit_opposite_itself_has_the_mains_for_itself_and_their_past_for_its_own() -> None:
    context = opposite(learner("runner"), past("runner", 1), past("runner", 2))
    assert SelfPlay().candidates(context)[0] == ("runner",)
    assert list(Fictitious().candidates(context)[0]) == ["runner.v1", "runner.v2"]
    for sampler in (Window(size=1, latest_share=0.25), Quality(latest_share=0.25)):
        names, chances = sampler.candidates(context)
        assert names[-1] == "runner"
        assert "chaser" not in names
        assert sum(chances) == pytest.approx(1.0)
        assert chances[-1] == pytest.approx(0.25)


def test_rating_games_are_drawn_among_those_who_may_meet() -> None:
    pool = RatedPool(RatedPlayer(n, 25.0, 8.0, True, False) for n in ("chaser", "chaser.v1", "runner"))
    rng, rule = np.random.default_rng(0), EvaluationRule()
    pairs = [rule.choose(pool, PayoffMatrix(), rng, CHASE.may_meet) for _ in range(200)]
    assert all(pair is not None and CHASE.may_meet(*pair) for pair in pairs)
    alone = RatedPool(RatedPlayer(n, 25.0, 8.0, True, False) for n in ("chaser", "chaser.v1"))
    assert rule.choose(alone, PayoffMatrix(), rng, CHASE.may_meet) is None


def test_a_score_is_the_mean_with_its_standard_error_in_whatever_parts_it_came() -> None:
    system, rng = Score(), np.random.default_rng(0)
    returns = rng.normal(3.0, 2.0, 600)
    rating = system.initial()
    assert rating.sigma == UNKNOWN
    for part in np.split(returns, [50, 51, 300]):
        rating = system.rate(rating, part.sum(), (part**2).sum(), len(part), moves=False)
    assert rating.games == 600
    assert rating.mu == pytest.approx(returns.mean())
    assert rating.sigma == pytest.approx(returns.std() / np.sqrt(600), rel=1e-6)


def test_a_learning_players_score_is_of_who_it_is_now() -> None:
    system = Score(memory=100)
    rating = system.initial()
    for level in (0.0, 10.0):
        for _ in range(20):
            rating = system.rate(rating, 50 * level, 50 * level**2, 50, moves=True)
    assert rating.mu > 9.9
    assert rating.games == 2000


@pytest.mark.parametrize("numbers", [(1.0, 1.0, 0), (float("nan"), 1.0, 5), (1.0, -1.0, 5)])
def test_sums_that_no_games_have_are_refused(numbers: tuple[float, float, int]) -> None:
    with pytest.raises(RatingError, match="games that sum to"):
        Score().rate(Score().initial(), *numbers, moves=False)
