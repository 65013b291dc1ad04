"""Leagues of three players, of teams, of nobody to play against, and of games that break down."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from league.bootstrap import Stores
from league.config.run import RunConfig
from league.errors import BadGamesError, ConfigError
from league.store.check import check_run
from league.store.checkpoints import CheckpointStore
from league.store.repositories.league_state import LeagueRepository
from league.study.tournaments import TournamentRules
from matchmaking.sequential import StopRule
from tests.serial_league import play

Make = Callable[..., RunConfig]
SLOW = {
    "rollout": {"num_envs": 8, "fragment_length": 8, "fragment_lanes": 16, "episodes_per_series": 8},
    "evaluation": {"share": 0.5, "num_envs": 4, "episodes": 4},
    "learner": {"minibatch": 64, "precision": "float32"},
}


def clean(stores: Stores, run_id: str) -> bool:
    database = stores.open_database(upgrade=False)
    return check_run(database, CheckpointStore(stores.checkpoint_url), run_id) == []


def test_three_players_are_rated_in_pairs(stores: Stores, small_config: Make) -> None:
    config = small_config(game="openspiel:leduc_poker(players=3)", anchors=["random"])
    record = play(stores, config)
    service = stores.service()
    rows = {row.player: row for row in service.standings(record.id)}
    assert {"main.0", "main.0.v1", "main_exploiter.0", "random"} <= set(rows)
    assert all(rows[name].rated_games > 0 for name in ("main.0", "main.0.v1", "random"))
    league = LeagueRepository(stores.open_database(upgrade=False), record.id).load()
    assert {(p.first, p.second) for p in league.pairs} >= {("main.0", "main.0.v1"), ("main.0", "random")}
    assert clean(stores, record.id)
    rules = TournamentRules("round-robin", ("main.0", "random"), stop=StopRule(0.2, max_games=200))
    results = service.tournament(record.id, CheckpointStore(stores.checkpoint_url), rules)
    (pair,) = results.pairs
    # One sits alone against two of the other, in turn; every game is two results of the pair.
    assert pair.wins + pair.draws + pair.losses == results.games
    assert results.games % 4 == 0


def test_chasers_and_runners_are_populations_of_their_own(stores: Stores, small_config: Make) -> None:
    players = [
        {"role": "main", "seats": ["adversary_*"], "snapshot": {"min_steps": 300, "max_steps": 600}},
        {"role": "main", "seats": ["agent_0"], "snapshot": {"min_steps": 100, "max_steps": 200}},
    ]
    players[0]["network"] = {"hidden": [16], "critic": "team"}  # only the chasers have teammates to be shown
    game = "pettingzoo:mpe2.simple_tag_v3(max_cycles=10)"
    config = small_config(game=game, players=players, anchors=["random"], stop={"moves": 12_000}, **SLOW)
    record = play(stores, config)
    league = LeagueRepository(stores.open_database(upgrade=False), record.id).load()
    chasers = {p.name for p in league.players if "main.0" in (p.name, p.parent)}
    runners = {p.name for p in league.players if "main.1" in (p.name, p.parent)}
    assert len(chasers) > 1
    assert len(runners) > 1
    for pair in league.pairs:  # nobody ever met one of its own side
        assert not {pair.first, pair.second} <= chasers
        assert not {pair.first, pair.second} <= runners
    assert any({p.first, p.second} <= chasers | runners for p in league.pairs)
    assert clean(stores, record.id)


def test_a_cooperative_league_has_scores(stores: Stores, small_config: Make) -> None:
    game = "openspiel:tiny_hanabi"
    players = [{"role": "main", "snapshot": {"min_steps": 2_000, "max_steps": 4_000}}]
    config = small_config(game=game, players=players, anchors=["random"], stop={"moves": 60_000})
    record = play(stores, config)
    service = stores.service()
    rows = service.standings(record.id)
    assert [row.rank for row in rows] == list(range(1, len(rows) + 1))
    scores = [row.score for row in rows if row.score is not None]
    assert scores == sorted(scores, reverse=True)
    by_name = {row.player: row for row in rows}
    best, luck = by_name["main.0"].score, by_name["random"].score
    assert best is not None
    assert luck is not None
    assert best > luck + 0.5  # 10 is the most there is; random play gets about 4.5
    assert clean(stores, record.id)
    rules = TournamentRules("round-robin", ("main.0", "main.0@start"), stop=StopRule(0.1))
    results = service.tournament(record.id, CheckpointStore(stores.checkpoint_url), rules)
    assert results.cooperative
    assert [p.player for p in results.ranking] == ["main.0", "main.0@start"]


BROKEN = """
import os
import numpy as np
from gymnasium.spaces import Box, Discrete
from pettingzoo import ParallelEnv


