"""PettingZoo's environments keep the contract; those that do not are caught, wherever they run."""

from __future__ import annotations

import os
import re
import time
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from gymnasium import spaces
from pettingzoo import ParallelEnv

import envs
from envs import conformance
from envs.errors import GameContractError, GameError, IllegalActionError, UnknownGameError
from envs.registry import known_ids
from envs.tables.batch import PettingZooGame
from envs.tables.process import ProcessTable
from envs.tables.table import TableOptions
from league.config.run import RunConfig

IDS = [i for i in known_ids() if i.startswith("pettingzoo:")]
# The images of these are hundreds of kilobytes; as a league would play them they are small.
SMALL = {"cooperative_pong_v6": "(image_size=24,grayscale=true)", "pistonball_v6": "(image_size=24)"}


@pytest.mark.parametrize("game_id", IDS)
def test_every_environment_keeps_the_contract(game_id: str) -> None:
    assert len(IDS) >= 26
    small = next((options for name, options in SMALL.items() if game_id.endswith(name)), "")
    report = conformance.check(game_id + small, episodes=2, max_moves=200, seconds=1.0, num_envs=2)
    report.raise_for_failures()
    assert report.moves > 0


class Duel(ParallelEnv):  # type: ignore[misc]
    """Two agents, five steps; `fault` says what goes wrong at the third."""

    metadata = {"name": "duel"}  # noqa: RUF012

    def __init__(
        self,
        fault: str = "",
        actions: spaces.Space[Any] | None = None,
        observations: spaces.Space[Any] | None = None,
    ) -> None:
        self.fault = fault
        self._observations = observations or spaces.Box(-1, 1, (2,), np.float32)
        self.possible_agents = ["one", "two"]
        self._actions = actions or spaces.Discrete(3)

    def observation_space(self, agent: str) -> spaces.Space[Any]:
        return self._observations

    def action_space(self, agent: str) -> spaces.Space[Any]:
        return self._actions

    def reset(self, seed: int | None = None, options: Any = None) -> tuple[Any, Any]:
        self.agents, self.clock, self.taken = list(self.possible_agents), 0, []
        return self._seen(), {a: {} for a in self.agents}

    def step(self, actions: dict[str, Any]) -> tuple[Any, Any, Any, Any, Any]:
        self.clock += 1
        self.taken.append(actions)
        wrong = self.fault if self.clock == 3 else ""
        if wrong == "raise":
            raise ZeroDivisionError("by nothing")
        if wrong == "crash":
            os._exit(9)
        if wrong == "hang":
            time.sleep(60)
        over = self.clock == 5 and self.fault != "endless"
        agents = self.agents
        if wrong == "dead reward":
            self.agents = ["two"]
        seen, rewards = self._seen(), dict.fromkeys(agents, 0.1)
        if wrong == "nan":
            seen["two"] = np.array([0.0, np.nan], np.float32)
        if wrong == "shape":
            seen["two"] = np.zeros(3, np.float32)
        if wrong == "reward":
            rewards["one"] = float("inf")
        if self.clock == 4 and self.fault == "dead reward":
            rewards["one"] = 5.0
        infos = {a: {"action_mask": np.zeros(3) if wrong == "mask" else np.ones(3)} for a in agents}
        if over:
            self.agents = []
        return (
            seen,
            rewards,
            dict.fromkeys(agents, over and not self.fault),
            dict.fromkeys(agents, over),
            infos,
        )

    def _seen(self) -> dict[str, Any]:
        box = self._observations
        return {a: np.full(box.shape, self.clock / 10, box.dtype) for a in self.possible_agents}


def faulty(fault: str, **options: Any) -> PettingZooGame:
    return PettingZooGame("python:tests:duel", _Make(fault), 2, 0, **options)


class _Make:
    """Makes a duel in whatever process."""

    def __init__(self, fault: str) -> None:
        self.fault = fault

    def __call__(self) -> Duel:
        return Duel(self.fault)


