"""The manager over players of known strength: order, cycle, and the same again for a seed."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from league.config.run import RunConfig
from league.study.simulation import Simulation, simulate
from tests.command_line import run

CONFIG = Path(__file__).parents[2] / "configs" / "simulation.yaml"


@pytest.fixture(scope="module")
def simulated() -> Simulation:
    return simulate(RunConfig.from_yaml(CONFIG), players=400, series=40_000)


def test_a_transitive_pools_order_is_recovered(simulated: Simulation) -> None:
    assert 150 < simulated.rated_games < 300
    assert simulated.kendall_tau["bradley_terry"] > 0.95
    assert simulated.kendall_tau["trueskill"] > 0.90
    assert simulated.error < 60


def test_a_planted_cycle_is_found_and_named(simulated: Simulation) -> None:
    a, b, c = simulated.planted
    assert simulated.cycles[0] in {(a, b, c), (b, c, a), (c, a, b)}


def test_every_branch_is_taken_and_the_league_grows(simulated: Simulation) -> None:
    assert {"pfsp", "self_play", "exploit", "verify_forgotten"} <= set(simulated.branches)
    assert simulated.snapshots == simulated.players - 400 > 5
    assert simulated.resets > 0


def test_few_rated_games_leave_the_order_unsure() -> None:
    """The truth is not leaked to the ratings."""
    little = simulate(RunConfig.from_yaml(CONFIG), players=400, series=2_000, rating_games=4)
    assert little.kendall_tau["bradley_terry"] < 0.85


def test_a_seed_gives_the_same_league_again() -> None:
    def timeless(seed: int) -> Simulation:
        found = simulate(RunConfig.from_yaml(CONFIG), players=60, series=1000, seed=seed)
        times = {"decisions_per_second": 0.0, "records_per_second": 0.0, "longest_exchange": 0.0}
        return replace(found, peak_memory=0, **times)

    assert timeless(3) == timeless(3) != timeless(4)


def test_the_command_prints_what_came_of_it() -> None:
    done = run("simulate", str(CONFIG), "--players", "50", "--series", "600")
    assert done.returncode == 0, done.stderr
    assert "a second" in done.stdout
    assert "planted cycle" in done.stdout