class Env(ParallelEnv):
    metadata = {"name": "broken"}

    def __init__(self, bad_every, exits=False):
        self.possible_agents, self.episode, self.bad_every = ["a", "b"], 0, bad_every
        self.exits = exits

    def observation_space(self, agent):
        return Box(-1, 1, (1,), np.float32)

    def action_space(self, agent):
        return Discrete(2)

    def reset(self, seed=None, options=None):
        self.agents, self.episode = list(self.possible_agents), self.episode + 1
        return self._seen(), {}

    def _seen(self):
        return {a: np.zeros(1, np.float32) for a in self.possible_agents}

    def step(self, actions):
        agents, self.agents = self.agents, []
        if self.episode % self.bad_every == 0:
            if self.exits:
                os._exit(3)
            raise RuntimeError("the arm fell off")
        won = actions["a"] - actions["b"]
        rewards = {"a": float(won), "b": float(-won)}
        return self._seen(), rewards, dict.fromkeys(agents, True), dict.fromkeys(agents, False), {}
"""


@pytest.fixture
def own_game(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    (tmp_path / "fallible.py").write_text(BROKEN)
    monkeypatch.chdir(tmp_path)
    monkeypatch.syspath_prepend(str(tmp_path))
    return "python:fallible:Env"


def config_of(small_config: Make, game: str, **more: Any) -> RunConfig:
    players = [{"role": "main", "snapshot": {"min_steps": 500, "max_steps": 1_000}}]
    usual = {**SLOW, "stop": {"moves": 8_000}, "anchors": ["random"]}
    return small_config(game=game, players=players, **{**usual, **more})


def test_a_game_that_breaks_down_now_and_then_is_written_down_and_played_on(
    stores: Stores, small_config: Make, own_game: str
) -> None:
    config = config_of(small_config, f"{own_game}(bad_every=100)")
    record = play(stores, config)
    assert record.state == "finished"
    events = [e for e in stores.service().events(record.id) if e.kind == "bad_episode"]
    assert events
    assert "step raised RuntimeError: the arm fell off" in events[0].data["reason"]
    assert "episode with seed " in events[0].data["reason"]
    assert clean(stores, record.id)


def test_a_game_whose_process_dies_is_started_again(
    stores: Stores, small_config: Make, own_game: str
) -> None:
    config = config_of(
        small_config,
        f"{own_game}(bad_every=40,exits=true)",
        envs={"isolation": "process", "max_bad_share": 0.5},
        stop={"moves": 400},
        rollout={"num_envs": 2, "fragment_length": 4, "fragment_lanes": 16, "episodes_per_series": 4},
        evaluation={"share": 0.3, "num_envs": 2, "episodes": 2},
    )
    record = play(stores, config)
    assert record.state == "finished"
    reasons = [e.data["reason"] for e in stores.service().events(record.id) if e.kind == "bad_episode"]
    assert reasons
    assert all("its process ended with exit code 3 during play" in reason for reason in reasons)
    assert clean(stores, record.id)


def test_a_game_that_breaks_down_too_often_ends_the_run_with_the_reason(
    stores: Stores, small_config: Make, own_game: str
) -> None:
    config = config_of(small_config, f"{own_game}(bad_every=5)", envs={"max_bad_share": 0.1})
    with pytest.raises(BadGamesError, match=r"episodes broke down, more than envs\.max_bad_share=0\.1"):
        play(stores, config)
    (record,) = stores.service().runs()
    assert record.state == "failed"
    assert "the arm fell off" in (record.stop_reason or "")


@pytest.mark.parametrize(
    ("changes", "complaint"),
    [
        (
            {"players": [{"role": "main", "seats": ["adversary_*"]}]},
            "players: no main plays agent_0; add one with these seats",
        ),
        (
            {"players": [{"role": "main", "seats": ["adversary_0", "agent_0"]}]},
            "adversary_0 without adversary_1, adversary_2: one player plays a whole team",
        ),
        (
            {"players": [{"role": "main", "seats": ["adversery_*"]}]},
            "'adversery_*' is no seat of pettingzoo:mpe2.simple_tag_v3",
        ),
        (
            {
                "game": "openspiel:tiny_hanabi",
                "players": [{"role": "main"}, {"role": "main_exploiter"}],
            },
            "main_exploiter has nobody to exploit: in openspiel:tiny_hanabi all seats are of one team",
        ),
    ],
)
def test_seats_that_do_not_fit_are_named(changes: dict[str, Any], complaint: str) -> None:
    data = {"stop": {"minutes": 1}, "game": "pettingzoo:mpe2.simple_tag_v3", **changes}
    with pytest.raises(ConfigError) as error:
        RunConfig.from_data(data)
    assert complaint in str(error.value)
