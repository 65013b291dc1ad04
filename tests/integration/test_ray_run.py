"""`league run` from the outside: real Ray, real processes, real interruptions."""

from __future__ import annotations

import contextlib
import os
import signal
import tempfile
import time
from pathlib import Path
from typing import Any

import numpy as np
import psutil
import pytest
import ray

from league.bootstrap import Stores
from league.config.run import RunConfig
from league.control.services import LeagueService
from league.errors import LeagueError
from league.runtime.cluster.object_store import fetch_or_none
from league.runtime.cluster.run import local_ray
from tests import command_line as cli
from tests.conftest import ON_POSTGRES

CONFIG = """
name: integration
stop: {minutes: MINUTES}
players:
  - {role: main, share: 2, snapshot: {min_steps: 40000, max_steps: 120000}}
  - {role: main_exploiter, inference: central, snapshot: {min_steps: 30000, max_steps: 60000}}
anchors: [random, "mcts:2"]
network: {hidden: [32]}
learner: {minibatch: 1024}
rollout: {num_envs: 512, fragment_length: 8, fragment_lanes: 256, episodes_per_series: 32}
evaluation: {num_envs: 32, episodes: 8}
placement: {rollout: {cpus: 1000, resources: {play: 1}}}  # means nothing on one machine
save_interval_seconds: 0.5
"""


@pytest.fixture
def config(tmp_path: Path) -> Path:
    path = tmp_path / "integration.yaml"
    path.write_text(CONFIG.replace("MINUTES", "0.25"))
    return path


def learner_steps(rows: list[dict[str, Any]]) -> dict[str, tuple[int, int]]:
    return {r["player"]: (r["generation"], r["steps"]) for r in rows if r["state"] == "learning"}


def test_a_run_ends_by_itself_and_leaves_nothing_behind(tmp_path: Path, config: Path) -> None:
    """With two processes that learn as one, of which one dies on the way."""
    config.write_text(f"{config.read_text()}learner_processes: 2\n")
    port, home = cli.free_port(), tmp_path / "home"
    before = {p.pid for p in psutil.process_iter()}
    folders = set(Path(tempfile.gettempdir()).glob("league-*"))
    with cli.started("run", str(config), "--home", str(home), "--port", str(port)) as process:
        (run,) = cli.wait_until(
            lambda: cli.get(f"http://127.0.0.1:{port}/api/v1/runs")["items"], "the run in the API"
        )
        cli.wait_until(lambda: cli.get(f"http://127.0.0.1:{port}/api/v1/runs/{run['id']}")["moves"], "moves")
        processes = cli.family(process)
        assert any("RolloutActor" in " ".join(p.cmdline()) for p in processes)
        listening = [
            c.laddr.ip for p in processes for c in p.net_connections("inet") if c.status == psutil.CONN_LISTEN
        ]
        assert len(listening) >= 4
        assert {ip.removeprefix("::ffff:") for ip in listening} == {"127.0.0.1"}
        (replica,) = [p for p in processes if "LearnerReplicaActor" in " ".join(p.cmdline())]
        replica.kill()
        output, _ = process.communicate(timeout=120)
    assert process.returncode == 0, output
    assert "finished" in output
    service, run_id = league_of(home)
    assert "restarted" in [event.kind for event in service.events(run_id)]
    rows = cli.standings(home)
    assert {"main", "main_exploiter", "historical", "anchor"} == {r["role"] for r in rows}
    for row in rows:
        assert row["player"] in output
    cli.wait_until(
        lambda: not [p for p in processes if p.is_running() and p.pid not in before], "every process gone", 15
    )
    assert set(Path(tempfile.gettempdir()).glob("league-*")) <= folders
    answer = cli.run("run", "--resume", "latest", "--home", str(home), "--no-web")
    assert answer.returncode == 2
    assert "is finished: it reached its stop rule" in answer.stderr


def league_of(home: Path) -> tuple[LeagueService, str]:
    """Returns (what reads the league's data, the id of its only run), as soon as there is one."""

    def there() -> tuple[LeagueService, str] | None:
        if not ON_POSTGRES and not (home / "league.db").exists():
            return None
        with contextlib.suppress(LeagueError):  # the schema may still be on its way
            service = Stores.from_environment(str(home)).service()
            if runs := service.runs():
                return service, runs[0].id
        return None

    found: tuple[LeagueService, str] = cli.wait_until(there, "a run")
    return found


