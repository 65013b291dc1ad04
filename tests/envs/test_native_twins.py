"""Native games are, move by move, those that OpenSpiel plays."""

from __future__ import annotations

import time

import numpy as np
import pyspiel
import pytest

import envs
from envs.actions import random_actions
from envs.errors import GameError, UnknownGameError

TWINS = (
    "native:breakthrough",
    "native:breakthrough(rows=6,columns=5)",
    "native:kuhn_poker",
    "native:leduc_poker",
    "native:tic_tac_toe",
)


@pytest.mark.parametrize("game_id", TWINS)
def test_every_move_is_openspiels(game_id: str) -> None:
    game, rng = envs.make(game_id, 32, 3), np.random.default_rng(0)
    twin = pyspiel.load_game(game.spec.openspiel_id)
    assert game.spec.num_actions == twin.num_distinct_actions()
    assert game.spec.max_length >= twin.max_game_length()
    assert game.spec.reward_range == (twin.min_utility(), twin.max_utility())
    every = np.arange(32)
    ended = 0
    for _ in range(150):
        turns = game.turns()
        histories = game.histories(every)
        states = []
        for row, history in enumerate(histories):
            state = twin.new_initial_state()
            for action in history:
                state.apply_action(action)
            assert state.current_player() == turns.seat[row]
            assert state.legal_actions() == np.flatnonzero(turns.legal[row]).tolist()
            if twin.get_type().provides_information_state_tensor and game.spec.observation_shape in (
                (11,),
                (30,),
            ):
                assert state.information_state_tensor() == turns.obs[row].tolist()
            states.append(state)
        actions = random_actions(turns.legal, rng)
        step = game.step(actions)
        for row, state in enumerate(states):
            state.apply_action(int(actions[row]))
            while state.is_chance_node() and not step.ended[row]:
                state.apply_action(game.histories(every[row : row + 1])[0][len(state.history())])
            assert state.is_terminal() == step.ended[row]
            if step.ended[row]:
                assert state.returns() == step.returns[row].tolist()
                ended += 1
    assert ended > 32


@pytest.mark.parametrize("game_id", ["native:kuhn_poker", "native:leduc_poker"])
def test_deals_are_even_and_by_seed(game_id: str) -> None:
    cards = 3 if "kuhn" in game_id else 6
    game = envs.make(game_id, 6000, 0)
    first = [h[0] for h in game.histories(np.arange(6000))]
    second = [h[1] for h in game.histories(np.arange(6000))]
    for dealt in (first, second):
        assert np.bincount(dealt, minlength=cards) / 6000 == pytest.approx(1 / cards, abs=0.025)
    assert all(a != b for a, b in zip(first, second, strict=True))
    again = envs.make(game_id, 6000, 0)
    assert [h[0] for h in again.histories(np.arange(6000))] == first
    assert [h[0] for h in envs.make(game_id, 6000, 1).histories(np.arange(6000))] != first


def test_a_pong_ball_flies_bounces_and_is_missed() -> None:
    game = envs.make("native:pong", 64, 0)
    stay = np.ones(128, np.int64)
    before = game.turns().obs.copy()
    step = game.step(stay)
    after = game.turns().obs
    assert (after[:, 1] == before[:, 0]).all()  # the second picture is the one before
    # Each sees itself on the left: the right player's picture is the left one's mirrored.
    assert (after[0::2, 0] == after[1::2, 0, :, ::-1]).all()
    ball = [np.argwhere(picture[0, :, 1:-1])[0] for picture in (before[0], after[0])]
    assert np.abs(ball[1] - ball[0]).tolist() == [1, 1]
    lengths, outcomes = [], []
    clock = np.ones(64, int)
    for _ in range(300):
        step = game.step(stay)
        clock += 1
        for e in np.flatnonzero(step.ended):
            lengths.append(int(clock[e]))
            outcomes.append(tuple(step.returns[e].tolist()))
        clock[step.ended] = 0
    assert set(outcomes) <= {(1.0, -1.0), (-1.0, 1.0), (0.0, 0.0)}
    assert {(1.0, -1.0), (-1.0, 1.0)} <= set(outcomes)  # who stands still misses it
    assert max(lengths) <= game.spec.max_length // 2


def test_a_pong_player_who_follows_the_ball_does_not_lose_to_one_who_stands() -> None:
    game, returns = envs.make("native:pong", 32, 1), []
    for _ in range(400):
        obs = game.turns().obs
        actions = np.ones(64, np.int64)
        for e in range(32):
            picture = obs[2 * e, 0]
            mine = np.flatnonzero(picture[:, 0])[1]
            row = np.argwhere(picture[:, 1:-1])[0][0]
            actions[2 * e] = 1 + np.sign(row - mine)
        step = game.step(actions)
        returns += step.returns[step.ended, 0].tolist()
    assert np.mean(returns) > 0.5
    assert returns.count(-1.0) / len(returns) < 0.1


@pytest.mark.parametrize("game_id", [*TWINS, "native:pong"])
def test_native_games_are_fast(game_id: str) -> None:
    """A fifth of the million that is asked for, for slow and busy machines; `league games bench` measures."""
    game, rng = envs.make(game_id, 4096, 0), np.random.default_rng(0)
    for _ in range(3):
        game.step(random_actions(game.turns().legal, rng))
    moves, spent = 0, 0.0
    for _ in range(20):
        actions = random_actions(game.turns().legal, rng)
        began = time.perf_counter()
        game.turns()
        game.step(actions)
        spent += time.perf_counter() - began
        moves += len(actions)
    assert moves / spent > 200_000


@pytest.mark.parametrize(
    ("game_id", "message"),
    [
        ("native:breakthrough(rows=3)", "5–16 rows"),
        ("native:breakthrough(size=6)", "unknown parameter 'size'; it takes rows, columns"),
        ("native:tic_tac_toe(size=4)", "unknown parameter 'size'; it takes none"),
        ("native:pong(height=2)", "height ≥ 5"),
        ("native:pong(height)", "expected parameter=value, got 'height'"),
    ],
)
def test_parameters_that_cannot_be_are_named(game_id: str, message: str) -> None:
    with pytest.raises((GameError, UnknownGameError), match=message):
        envs.make(game_id, 2)
