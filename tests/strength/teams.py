"""Teams of PettingZoo's particle worlds, against what a few lines of script do."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

import envs
from agents.acting.policy import Policy, probabilities
from tests.strength.trained import Figure, Trained

EPISODES = 400
SPREAD, TAG = "pettingzoo:mpe2.simple_spread_v3", "pettingzoo:mpe2.simple_tag_v3"
NOTHING, LEFT, RIGHT, DOWN, UP = range(5)
CATCH = 10.0  # what each chaser gets for every step in which one of them touches the runner

Array = npt.NDArray[Any]
# Observations [R, D] and what is legal [R, A] to actions [R].
Choice = Callable[[Array, Array, np.random.Generator], Array]


def at_random(obs: Array, legal: Array, rng: np.random.Generator) -> Array:
    """Anything."""
    return rng.integers(legal.shape[1], size=len(obs))


def best_of(policy: Policy) -> Choice:
    """A network's best action."""

    def choose(obs: Array, legal: Array, rng: np.random.Generator) -> Array:
        logits = policy.heads(obs)[:, :-1]  # type: ignore[union-attr]
        return probabilities(logits, legal, 0.0).argmax(axis=1)

    return choose


def to_nearest_free_landmark(obs: Array, legal: Array, rng: np.random.Generator) -> Array:
    """simple_spread: landmarks are shared out, the nearest pair first, and everybody goes to its own.

    Everybody sees where all are (own velocity, own place, three landmarks, two others), so all share alike.
    """
    actions = np.zeros(len(obs), np.int64)
    for row, o in enumerate(obs):
        landmarks = o[4:10].reshape(3, 2)
        places = np.vstack([np.zeros(2), o[10:14].reshape(2, 2)])  # of me and the others, seen from me
        distance = np.linalg.norm(landmarks[None] - places[:, None], axis=-1)
        mine = 0
        for _ in range(3):
            agent, landmark = np.unravel_index(distance.argmin(), distance.shape)
            if agent == 0:
                mine = int(landmark)
                break
            distance[agent], distance[:, landmark] = np.inf, np.inf
        way = landmarks[mine] - 0.5 * o[:2]  # brakes in time
        actions[row] = _along(way) if np.abs(way).max() > 0.05 else NOTHING
    return actions


def away_from_chasers(obs: Array, legal: Array, rng: np.random.Generator) -> Array:
    """simple_tag: the runner goes where the chasers are not, and not off the field."""
    actions = np.zeros(len(obs), np.int64)
    for row, o in enumerate(obs):
        place, chasers = o[2:4], o[8:14].reshape(3, 2)
        near = np.linalg.norm(chasers, axis=1, keepdims=True) + 1e-3
        way = -(chasers / near**3).sum(axis=0)
        way -= np.where(np.abs(place) > 0.8, 4.0 * place, 0.0)
        actions[row] = _along(way)
    return actions


def _along(way: Array) -> int:
    if abs(way[0]) > abs(way[1]):
        return RIGHT if way[0] > 0 else LEFT
    return UP if way[1] > 0 else DOWN


def mean_returns(game_id: str, choices: Mapping[str, Choice], episodes: int = EPISODES) -> dict[str, float]:
    """Returns what each seat gets an episode. Args: choices: by what seats' names begin with."""
    game, rng = envs.make(game_id, 16, 0), np.random.default_rng(0)
    seats = [s.name for s in game.spec.seats]
    chooser = [next(c for name, c in choices.items() if seat.startswith(name)) for seat in seats]
    total, played = np.zeros(len(seats)), 0
    while played < episodes:
        turns = game.turns()
        actions = np.zeros(len(turns.seat), np.int64)
        for choice in set(chooser):
            rows = np.array([chooser[s] is choice for s in turns.seat])
            actions[rows] = choice(turns.obs[rows], turns.legal[rows], rng)
        step = game.step(actions)
        total += step.returns[step.ended].sum(axis=0)
        played += int(step.ended.sum())
    game.close()
    return dict(zip(seats, (total / played).tolist(), strict=True))


def simple_spread(folder: Path) -> list[Figure]:
    """Ten minutes."""
    league = Trained("strength/simple_spread.yaml", folder / "simple_spread")
    trained, random, scripted = (
        float(np.mean(list(mean_returns(SPREAD, {"agent": choice}).values())))
        for choice in (best_of(league.main()), at_random, to_nearest_free_landmark)
    )
    closed = (trained - random) / (scripted - random)
    text = f"{closed:.2f} (trained {trained:.1f}, random {random:.1f}, scripted {scripted:.1f})"
    what = f"simple_spread, 10 minutes: of the gap between random and scripted play, {EPISODES} games"
    return [Figure(what, text, "≥ 0.50", closed >= 0.5)]


def simple_tag(folder: Path) -> list[Figure]:
    """Ten minutes."""
    league = Trained("strength/simple_tag.yaml", folder / "simple_tag")
    caught = {
        name: mean_returns(TAG, {"adversary": choice, "agent": away_from_chasers})["adversary_0"] / CATCH
        for name, choice in (("trained", best_of(league.main())), ("random", at_random))
    }
    text = (
        f"{caught['trained'] / caught['random']:.1f} × ({caught['trained']:.2f} and {caught['random']:.2f})"
    )
    what = f"simple_tag, 10 minutes: catches of scripted runners for random chasers', {EPISODES} games"
    return [Figure(what, text, "≥ 2 ×", caught["trained"] >= 2.0 * caught["random"])]
