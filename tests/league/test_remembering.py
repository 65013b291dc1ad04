"""Players that remember, in a league, behind the API and against a person."""

from __future__ import annotations

import asyncio
from collections.abc import Callable

import numpy as np
import pytest

import envs
from agents.acting.policy import NetworkPolicy
from league.bootstrap import Stores
from league.config.run import RunConfig
from league.control.access import LOCAL
from league.errors import BadRequestError, ConfigError
from league.settings import Settings
from league.store.checkpoints import CheckpointStore
from league.store.policies import load_network
from league.study.standings import standing_as_json
from tests.serial_league import play

Make = Callable[..., RunConfig]
COMMON = {"role": "main", "snapshot": {"min_steps": 4_000, "max_steps": 8_000}}


def test_players_that_remember_learn_act_and_play(stores: Stores, small_config: Make) -> None:
    players = [
        {**COMMON, "network": {"hidden": [16], "memory": "gru"}},
        {
            **COMMON,
            "network": {"hidden": [16], "memory": "lstm", "memory_units": 8},
            "learner": {"algorithm": "impala", "minibatch": 512, "burn_in": 2},
        },
        {**COMMON, "network": {"hidden": [16]}},
    ]
    run = play(stores, small_config(players=players)).id
    services = stores.services(Settings(loopback=True))
    rows = {row["player"]: row for row in map(standing_as_json, services.league.standings(run))}
    for k in range(3):
        assert rows[f"main.{k}"]["steps"] > 8_000
        assert rows[f"main.{k}.v1"]["games"] > 0

    record = next(p for p in services.league.players(run, limit=100) if p.name == "main.1.v1")
    spec = envs.make("native:connect_four", 1).spec
    policy = NetworkPolicy(
        load_network(CheckpointStore(stores.checkpoint_url), spec, record.checkpoint or "")
    )
    assert policy.memory_size == 16
    obs = np.random.default_rng(0).random((3, 84)).astype(np.float32)

    async def ask(memory: object) -> object:
        return await services.acting.act(run, "main.1.v1", obs.tolist(), None, 1.0, memory)

    first = asyncio.run(ask(None))
    second = asyncio.run(ask(first.memory.tolist()))  # type: ignore[attr-defined]
    heads, memory = policy.step(obs, np.zeros((3, 16), np.float32))
    np.testing.assert_allclose(first.memory, memory, atol=1e-5)  # type: ignore[attr-defined]
    again, _ = policy.step(obs, memory)
    np.testing.assert_allclose(second.values, again[:, -1], atol=1e-5)  # type: ignore[attr-defined]
    assert not np.allclose(again, heads, atol=1e-4)
    with pytest.raises(BadRequestError, match="memory: 3 rows of 16 finite numbers"):
        asyncio.run(ask([[0.0] * 16]))

    view = services.plays.begin(run, "main.1.v1", "ada", 0, False, LOCAL)
    for _ in range(3):
        if not view.over:
            view = services.plays.move(view.play.id, view.legal[0])
    # What the player remembers is what its own decisions were made of, from the first on.
    game, remembered = envs.make("native:connect_four", 1, view.play.seed), np.zeros((1, 16), np.float32)
    for action, seat in zip(view.play.actions, view.play.seats, strict=True):
        if seat == 1:
            remembered = policy.step(game.turns().obs.reshape(1, -1), remembered)[1]
        game.step(np.array([action]))
    table, _ = services.plays._seated(view.play)
    np.testing.assert_allclose(table.memory_by_seat[1], remembered, atol=1e-5)


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        (
            {"network": {"memory": "gru"}, "inference": {"where": "central"}},
            "inference: central asks networks that do not remember",
        ),
        ({"learner": {"minibatch": 512, "burn_in": 8}}, "learner.burn_in: 8 leaves nothing of a fragment"),
        ({"network": {"memory": "gro"}}, "network.memory: 'gro'"),
    ],
)
def test_what_cannot_remember_is_refused(changes: dict[str, object], said: str, small_config: Make) -> None:
    with pytest.raises(ConfigError, match=said):
        small_config(**changes)
