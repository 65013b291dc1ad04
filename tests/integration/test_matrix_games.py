"""Leagues on games whose equilibrium is known: what a pool is worth, and what naive self-play is not."""

from __future__ import annotations

import itertools
import time
from pathlib import Path

import numpy as np
import numpy.typing as npt
import pytest
import torch

from agents.networks import weights
from envs.native.matrix import parse_tables
from league.bootstrap import Stores
from league.config.run import RunConfig
from league.store.checkpoints import CheckpointStore
from league.store.repositories.league_state import LeagueRepository
from matchmaking import meta_game
from tests.serial_league import play

CONFIGS = Path(__file__).parents[2] / "configs" / "matrix"
EQUILIBRIA = {"rps": (1 / 3, 1 / 3, 1 / 3), "biased_rps": (1 / 4, 1 / 2, 1 / 4)}
Array = npt.NDArray[np.float64]


def pool_of(stores: Stores, preset: str, game: str) -> tuple[Array, Array]:
    """Plays a preset on a game.

    Returns:
      (each snapshot's chance of each action [N, 3], oldest first; the pool's played payoffs [N, N]).
    """
    data = RunConfig.from_yaml(CONFIGS / f"{preset}.yaml").model_dump(mode="json", exclude_none=True)
    record = play(stores, RunConfig.from_data({**data, "game": f"native:matrix({game})"}))
    league = LeagueRepository(stores.open_database(upgrade=False), record.id).load()
    snapshots = [p for p in league.players if p.role == "historical"]
    store = CheckpointStore(stores.checkpoint_url)
    policies = []
    for snapshot in snapshots:
        assert snapshot.checkpoint is not None
        network, _ = weights.load_network(store.get(snapshot.checkpoint))
        with torch.no_grad():
            logits = network(torch.ones(1, 1))[0, :3]
        policies.append(torch.softmax(logits, 0).double().numpy())
    return np.array(policies), league.payoff().table([p.name for p in snapshots])


@pytest.mark.parametrize(
    ("preset", "game"),
    [("fictitious", "biased_rps"), ("pfsp", "biased_rps"), ("psro", "biased_rps"), ("psro", "rps")],
)
def test_the_equilibrium_of_the_pool_is_the_games(stores: Stores, preset: str, game: str) -> None:
    began = time.monotonic()
    policies, table = pool_of(stores, preset, game)
    assert time.monotonic() - began < 60
    mixture, _ = meta_game.nash_average(meta_game.scaled(table))
    distance = 0.5 * np.abs(mixture @ policies - EQUILIBRIA[game]).sum()
    assert distance <= 0.03


def test_naive_self_play_runs_round_the_cycle(stores: Stores) -> None:
    policies, table = pool_of(stores, "naive", "rps")
    late = policies[len(policies) // 2 :]
    favourites = late.argmax(axis=1)
    turns = [int(b) for a, b in itertools.pairwise(favourites) if a != b]
    # The next favourite is the answer to the last, round and round; it does not come to rest.
    assert len(turns) >= 6
    gains = parse_tables("rps")[0]
    assert all(gains[new, old] == 1 for old, new in itertools.pairwise(turns))
    # Wherever it stands, one answer beats it soundly.
    assert np.mean([(gains @ p).max() for p in late]) > 0.3
    assert meta_game.cycles(meta_game.scaled(table), margin=0.2)