@pytest.mark.parametrize(
    ("fault", "complaint"),
    [
        ("nan", r"step 3: two sees nan at place 1"),
        ("shape", r"step 3: two sees .*: an observation of shape \(3,\), the space says \(2,\)"),
        ("mask", r"step 3: one has an action mask without a legal action"),
        ("reward", r"step 3: one got a reward of inf"),
        ("dead reward", r"step 4: one, who is not in the game any more, got a reward of 5.0"),
        ("raise", r"step 3: step raised ZeroDivisionError: by nothing"),
        ("endless", r"step 20: not over after max_episode_steps=20"),
    ],
)
def test_what_an_environment_does_wrong_breaks_one_episode_off_and_is_named(
    fault: str, complaint: str
) -> None:
    game = faulty(fault, max_episode_steps=20)
    aborted = 0
    for _ in range(25):
        step = game.step(np.zeros(len(game.turns().env), np.int64))
        assert step.aborted is not None
        assert (step.ended & step.truncated)[step.aborted].all()
        aborted += int(step.aborted.sum())
    errors = game.take_errors()
    assert aborted == len(errors) >= 2
    for error in errors:
        assert error.startswith("python:tests:duel, episode with seed ")
        assert re.search(complaint, error)
    assert game.take_errors() == []


def test_an_environment_in_a_process_of_its_own_plays_the_same_and_is_caught_the_same() -> None:
    here, there = faulty("nan"), faulty("nan", isolation="process")
    for _ in range(8):
        assert (here.turns().obs == there.turns().obs).all()
        actions = np.zeros(4, np.int64)
        one, other = here.step(actions), there.step(actions)
        assert (one.rewards == other.rewards).all()
        assert (one.aborted == other.aborted).all()
    assert here.take_errors() == there.take_errors() != []
    there.close()


@pytest.mark.parametrize(
    ("fault", "complaint"), [("crash", "exit code 9"), ("hang", "did not play within 1 s")]
)
def test_a_process_that_crashes_or_hangs_costs_its_own_episode(fault: str, complaint: str) -> None:
    table = ProcessTable("python:tests:duel", _Make(fault), TableOptions(), answer_seconds=20.0)
    table.play_in((3,))
    table._answer_seconds = 1.0
    due = table.reset(0)
    for _ in range(2):
        table.step([0, 0], due)
        due = table.due()
    with pytest.raises(GameContractError, match=complaint):
        table.step([0, 0], due)
    table._answer_seconds = 20.0
    table.restart()
    assert table.reset(1).seats == [0, 1]
    table.close()


def test_truncation_is_told_from_termination() -> None:
    for fault, truncated in (("", False), ("cut", True)):
        game = faulty(fault)
        for _ in range(5):
            step = game.step(np.zeros(4, np.int64))
        assert step.ended.all()
        assert (step.truncated == truncated).all()
        assert step.returns == pytest.approx(0.5)


@pytest.mark.parametrize(
    ("space", "factors", "action", "expected"),
    [
        (spaces.Discrete(3, start=4), (3,), 2, 6),
        (spaces.MultiDiscrete([2, 3]), (2, 3), 5, [1, 2]),
        (spaces.MultiBinary(3), (2, 2, 2), 5, [1, 0, 1]),
        (spaces.Box(-1.0, 1.0, (2,), np.float32), (5, 5), 5 * 4 + 2, [1.0, 0.0]),
        (spaces.Box(0.0, np.array([2.0, 8.0], np.float32)), (5, 5), 5 * 1 + 3, [0.5, 6.0]),
    ],
)
def test_actions_become_what_the_environment_takes(
    space: spaces.Space[Any], factors: tuple[int, ...], action: int, expected: Any
) -> None:
    duels: list[Duel] = []

    def make() -> Duel:
        duels.append(Duel(actions=space))
        return duels[-1]

    game = PettingZooGame("python:tests:duel", make, 1, 0, bins=5)
    assert game.spec.action_factors == factors
    game.turns()
    game._legal[:] = True
    game.step(np.array([action, action]))
    assert np.asarray(duels[1].taken[0]["one"]).tolist() == expected
    assert duels[1].taken[0]["one"] in space


def test_an_illegal_action_is_refused_or_loses_the_game() -> None:
    game = envs.make("pettingzoo:classic.tictactoe_v3", 2, 0)
    game.step(np.array([4, 4]))
    with pytest.raises(IllegalActionError, match="seat 1 of game 1 played 4"):
        game.step(np.array([0, 4]))
    lenient = envs.make("pettingzoo:classic.tictactoe_v3", 2, 0, forfeit_illegal=True)
    lenient.step(np.array([4, 4]))
    step = lenient.step(np.array([0, 4]))
    assert step.ended.tolist() == [False, True]
    assert step.returns[1].tolist() == [0.0, -1.0]


