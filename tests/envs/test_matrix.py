"""Matrix games by their tables."""

from __future__ import annotations

import numpy as np
import pytest

import envs
from envs.errors import GameError, IllegalActionError, UnknownGameError


def test_rock_paper_scissors() -> None:
    game = envs.make("native:matrix(rps)", 9)
    turns = game.turns()
    assert turns.env.tolist() == [e for e in range(9) for _ in range(2)]
    assert turns.seat.tolist() == [0, 1] * 9
    joint = np.array([[a, b] for a in range(3) for b in range(3)])
    step = game.step(joint.ravel())
    assert step.ended.all()
    assert step.rewards[:, 0].reshape(3, 3).tolist() == [[0, -1, 1], [1, 0, -1], [-1, 1, 0]]
    assert (step.rewards.sum(axis=1) == 0).all()


def test_a_table_of_ones_own_zero_sum_or_not() -> None:
    game = envs.make("native:matrix(2,-1;-1,1)", 1)
    assert game.spec.zero_sum
    assert game.spec.reward_range == (-2.0, 2.0)
    game = envs.make("native:matrix(3,0;5,1|3,5;0,1)", 1)
    assert (game.spec.zero_sum, game.spec.outcome) == (False, "score")
    assert game.step(np.array([1, 0])).rewards.tolist() == [[5, 0]]


@pytest.mark.parametrize("wrong", ["", "rsp", "1,2;3", "1,2,3;4,5,6", "1,nan;0,0", "0,1;1,0|1;2", "1|1|1"])
def test_what_is_no_table_is_told_how_to_write_one(wrong: str) -> None:
    with pytest.raises(UnknownGameError, match=r"expected a name \(rps, .*\) or a square table"):
        envs.make(f"native:matrix({wrong})", 1)


def test_an_action_that_is_no_row_is_refused_or_forfeits() -> None:
    with pytest.raises(IllegalActionError, match="seat 1 of game 1 played 3"):
        envs.make("native:matrix(rps)", 2).step(np.array([0, 0, 0, 3]))
    step = envs.make("native:matrix(rps)", 2, forfeit_illegal=True).step(np.array([0, 0, 0, 3]))
    assert step.rewards[1, 1] == -1
    with pytest.raises(GameError, match="num_envs ≥ 1"):
        envs.make("native:matrix(rps)", 0)
