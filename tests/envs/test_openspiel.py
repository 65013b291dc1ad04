"""The OpenSpiel adapter against OpenSpiel itself."""

from __future__ import annotations

import numpy as np
import pyspiel
import pytest

import envs
from envs.actions import random_actions
from envs.errors import GameError, IllegalActionError


def test_observations_are_openspiels_own() -> None:
    game = envs.make("openspiel:tic_tac_toe", 8, 0)
    reference = pyspiel.load_game("tic_tac_toe")
    states = [reference.new_initial_state() for _ in range(8)]
    rng = np.random.default_rng(0)
    for _ in range(40):
        turns = game.turns()
        for env, state in enumerate(states):
            assert turns.obs[env].ravel().tolist() == state.observation_tensor(state.current_player())
        actions = random_actions(turns.legal, rng)
        game.step(actions)
        for env, state in enumerate(states):
            state.apply_action(int(actions[env]))
            if state.is_terminal():
                states[env] = reference.new_initial_state()


def test_poker_shows_a_seat_only_its_own_cards() -> None:
    game = envs.make("openspiel:kuhn_poker", 64, 0)
    turns = game.turns()
    for env, history in enumerate(game.histories(np.arange(64))):
        state = pyspiel.load_game("kuhn_poker").new_initial_state()
        for action in history:
            state.apply_action(action)
        assert turns.obs[env].tolist() == state.information_state_tensor(0)


def test_chance_is_drawn_as_often_as_it_should_be() -> None:
    game = envs.make("openspiel:kuhn_poker", 6000, 3)
    cards = [history[0] for history in game.histories(np.arange(6000))]
    counts = np.bincount(cards, minlength=3)
    assert np.abs(counts - 2000).max() < 5 * np.sqrt(6000 * 2 / 9)


def test_planes_are_seen_from_the_movers_side_where_the_game_offers_it() -> None:
    game = envs.make("openspiel:connect_four", 1)
    stones = []
    for column in (3, 2, 0):
        seen = game.turns().obs[0].copy()
        stones.append(seen.sum(axis=(1, 2)).tolist())
        game.step(np.array([column]))
    assert stones == [[0, 0, 42], [1, 0, 41], [1, 1, 40]]  # theirs, mine, empty
    assert (seen[0, 0, 2], seen[1, 0, 3]) == (1, 1)


def test_parameters_travel_in_the_id() -> None:
    assert envs.make("openspiel:go(board_size=5)", 1).spec.num_actions == 26


def test_an_illegal_action_names_game_seat_and_action() -> None:
    game = envs.make("openspiel:tic_tac_toe", 1)
    game.step(np.array([4]))
    with pytest.raises(IllegalActionError, match=r"openspiel:tic_tac_toe: seat 1 of game 0 played 4"):
        game.step(np.array([4]))


@pytest.mark.parametrize(
    ("game_id", "reason"),
    [
        ("openspiel:mfg_crowd_modelling", "is a mean-field game"),
        ("openspiel:coin_game", "shows its players no tensors"),
    ],
)
def test_games_that_a_league_cannot_play_are_refused_with_the_reason(game_id: str, reason: str) -> None:
    with pytest.raises(GameError, match=reason):
        envs.make(game_id, 1)


def test_in_a_simultaneous_game_every_seat_decides() -> None:
    game = envs.make("openspiel:goofspiel(num_cards=3,imp_info=True)", 4, 0)
    turns = game.turns()
    assert turns.env.tolist() == [0, 0, 1, 1, 2, 2, 3, 3]
    assert turns.seat.tolist() == [0, 1] * 4
    step = game.step(np.array([0, 1] * 4))  # the second bids higher, three times
    step = game.step(np.array([1, 2] * 4))
    assert step.ended.all()  # the last card plays itself
    assert step.returns.sum(axis=1).tolist() == [0.0] * 4


def test_partners_and_cooperators_are_one_side() -> None:
    assert envs.make("openspiel:tiny_bridge_4p", 1).spec.sides == ((0, 2), (1, 3))
    assert envs.make("openspiel:hanabi", 1).spec.sides == ((0, 1),)
    assert len(envs.make("openspiel:leduc_poker(players=3)", 1).spec.sides) == 3
