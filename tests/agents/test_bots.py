"""Bots are as strong as they claim, and say when they cannot play."""

from __future__ import annotations

import pytest

import envs
from agents.acting.collector import Collector
from agents.acting.seating import Series
from agents.errors import UnknownBotError
from agents.players.bots import make_bot
from league.study.arena import Arena
from matchmaking.payoff import PayoffMatrix
from matchmaking.sides import Sides


def score(game_id: str, first: str, second: str, episodes: int = 60) -> float:
    """The first bot's score against the second, seats balanced."""
    game = envs.make(game_id, 20, 0)
    c = Collector(game, [], fragment_length=1, fragment_lanes=1, seed=0)
    for i, bot in enumerate((first, second)):
        c.put_policy(bot, make_bot(bot, game.spec, i))
    c.add_series(Series(0, (first, second), (0, 0), (False, False), episodes, "evaluation", "test"))
    c.add_series(Series(1, (first, second), (0, 0), (False, False), episodes, "evaluation", "test"))
    while not (results := c.take_results()):
        c.tick()
    (pair,) = results[0].pairs()
    return (pair.wins + 0.5 * pair.draws) / int(pair.counts.sum())


@pytest.mark.parametrize("game_id", ["native:connect_four", "openspiel:connect_four"])
def test_search_beats_random_play(game_id: str) -> None:
    assert score(game_id, "mcts:20", "random") > 0.85


def test_more_search_beats_less() -> None:
    assert score("native:connect_four", "mcts:200", "mcts:5") > 0.8


@pytest.mark.parametrize("wrong", ["mcts", "mcts:", "mcts:0", "mcts:x", "minimax", ""])
def test_an_unknown_bot_is_told_what_there_is(wrong: str) -> None:
    with pytest.raises(UnknownBotError, match="known: random, mcts:SIMULATIONS"):
        make_bot(wrong, envs.make("native:connect_four", 1).spec, 0)


def test_search_refuses_hidden_cards() -> None:
    with pytest.raises(UnknownBotError, match="perfect information"):
        make_bot("mcts:10", envs.make("openspiel:kuhn_poker", 1).spec, 0)


def test_perfect_play_never_loses_and_beats_chance() -> None:
    game_id = "native:tic_tac_toe"
    spec = envs.make(game_id, 1).spec
    perfect = make_bot("perfect", spec, 0)
    arena = Arena(
        game_id,
        {"perfect": perfect, "random": make_bot("random", spec, 0), "again": perfect},
        sides=Sides(2),
        num_envs=32,
        temperature=0.0,
        seed=0,
    )
    payoff = PayoffMatrix()
    arena.play([("perfect", "random"), ("perfect", "again")], payoff, lambda _: False, 200)
    record = payoff.raw("perfect", "random")
    assert (record.losses, record.games) == (0, 200)
    assert record.wins > 150
    assert payoff.raw("perfect", "again").draws == 200


@pytest.mark.parametrize(
    ("game_id", "why"),
    [
        ("native:connect_four", "more than 20,000 positions"),
        ("native:kuhn_poker", "without chance or hidden parts"),
        ("native:pong", "has no game"),
    ],
)
def test_perfect_play_is_of_small_games(game_id: str, why: str) -> None:
    with pytest.raises(UnknownBotError, match=why):
        make_bot("perfect", envs.make(game_id, 1).spec, 0)
