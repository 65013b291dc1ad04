"""The check passes real games and catches broken ones."""

from __future__ import annotations

import datetime
import random
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from envs import conformance
from envs.errors import GameContractError
from envs.families import native
from envs.native.connect_four import ConnectFour
from envs.registry import known_ids
from envs.vector_game import Step, Turns

GAMES = [
    *(i for i in known_ids() if i.startswith("native:")),
    "openspiel:connect_four",
    "openspiel:tic_tac_toe",
    "openspiel:kuhn_poker",
    "openspiel:leduc_poker",
    "openspiel:breakthrough(rows=6,columns=6)",
    "openspiel:backgammon",
    "openspiel:leduc_poker(players=3)",
]


@pytest.mark.parametrize("game_id", GAMES)
def test_real_games_keep_the_contract(game_id: str) -> None:
    report = conformance.check(game_id, episodes=40)
    assert report.failures == {}
    assert report.episodes >= 40


def judged() -> dict[str, str]:
    """The verdicts of docs/games.md, by id."""
    page = (Path(__file__).parents[2] / "docs" / "games.md").read_text()
    return dict(re.findall(r"^\| `([^`]+)` \|.*\| ([^|]+) \|$", page, re.MULTILINE))


def test_the_page_of_games_has_a_verdict_for_every_id() -> None:
    verdicts = judged()
    assert set(known_ids()) <= set(verdicts)
    refused = {i: why for i, why in verdicts.items() if why != "passes"}
    assert all(i.startswith("openspiel:") for i in refused), refused
    assert sum(i.startswith("openspiel:") for i in verdicts) - len(refused) >= 90


# Another six every day: all of them take minutes, which `make conformance` has.
PASSING = sorted(i for i, why in judged().items() if i.startswith("openspiel:") and why == "passes")
TODAY = random.Random(datetime.date.today().toordinal()).sample(PASSING, 6)


@pytest.mark.parametrize("game_id", TODAY)
def test_a_rotating_sample_of_openspiel_keeps_the_contract(game_id: str) -> None:
    report = conformance.check(game_id, episodes=4, max_moves=500, seconds=2.0, num_envs=3)
    assert report.failures == {}
    assert report.moves > 0


class WrongDtype(ConnectFour):
    def turns(self) -> Turns:
        t = super().turns()
        return Turns(t.env, t.seat, t.obs.astype(np.float32), t.legal)


class NoLegalAction(ConnectFour):
    def turns(self) -> Turns:
        t = super().turns()
        legal = t.legal.copy()
        legal[0] = False
        return Turns(t.env, t.seat, t.obs, legal)


class NotZeroSum(ConnectFour):
    def step(self, actions: Any) -> Step:
        s = super().step(actions)
        rewards = np.abs(s.rewards)
        return Step(rewards, s.ended, s.truncated, rewards)


class OutcomeDiffers(ConnectFour):
    def step(self, actions: Any) -> Step:
        s = super().step(actions)
        return Step(s.rewards, s.ended, s.truncated, -s.rewards)


class Leaky(ConnectFour):
    """Game 1 shows game 0's first stone."""

    def turns(self) -> Turns:
        t = super().turns()
        obs = t.obs.copy()
        obs[1, 0, 5, 6] = obs[0, 0, 0, 0]
        return Turns(t.env, t.seat, obs, t.legal)


class NaNReward(ConnectFour):
    def step(self, actions: Any) -> Step:
        s = super().step(actions)
        rewards = s.rewards.copy()
        rewards[0, 0] = np.nan
        return Step(rewards, s.ended, s.truncated, rewards)


class AcceptsAnything(ConnectFour):
    def __init__(self, num_envs: int, seed: int | None = None, **_: Any) -> None:
        super().__init__(num_envs, seed, forfeit_illegal=True)


@pytest.mark.parametrize(
    ("broken", "rule", "words"),
    [
        (WrongDtype, "play", "obs is float32, the space says uint8"),
        (NoLegalAction, "play", "a row has no legal action"),
        (NotZeroSum, "play", "do not sum to 0"),
        (OutcomeDiffers, "play", "the outcome says"),
        (NaNReward, "play", "a reward is NaN"),
        (Leaky, "reset isolation", "changed another game"),
        (AcceptsAnything, "illegal actions", "was accepted"),
    ],
)
def test_a_broken_game_is_named_with_the_rule_it_breaks(
    broken: Callable[..., Any], rule: str, words: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(native.GAMES, "broken", broken)
    report = conformance.check("native:broken", episodes=20)
    assert words in report.failures[rule]
    with pytest.raises(GameContractError, match="native:broken breaks the game contract"):
        report.raise_for_failures()
