"""Search: it finds what a look ahead can find, and is right where the tree is whole."""

from __future__ import annotations

import numpy as np
import pytest
import torch

import envs
from agents.acting.policy import NetworkPolicy
from agents.acting.search import SearchPolicy, considered_visits, require_searchable
from agents.errors import AgentError
from agents.networks.build import build
from agents.networks.fitting import spec_for
from agents.players.bots import RandomBot, make_bot
from envs.errors import GameError
from envs.vector_game import VectorGame

SEARCHABLE = (
    "native:connect_four",
    "native:tic_tac_toe",
    "native:breakthrough(rows=5,columns=4)",
    "openspiel:connect_four",
    "openspiel:othello",
)


def blind(game: VectorGame, simulations: int) -> SearchPolicy:
    """A search with a network that likes every action alike and thinks every position even."""
    network = build(spec_for(game.spec, hidden=(8,)), 0)
    for parameter in network.parameters():
        torch.nn.init.zeros_(parameter)
    return SearchPolicy(NetworkPolicy(network), game.spec, simulations)


def play(game: VectorGame, moves: list[int]) -> VectorGame:
    for move in moves:
        game.step(np.full(game.num_envs, move))
    return game


@pytest.mark.parametrize("game_id", SEARCHABLE)
def test_copied_positions_are_the_same_and_go_their_own_way(game_id: str) -> None:
    game, rng = envs.make(game_id, 8, 0), np.random.default_rng(0)
    bot = RandomBot()
    for _ in range(5):
        turns = game.turns()
        game.step(bot.act(game, turns.env, turns.legal, rng))
    copies = game.blank(20)
    origins, targets = np.array([3, 3, 7, 0]), np.array([19, 0, 4, 5])
    copies.copy_games(game, origins, targets)
    before = game.turns().obs.copy()
    for _ in range(3):
        turns, there = copies.turns(), game.turns()
        assert np.array_equal(turns.obs[targets][:1], turns.obs[targets][1:2])
        actions = bot.act(copies, turns.env, turns.legal, rng)
        actions[0] = actions[19]
        if _ == 0:
            assert np.array_equal(turns.obs[targets], there.obs[origins])
            assert np.array_equal(turns.legal[targets], there.legal[origins])
            assert np.array_equal(turns.seat[targets], there.seat[origins])
            assert copies.histories(targets) == game.histories(origins)
        copies.step(actions)
    assert np.array_equal(game.turns().obs, before), "the original has not moved"


def test_a_win_in_one_is_taken_and_one_of_the_other_s_is_stopped() -> None:
    """Four on the bottom row: 0 1 2 against stones on top of them; then the same a move later."""
    win = play(envs.make("native:connect_four", 4, 0), [0, 0, 1, 1, 2, 2])
    result = blind(win, 32).search(win, np.arange(4, dtype=np.int32))
    assert result.actions.tolist() == [3] * 4
    assert (result.values > 0.5).all()
    stop = play(envs.make("native:connect_four", 1, 0), [0, 6, 1, 6, 2])
    result = blind(stop, 400).search(stop, np.zeros(1, np.int32))
    assert result.actions.tolist() == [3]
    assert result.policy.sum() == pytest.approx(1.0)


def test_with_enough_simulations_tic_tac_toe_is_not_lost() -> None:
    """Against the perfect bot from both sides, with a network that knows nothing."""
    game, rng = envs.make("native:tic_tac_toe", 8, 0), np.random.default_rng(1)
    search, perfect = blind(game, 1600), make_bot("perfect", game.spec, 0)
    seat_of_search = np.arange(8) % 2
    lost, ended = 0, 0
    while ended < 8:
        turns = game.turns()
        actions = perfect.act(game, turns.env, turns.legal, rng)
        mine = np.flatnonzero(turns.seat == seat_of_search)
        if len(mine):
            actions[mine] = search.act(game, turns.env[mine], turns.legal[mine], rng)
        step = game.step(actions)
        over = np.flatnonzero(step.ended)
        ended += len(over)
        lost += int((step.returns[over, seat_of_search[over]] < 0).sum())
    assert lost == 0


def test_games_do_not_change_and_a_lot_at_a_time_gives_the_same(monkeypatch: pytest.MonkeyPatch) -> None:
    game = play(envs.make("openspiel:connect_four", 6, 0), [3, 2])
    search, env = blind(game, 16), np.arange(6, dtype=np.int32)
    whole = search.search(game, env)
    monkeypatch.setattr("agents.acting.search.LARGEST_LOT", 1)
    parts = search.search(game, env)
    assert np.array_equal(whole.actions, parts.actions)
    np.testing.assert_allclose(whole.policy, parts.policy)
    assert game.histories(env) == [[3, 2]] * 6


def test_halving_visits_everybody_and_then_the_best() -> None:
    """16 simulations over 4 actions: two rounds of two visits each, then two rounds among two."""
    table = considered_visits(4, 16)
    assert table[4].tolist() == [0, 0, 0, 0, 1, 1, 1, 1, 2, 2, 3, 3, 4, 4, 5, 5]
    assert table[1].tolist() == list(range(16))
    assert considered_visits(16, 8)[16].tolist() == [0] * 8


@pytest.mark.parametrize(
    ("game_id", "why"),
    [
        ("native:kuhn_poker", "needs perfect information"),
        ("openspiel:backgammon", "looks through no chance"),
        ("native:pong", "perfect information|zero-sum games of two"),
        ("openspiel:goofspiel", "zero-sum games of two that move in turn"),
    ],
)
def test_what_cannot_be_searched_is_refused(game_id: str, why: str) -> None:
    with pytest.raises(AgentError, match=why):
        require_searchable(envs.spec_of(game_id))


def test_a_game_that_copies_no_positions_says_so() -> None:
    with pytest.raises(GameError, match="positions of native:pong cannot be copied"):
        envs.make("native:pong", 1).blank(1)
