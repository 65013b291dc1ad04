"""Bots are as strong as they claim, and say when they cannot play."""

from __future__ import annotations

import pytest

import envs
from agents.bots import make_bot
from agents.collector import Collector
from agents.errors import UnknownBotError
from agents.seating import Series


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
