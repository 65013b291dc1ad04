"""How fast a game is on one core: alone, with networks, and as one would write it without League."""

from __future__ import annotations

import random
import time
import warnings
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyspiel
from open_spiel.python.observation import make_observation

import envs
from agents.acting.collector import Collector
from agents.acting.policy import NetworkPolicy
from agents.acting.seating import Series
from agents.networks.build import build
from agents.networks.fitting import spec_for
from agents.players.bots import RandomBot
from envs.actions import random_moves
from envs.openspiel.game import load_game
from envs.tables.batch import PettingZooGame


@dataclass(frozen=True)
class GameSpeed:
    """Decisions of all seats a second on one core.

    Attributes:
      random_play: at random, the choice of actions left out. by_network: a network in every seat.
      bare: at random in the plain loop that one would write around the original; None of native games.
    """

    game_id: str
    num_envs: int
    random_play: float
    by_network: float
    bare: float | None


def measure(game_id: str, num_envs: int | None = None, seconds: float = 3.0) -> GameSpeed:
    """Plays a game for a while. Raises: GameError: it cannot be had.

    Args:
      num_envs: games at once; by default 4,096 of native ones, 256 of OpenSpiel's, 16 of others.
      seconds: of each measurement.
    """
    count = num_envs or _usual_size(game_id)
    by_network = _by_network(game_id, count, seconds)
    return GameSpeed(
        game_id, count, alone(game_id, count, seconds), by_network, _bare(game_id, count, seconds)
    )


def alone(game_id: str, num_envs: int | None = None, seconds: float = 3.0) -> float:
    """Returns moves a second at random; choosing the actions is not counted. Args: as of `measure`."""
    count = num_envs or _usual_size(game_id)
    game, rng = envs.make(game_id, count, 0, forfeit_illegal=True), np.random.default_rng(0)
    for _ in range(2):
        game.step(random_moves(game.spec, game.turns().legal, rng))
    moves, spent = 0, 0.0
    while spent < seconds:
        actions = random_moves(game.spec, game.turns().legal, rng)
        began = time.perf_counter()
        game.step(actions)
        game.turns()
        spent += time.perf_counter() - began
        moves += len(actions)
    game.close()
    return moves / spent


def _usual_size(game_id: str) -> int:
    return {"native": 4096, "openspiel": 256}.get(game_id.partition(":")[0], 16)


def _bare(game_id: str, num_envs: int, seconds: float) -> float | None:
    family, _, name = game_id.partition(":")
    if family == "openspiel":
        return _bare_openspiel(name, seconds)
    game = envs.make(game_id, 1)
    if not isinstance(game, PettingZooGame):
        return None
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        made = [game.make_environment() for _ in range(num_envs if not game.spec.turn_based else 1)]
        return _bare_in_turn(made[0], seconds) if game.spec.turn_based else _bare_together(made, seconds)


def _bare_openspiel(name: str, seconds: float) -> float:
    """One game after another, every observation into OpenSpiel's own buffer."""
    game = load_game(name)
    recall = bool(game.get_type().provides_information_state_tensor)
    observer = make_observation(game, pyspiel.IIGObservationType(perfect_recall=recall))
    rng = random.Random(0)
    moves, over = 0, time.perf_counter() + seconds
    began = time.perf_counter()
    while time.perf_counter() < over:
        state = game.new_initial_state()
        while not state.is_terminal():
            if state.is_chance_node():
                outcomes, chances = zip(*state.chance_outcomes(), strict=True)
                state.apply_action(rng.choices(outcomes, chances)[0])
                continue
            simultaneous = state.is_simultaneous_node()
            seats = range(game.num_players()) if simultaneous else (state.current_player(),)
            chosen = []
            for seat in seats:
                observer.set_from(state, seat)
                chosen.append(rng.choice(state.legal_actions(seat)))
            if simultaneous:
                state.apply_actions(chosen)
            else:
                state.apply_action(chosen[0])
            moves += len(chosen)
    return moves / (time.perf_counter() - began)


def _bare_in_turn(env: Any, seconds: float) -> float:
    """One AEC environment, by its own iterator."""
    moves, seed, began = 0, 0, time.perf_counter()
    while time.perf_counter() < began + seconds:
        seed += 1
        env.reset(seed=seed)
        for agent in env.agent_iter():
            observation, _, terminated, truncated, info = env.last()
            if terminated or truncated:
                env.step(None)
                continue
            mask = (
                observation.get("action_mask") if isinstance(observation, dict) else info.get("action_mask")
            )
            env.step(env.action_space(agent).sample(mask))
            moves += 1
    return moves / (time.perf_counter() - began)


def _bare_together(made: Sequence[Any], seconds: float) -> float:
    """As many Parallel environments as League's batch has, one after the other."""
    for seed, env in enumerate(made):
        env.reset(seed=seed)
    moves, seed, began = 0, len(made), time.perf_counter()
    while time.perf_counter() < began + seconds:
        for env in made:
            actions = {agent: env.action_space(agent).sample() for agent in env.agents}
            moves += len(actions)
            env.step(actions)
            if not env.agents:
                seed += 1
                env.reset(seed=seed)
    return moves / (time.perf_counter() - began)


def _by_network(game_id: str, num_envs: int, seconds: float) -> float:
    game = envs.make(game_id, num_envs, 0, forfeit_illegal=True)
    spec = game.spec
    network = spec_for(spec)
    collector = Collector(game, [], fragment_length=1, fragment_lanes=1, seed=0)
    collector.put_policy("network", NetworkPolicy(build(network, 0)))
    collector.put_policy("random", RandomBot())
    k = len(spec.sides)
    players, nobody = ("network",) * k, (False,) * k
    collector.add_series(Series(0, players, (0,) * k, nobody, 2, "evaluation", "bench"))
    for _ in range(2):
        collector.tick()
    before, began = collector.counts.moves, time.perf_counter()
    while time.perf_counter() - began < seconds:
        collector.tick()
    rate = (collector.counts.moves - before) / (time.perf_counter() - began)
    game.close()
    return rate