@pytest.mark.parametrize(
    ("space", "scale"),
    [
        (spaces.Box(0, 1, (4,), np.uint8), 1.0),
        (spaces.Box(0, 1, (4,), np.int8), 1.0),
        (spaces.Box(0, 1, (4,), np.bool_), 1.0),
        (spaces.MultiBinary(4), 1.0),
        (spaces.Box(0, 4, (4,), np.uint8), 0.25),
        (spaces.Box(0, 255, (8, 8, 1), np.uint8), 1 / 255),
        (spaces.Box(-1, 1, (4,), np.int8), 1.0),
        (spaces.Box(0, 255, (4,), np.float32), 1.0),
    ],
)
def test_bytes_reach_the_network_between_zero_and_one(space: spaces.Space[Any], scale: float) -> None:
    game = PettingZooGame("python:tests:duel", lambda: Duel(observations=space), 1, 0)
    config = RunConfig.from_text("{stop: {moves: 1}, players: [{role: main}]}")
    assert config.network_spec(config.players[0], game.spec).scale == pytest.approx(scale)


def test_images_are_small_gray_stacked_and_channel_first() -> None:
    game = envs.make(
        "pettingzoo:butterfly.cooperative_pong_v6(image_size=20,grayscale=true,frame_stack=3)", 1, 0
    )
    assert game.spec.observation_shape == (3, 20, 20)
    assert game.spec.observation_dtype == np.uint8
    first = game.turns().obs.copy()
    assert (first[:, 0] == first[:, 2]).all()  # at the start the first picture stands for all
    for _ in range(4):
        before = game.turns().obs.copy()
        game.step(np.ones(2, np.int64))
        assert (game.turns().obs[:, :2] == before[:, 1:]).all()  # older pictures move up
    assert game.turns().obs.max() > 0


def test_seats_that_see_different_things_share_a_padded_observation_with_their_number() -> None:
    game = envs.make("pettingzoo:mpe2.simple_speaker_listener_v4", 2, 0)
    turns = game.turns()
    assert turns.obs.shape == (4, 13)
    speaker, listener = turns.obs[0], turns.obs[1]
    assert speaker[3:5].tolist() == [1.0, 0.0]  # three numbers of its own, then which seat it is
    assert listener[11:].tolist() == [0.0, 1.0]
    assert turns.legal[0].tolist() == [True] * 3 + [False] * 2


@pytest.mark.parametrize(
    ("game_id", "sides"),
    [
        ("pettingzoo:mpe2.simple_tag_v3", ((0, 1, 2), (3,))),
        ("pettingzoo:mpe2.simple_spread_v3", ((0, 1, 2),)),
        ("pettingzoo:mpe2.simple_spread_v3(teams=each)", ((0,), (1,), (2,))),
        ("pettingzoo:mpe2.simple_spread_v3(teams=[0,1,0])", ((0, 2), (1,))),
        ("pettingzoo:classic.connect_four_v3", ((0,), (1,))),
    ],
)
def test_teams_are_sides(game_id: str, sides: tuple[tuple[int, ...], ...]) -> None:
    assert envs.make(game_id, 1).spec.sides == sides


def _nothing() -> object:
    return object()


@pytest.mark.parametrize(
    ("make", "complaint"),
    [
        (
            lambda: envs.make("pettingzoo:classic.conect_four_v3", 1),
            "classic has no environment of that name; did",
        ),
        (lambda: envs.make("pettingzoo:atari.pong_v3", 1), "expected one of classic, butterfly, sisl, mpe2"),
        (lambda: envs.make("pettingzoo:mpe2.simple_tag_v3(max_cicles=3)", 1), "unexpected keyword argument"),
        (
            lambda: envs.make("pettingzoo:mpe2.simple_tag_v3(teams=[0,1])", 1),
            "teams has 2 numbers for 4 seats",
        ),
        (lambda: PettingZooGame("python:x:y", _nothing, 1), "made a object without possible_agents"),
        (lambda: envs.make("python:no.such.module:make", 1), "No module named"),
        (lambda: envs.make("python:json:dmps", 1), "json has no dmps; it has"),
        (lambda: envs.make("python:json", 1), r"expected python:package\.module:name"),
        (lambda: envs.make("plugin:nothing", 1), "no entry point of that name"),
        (
            lambda: PettingZooGame(
                "python:x:y", lambda: Duel(actions=spaces.Box(-np.inf, np.inf, (1,), np.float32)), 1
            ),
            "cannot act in Box",
        ),
    ],
)
def test_what_cannot_be_made_says_why(make: Callable[[], object], complaint: str) -> None:
    with pytest.raises((GameError, UnknownGameError), match=complaint):
        make()
