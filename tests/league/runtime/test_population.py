"""A population in a real league: who falls behind goes on as another's copy."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from league.bootstrap import Stores
from league.config.run import RunConfig
from league.store.check import check_run
from league.store.checkpoints import CheckpointStore
from league.store.repositories.league_state import LeagueRepository
from tests.serial_league import play

Make = Callable[..., RunConfig]


def population(make: Make, **changes: Any) -> RunConfig:
    """Three mains, one of which learns a hundred times faster than another."""
    return make(
        players=[
            {
                "role": "main",
                "count": 3,
                "opponents": [{"sampler": "rating_band", "pool": "learners"}],
                "snapshot": {"min_steps": 16_000, "max_steps": 16_000},
                "population": {"min_steps": 6_000, "inherit_below": 0.45, "initial_spread": 10.0},
            }
        ],
        **{"stop": {"moves": 250_000}, **changes},
    )


def test_a_player_that_falls_behind_goes_on_as_anothers_copy(stores: Stores, small_config: Make) -> None:
    config = population(small_config)
    first = config.first_hyperparameters()
    record = play(stores, config)
    service, database = stores.service(), stores.open_database(upgrade=False)
    takeovers = [e for e in service.events(record.id) if e.kind == "inherited"]
    assert takeovers
    players = {p.name: p for p in LeagueRepository(database, record.id).load().players}
    for name in {e.player for e in takeovers}:
        last = [e for e in takeovers if e.player == name][-1]
        player = players[name or ""]
        assert player.generation == sum(e.player == name for e in takeovers)
        assert player.hyperparameters == {k: last.data[k] for k in ("learning_rate", "entropy")}
        assert player.hyperparameters != first[player.name]
        assert 0 < player.inherited_steps <= player.steps
        assert last.data["source"] in players
    assert check_run(database, CheckpointStore(stores.checkpoint_url), record.id) == []


def test_an_interrupted_population_goes_on_as_it_was(stores: Stores, small_config: Make) -> None:
    config = population(small_config)
    paused = play(stores, config, stop_at=200_000)
    assert any(e.kind == "inherited" for e in stores.service().events(paused.id))
    repository = LeagueRepository(stores.open_database(upgrade=False), paused.id)
    before = {p.name: p.hyperparameters for p in repository.load().players}
    generations = {p.name: p.generation for p in repository.load().players}
    play(stores, config, resume=paused.id)
    for player in repository.load().players:
        if player.state == "learning" and player.generation == generations[player.name]:
            assert player.hyperparameters == before[player.name]
