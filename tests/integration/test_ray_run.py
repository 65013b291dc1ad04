"""`league run` from the outside: real Ray, real processes, real interruptions."""

from __future__ import annotations

import os
import signal
import tempfile
import time
from pathlib import Path
from typing import Any

import psutil
import pytest

from tests import command_line as cli

CONFIG = """
name: integration
stop: {minutes: MINUTES}
players:
  - {role: main, share: 2, snapshot: {min_steps: 40000, max_steps: 120000}}
  - {role: main_exploiter, snapshot: {min_steps: 30000, max_steps: 60000}}
anchors: [random, "mcts:2"]
network: {hidden: [32]}
learner: {minibatch: 1024}
rollout: {num_envs: 512, fragment_length: 8, fragment_lanes: 256, episodes_per_series: 32}
evaluation: {num_envs: 32, episodes: 8}
save_interval_seconds: 0.5
"""


@pytest.fixture
def config(tmp_path: Path) -> Path:
    path = tmp_path / "integration.yaml"
    path.write_text(CONFIG.replace("MINUTES", "0.25"))
    return path


def learner_steps(rows: list[dict[str, Any]]) -> dict[str, tuple[int, int]]:
    return {r["player"]: (r["generation"], r["steps"]) for r in rows if r["state"] == "learning"}


def wait_for_snapshots(home: Path, count: int) -> None:
    def enough() -> bool:
        if not (home / "league.db").exists():
            return False
        answer = cli.run("standings", "latest", "--home", str(home), "--json")
        return answer.returncode == 0 and answer.stdout.count('"role": "historical"') >= count

    cli.wait_until(enough, f"{count} snapshots")


def test_a_run_ends_by_itself_and_leaves_nothing_behind(tmp_path: Path, config: Path) -> None:
    port, home = cli.free_port(), tmp_path / "home"
    before = {p.pid for p in psutil.process_iter()}
    folders = set(Path(tempfile.gettempdir()).glob("league-ray-*"))
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
        output, _ = process.communicate(timeout=120)
    assert process.returncode == 0, output
    assert "finished" in output
    rows = cli.standings(home)
    assert {"main", "main_exploiter", "historical", "anchor"} == {r["role"] for r in rows}
    for row in rows:
        assert row["player"] in output
    cli.wait_until(
        lambda: not [p for p in processes if p.is_running() and p.pid not in before], "every process gone", 15
    )
    assert set(Path(tempfile.gettempdir()).glob("league-ray-*")) <= folders
    answer = cli.run("run", "--resume", "latest", "--home", str(home), "--no-web")
    assert answer.returncode == 2
    assert "is finished: it reached its stop rule" in answer.stderr


def test_ctrl_c_saves_and_resume_goes_on(tmp_path: Path, config: Path) -> None:
    home = tmp_path / "home"
    config.write_text(CONFIG.replace("MINUTES", "0.5"))
    with cli.started("run", str(config), "--home", str(home), "--no-web") as process:
        wait_for_snapshots(home, 1)
        os.killpg(process.pid, signal.SIGINT)  # as a terminal does: every process of the group gets it
        output, _ = process.communicate(timeout=60)
    assert process.returncode == 130, output
    assert "league run --resume" in output
    before = cli.standings(home)
    answer = cli.run("run", "--resume", "latest", "--home", str(home), "--no-web", timeout=180)
    assert answer.returncode == 0, answer.stdout + answer.stderr
    after = {r["player"]: r for r in cli.standings(home)}
    for row in before:
        now = after[row["player"]]
        if row["state"] == "frozen":
            assert now["rated_games"] >= row["rated_games"]
            assert now["games"] >= row["games"] or row["role"] == "anchor"
        else:
            assert now["steps"] > row["steps"]


def test_after_kill_9_nothing_written_is_lost_and_resume_goes_on(tmp_path: Path, config: Path) -> None:
    home = tmp_path / "home"
    config.write_text(CONFIG.replace("MINUTES", "0.45"))
    with cli.started("run", str(config), "--home", str(home), "--no-web") as process:
        wait_for_snapshots(home, 1)
        time.sleep(1.3)
        last = cli.standings(home)
        children = cli.family(process)
        process.kill()
        process.wait()
    killed = cli.standings(home)
    assert len(killed) >= len(last)
    for player, (generation, steps) in learner_steps(last).items():
        assert learner_steps(killed)[player] >= (generation, steps)
    cli.wait_until(lambda: not any(p.is_running() for p in children), "every process gone", 15)
    assert cli.standings(home) == killed
    with cli.started("run", "--resume", "latest", "--home", str(home), "--no-web") as process:
        output, _ = process.communicate(timeout=180)
    assert process.returncode == 0, output
    final = {r["player"]: r for r in cli.standings(home)}
    assert {r["player"] for r in killed} <= set(final)
    assert final["main.0"]["steps"] > learner_steps(killed)["main.0"][1]


def test_a_process_that_dies_is_replaced(tmp_path: Path, config: Path) -> None:
    home = tmp_path / "home"
    with cli.started("run", str(config), "--home", str(home), "--no-web") as process:
        wait_for_snapshots(home, 1)
        (rollout,) = [p for p in cli.family(process) if "RolloutActor" in " ".join(p.cmdline())]
        rollout.kill()
        output, _ = process.communicate(timeout=180)
    assert process.returncode == 0, output
    assert cli.standings(home)[0]["rated_games"] > 0
    from league.bootstrap import Stores

    service = Stores.from_environment(str(home)).service()
    kinds = [e.kind for e in service.events(service.resolve("latest").id)]
    assert kinds.count("restarted") == kinds.count("resumed") == 1
