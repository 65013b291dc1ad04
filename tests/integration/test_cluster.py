"""A league over several machines: Ray's own cluster for tests, four nodes on this one."""

from __future__ import annotations

import os
import time
from collections.abc import Iterator
from pathlib import Path
from unittest import mock

import pytest

from league.control.services import LeagueService
from tests import command_line as cli
from tests.integration.test_ray_run import league_of, wait_for

# A game that is slow enough for a worker to be a core's work, and learning next to none.
CONFIG = """
name: cluster
game: pettingzoo:mpe2.simple_tag_v3
stop: {minutes: 10}
players:
  - {role: main, seats: ["adversary_*"], snapshot: {min_steps: 40000, max_steps: 90000}}
  - {role: main, seats: ["agent_*"], snapshot: {min_steps: 40000, max_steps: 90000}}
network: {hidden: [32]}
learner: {minibatch: 256}
rollout: {workers: 4, num_envs: 16, fragment_length: 8, fragment_lanes: 32, episodes_per_series: 4}
evaluation: {num_envs: 2, episodes: 2}
placement: {rollout: {cpus: 1, resources: {play: 1}}, learner: {cpus: 1}}
"""


@pytest.fixture
def cluster() -> Iterator[object]:
    from ray.cluster_utils import Cluster

    # A node that is gone is missed after two seconds instead of half a minute.
    missed = {
        "health_check_initial_delay_ms": 0,
        "health_check_period_ms": 500,
        "health_check_timeout_ms": 1000,
    }
    head = {
        "num_cpus": 2,
        "include_dashboard": False,
        "_system_config": {**missed, "health_check_failure_threshold": 3},
    }
    cluster = Cluster(initialize_head=True, head_node_args=head)
    yield cluster
    cluster.shutdown()


def playing(service: LeagueService, run_id: str) -> list[str]:
    """Returns the workers that have been heard of in the last seconds."""
    workers = service.doing(run_id).get("workers", [])
    return [w["name"] for w in workers if w["silent_seconds"] < 5.0]


def moves_a_second(service: LeagueService, run_id: str, seconds: float = 6.0) -> float:
    begin, moves = time.perf_counter(), service.run(run_id).moves
    time.sleep(seconds)
    return (service.run(run_id).moves - moves) / (time.perf_counter() - begin)


def test_nodes_come_and_go_under_a_running_league(tmp_path: Path, cluster: object) -> None:
    """Workers begin where there is room, a node that dies costs its games, and the next takes them on."""
    config, home = tmp_path / "cluster.yaml", tmp_path / "home"
    config.write_text(CONFIG)
    first = cluster.add_node(num_cpus=1, resources={"play": 1})
    address = {"LEAGUE_RAY_ADDRESS": cluster.address}
    with (
        mock.patch.dict(os.environ, address),
        cli.started("run", str(config), "--home", str(home), "--no-web") as process,
    ):
        service, run_id = league_of(home)
        cli.wait_until(lambda: len(playing(service, run_id)) == 1, "the first worker", 60)
        alone = moves_a_second(service, run_id)
        cluster.add_node(num_cpus=1, resources={"play": 1})
        cluster.add_node(num_cpus=1, resources={"play": 1})
        cli.wait_until(lambda: len(playing(service, run_id)) == 3, "workers on the nodes that joined", 60)
        together = moves_a_second(service, run_id)
        assert together > 1.1 * alone
        cluster.remove_node(first, allow_graceful=False)
        wait_for(service, run_id, "worker_lost")
        cli.wait_until(lambda: len(playing(service, run_id)) == 2, "the dead one forgotten", 60)
        moves = service.run(run_id).moves
        cli.wait_until(lambda: service.run(run_id).moves > moves + 2000, "games without it")
        cluster.add_node(num_cpus=1, resources={"play": 1})
        cli.wait_until(lambda: len(playing(service, run_id)) == 3, "another in its place", 60)
        assert "restarted" not in {e.kind for e in service.events(run_id)}
        process.terminate()
        process.communicate(timeout=60)
    assert service.run(run_id).state == "paused"