def wait_for(service: LeagueService, run_id: str, *kinds: str, count: int = 1) -> None:
    """Waits until each kind of event has been written so often."""

    def written() -> bool:
        seen = [e.kind for e in service.events(run_id)]
        return all(seen.count(kind) >= count for kind in kinds)

    cli.wait_until(written, f"{count} of each: {', '.join(kinds)}")


def test_nothing_that_dies_takes_the_league_with_it(tmp_path: Path, config: Path) -> None:
    """A worker killed, Ctrl-C, kill -9 of the run, and an end by the stop rule: the one league lives on."""
    home = tmp_path / "home"
    config.write_text(CONFIG.replace("MINUTES", "0.6"))
    with cli.started("run", str(config), "--home", str(home), "--no-web") as process:
        service, run_id = league_of(home)
        wait_for(service, run_id, "snapshot")
        (rollout,) = [p for p in cli.family(process) if "RolloutActor" in " ".join(p.cmdline())]
        rollout.kill()
        wait_for(service, run_id, "worker_lost")
        moves = service.run(run_id).moves
        cli.wait_until(lambda: service.run(run_id).moves > moves + 20_000, "another worker's games")
        assert "restarted" not in {e.kind for e in service.events(run_id)}
        for count, kind in enumerate(("LearnerActor", "InferenceActor"), start=1):
            (fated,) = [p for p in cli.family(process) if kind in " ".join(p.cmdline())]
            fated.kill()
            wait_for(service, run_id, "restarted", "resumed", count=count)
            moves = service.run(run_id).moves
            cli.wait_until(lambda: service.run(run_id).moves > moves, "games after it")  # noqa: B023
        os.killpg(process.pid, signal.SIGINT)  # as a terminal does: every process of the group gets it
        output, _ = process.communicate(timeout=60)
    assert process.returncode == 130, output
    assert "league run --resume" in output
    interrupted = cli.standings(home)

    with cli.started("run", "--resume", "latest", "--home", str(home), "--no-web") as process:
        wait_for(service, run_id, "resumed", count=3)
        steps = learner_steps(interrupted)["main.0"][1]
        cli.wait_until(lambda: service.player(run_id, "main.0").steps > steps + 20_000, "learning")
        time.sleep(1.3)
        last = cli.standings(home)
        children = cli.family(process)
        process.kill()
        process.wait()
    killed = cli.standings(home)
    assert len(killed) >= len(last) >= len(interrupted)
    for player, (generation, steps) in learner_steps(last).items():
        assert learner_steps(killed)[player] >= (generation, steps)
    cli.wait_until(lambda: not any(p.is_running() for p in children), "every process gone", 15)
    assert cli.standings(home) == killed

    with cli.started("run", "--resume", "latest", "--home", str(home), "--no-web") as process:
        output, _ = process.communicate(timeout=180)
    assert process.returncode == 0, output
    after = {r["player"]: r for r in cli.standings(home)}
    for row in killed:
        now = after[row["player"]]
        if row["state"] == "frozen":
            assert now["rated_games"] >= row["rated_games"]
            assert now["games"] >= row["games"] or row["role"] == "anchor"
    assert after["main.0"]["steps"] > learner_steps(killed)["main.0"][1]
    kinds = [e.kind for e in service.events(run_id)]
    assert kinds.count("restarted") == 2


def test_an_object_that_is_gone_is_none() -> None:
    """What a worker does without: the next push brings newer weights."""

    class Owner:
        def lend(self) -> list[Any]:
            return [ray.put(np.ones(100_000))]

        def promise(self) -> list[Any]:
            return [ray.remote(lambda: time.sleep(60)).remote()]

    with local_ray(RunConfig.from_yaml(Path(__file__).parents[2] / "configs" / "quickstart.yaml")):
        owner = ray.remote(Owner).remote()
        (lent,) = ray.get(owner.lend.remote())
        assert fetch_or_none(lent).sum() == 100_000
        (promised,) = ray.get(owner.promise.remote())
        ray.kill(owner)
        assert fetch_or_none(promised) is None
