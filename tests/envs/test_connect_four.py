"""The native game against OpenSpiel's and against positions worked out by hand."""

from __future__ import annotations

import time

import numpy as np
import pyspiel
import pytest

import envs
from envs.actions import random_actions
from envs.errors import GameError, IllegalActionError


def play(moves: list[int]) -> tuple[list[float], bool]:
    """Plays a list of columns in one game; returns the last rewards and whether it ended."""
    game = envs.make("native:connect_four", 1)
    for move in moves:
        game.turns()
        step = game.step(np.array([move]))
    return step.rewards[0].tolist(), bool(step.ended[0])


@pytest.mark.parametrize(
    ("moves", "rewards"),
    [
        ([0, 1, 0, 1, 0, 1, 0], [1.0, -1.0]),  # vertical
        ([0, 0, 1, 1, 2, 2, 3], [1.0, -1.0]),  # horizontal
        ([0, 1, 1, 2, 2, 3, 2, 3, 3, 6, 3], [1.0, -1.0]),  # rising diagonal
        ([6, 5, 5, 4, 4, 3, 4, 3, 3, 0, 3], [1.0, -1.0]),  # falling diagonal
        ([0, 6, 1, 6, 2, 6, 4, 6], [-1.0, 1.0]),  # the second player wins
    ],
)
def test_four_in_a_line_wins(moves: list[int], rewards: list[float]) -> None:
    assert play(moves) == (rewards, True)
    assert play(moves[:-1]) == ([0.0, 0.0], False)


def test_lines_do_not_wrap_around_the_edge() -> None:
    # Row 0: columns 4, 5, 6 and then row 1's column 0 belong to the first player.
    rewards, ended = play([4, 0, 5, 1, 6, 2, 0])
    assert (rewards, ended) == ([0.0, 0.0], False)


def test_ten_thousand_random_games_equal_openspiel() -> None:
    game = envs.make("native:connect_four", 512)
    reference = pyspiel.load_game("connect_four")
    states = [reference.new_initial_state() for _ in range(512)]
    rng = np.random.default_rng(7)
    finished = draws = 0
    while finished < 10_000:
        turns = game.turns()
        for env, state in enumerate(states):
            assert turns.seat[env] == state.current_player()
            assert np.flatnonzero(turns.legal[env]).tolist() == state.legal_actions()
        actions = random_actions(turns.legal, rng)
        step = game.step(actions)
        for env, state in enumerate(states):
            state.apply_action(int(actions[env]))
            assert step.ended[env] == state.is_terminal()
            assert step.rewards[env].tolist() == state.returns()
            if state.is_terminal():
                finished += 1
                draws += state.returns() == [0.0, 0.0]
                states[env] = reference.new_initial_state()
    assert draws > 0  # full boards were among them


def test_the_mover_sees_its_own_stones_first() -> None:
    game = envs.make("native:connect_four", 1)
    game.turns()
    game.step(np.array([3]))
    turns = game.turns()
    assert turns.seat.tolist() == [1]
    assert turns.obs[0, 0].sum() == 0
    assert turns.obs[0, 1, 0, 3] == 1
    assert turns.obs[0, 1].sum() == 1
    game.step(np.array([3]))
    turns = game.turns()
    assert turns.obs[0, 0, 0, 3] == 1
    assert turns.obs[0, 1, 1, 3] == 1


def test_a_full_column_is_refused_by_name_and_nothing_moves() -> None:
    game = envs.make("native:connect_four", 2)
    for _ in range(3):
        for _ in range(2):
            game.turns()
            game.step(np.array([2, 4]))
    with pytest.raises(
        IllegalActionError, match=r"seat 0 of game 0 played 2, .* legal: \[0, 1, 3, 4, 5, 6\]"
    ):
        game.step(np.array([2, 0]))
    assert game.histories(np.arange(2)) == [[2] * 6, [4] * 6]


def test_an_illegal_action_forfeits_when_asked_to() -> None:
    game = envs.make("native:connect_four", 1, forfeit_illegal=True)
    game.turns()
    step = game.step(np.array([7]))
    assert step.ended[0]
    assert step.returns[0].tolist() == [-1.0, 1.0]


def test_a_batch_needs_a_game() -> None:
    with pytest.raises(GameError, match="num_envs ≥ 1, not 0"):
        envs.make("native:connect_four", 0)


def test_plays_four_million_moves_a_second() -> None:
    game = envs.make("native:connect_four", 4096)
    rng = np.random.default_rng(0)
    scores = rng.random((16, 4096, 7))
    best = np.inf
    for _ in range(5):
        spent = 0.0
        for i in range(60):
            begin = time.perf_counter()
            turns = game.turns()
            spent += time.perf_counter() - begin
            actions = np.argmax(scores[i % 16] * turns.legal, axis=1)
            begin = time.perf_counter()
            game.step(actions)
            spent += time.perf_counter() - begin
        best = min(best, spent)
    assert 60 * 4096 / best >= 4_000_000
