"""A network learns to play as recorded games were played."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import envs
from agents.acting.collector import Collector
from agents.acting.policy import NetworkPolicy
from agents.acting.recorder import Recorder
from agents.acting.seating import Series
from agents.errors import AgentError
from agents.networks.spec import NetworkSpec
from agents.networks.weights import load_network
from agents.players.bots import RandomBot, make_bot
from agents.players.imitation import Demonstrations, imitate
from league.study.arena import Arena
from matchmaking.payoff import PayoffMatrix
from matchmaking.sides import Sides

GAME = "native:tic_tac_toe"
SPEC = NetworkSpec(18, 9, (64, 64))


def played(first: str, second: str, games: int) -> list[dict[str, Any]]:
    """Games of two bots, as the API gives them."""
    game = envs.make(GAME, 1, 0)
    recorder = Recorder(seconds_between=0.0)
    collector = Collector(game, [], fragment_length=1, fragment_lanes=1, seed=0, recorder=recorder)
    for name in {first, second}:
        collector.put_policy(name, make_bot(name, game.spec, 0))
    collector.put_policy("filler", RandomBot())
    collector.add_series(
        Series(0, (first, second), (0, 0), (False, False), 3 * games, "evaluation", "t", (0, 1), True),
        Series(1, ("filler", "filler"), (0, 0), (False, False), 10**6, "evaluation", "t", (0, 1), True),
    )
    found: list[dict[str, Any]] = []
    while len(found) < games:
        collector.tick()
        found += [{"returns": e.returns, "moves": e.moves, "players": e.players} for e in recorder.take()]
    return found


def test_a_clone_of_perfect_play_beats_chance_as_perfect_play_does() -> None:
    episodes = played("perfect", "random", 500)
    assert envs.make(GAME, 1).spec.observation_size == SPEC.observation_size
    demonstrations = Demonstrations.of(episodes, SPEC, players=["perfect"])
    assert 1000 < len(demonstrations.actions) < 3000
    result = imitate(demonstrations, SPEC, epochs=40, minibatch=256)
    assert result.log_loss < 0.75 * result.uniform_log_loss
    assert result.games == 500
    network, spec = load_network(result.checkpoint)
    assert spec == SPEC
    policies = {"clone": NetworkPolicy(network), "random": RandomBot()}
    arena = Arena(GAME, policies, sides=Sides(2), num_envs=64, temperature=0.0, seed=0)
    payoff = PayoffMatrix()
    arena.play([("clone", "random")], payoff, lambda _: False, 400)
    record = payoff.raw("clone", "random")
    assert (record.wins + 0.5 * record.draws) / record.games > 0.9


def test_only_what_winners_and_the_named_did_is_taken() -> None:
    episodes = played("perfect", "random", 40)
    every = Demonstrations.of(episodes, SPEC)
    assert len(every.actions) == sum(len(e["moves"]) for e in episodes)
    won = Demonstrations.of(episodes, SPEC, winners=True, players=["perfect"])
    assert 0 < len(won.actions) < len(every.actions)
    assert bool((won.outcomes >= 0).all())
    assert bool(np.take_along_axis(won.legal, won.actions[:, None], 1).all())


def test_what_cannot_be_learnt_from_is_said() -> None:
    episodes = played("random", "random", 2)
    with pytest.raises(AgentError, match="no decision to learn from"):
        Demonstrations.of(episodes, SPEC, players=["nobody"])
    with pytest.raises(AgentError, match="the network takes 5 numbers"):
        Demonstrations.of(episodes, NetworkSpec(5, 9))
