"""`league serve` and `league supervise` as two processes on one database."""

from __future__ import annotations

import signal
from collections.abc import Callable
from pathlib import Path
from urllib.parse import urlsplit

import psutil

from league.bootstrap import Stores
from league.config.run import RunConfig
from tests import command_line as cli


def test_a_launched_run_is_claimed_by_one_supervisor_and_shown_by_the_server(
    stores: Stores, small_config: Callable[..., RunConfig]
) -> None:
    service, port = stores.service(), cli.free_port()
    home = str(Path(urlsplit(stores.database_url).path).parent)
    run_ids = [service.launch(small_config(stop={"moves": 60_000}, seed=seed)).id for seed in range(3)]
    url = f"http://127.0.0.1:{port}/api/v1/runs"
    with (
        cli.started("serve", "--home", home, "--port", str(port)) as server,
        cli.started("supervise", "--home", home) as first,
        cli.started("supervise", "--home", home) as second,
    ):
        cli.wait_until(
            lambda: all(r["state"] == "finished" for r in cli.get(url)["items"]), "every run finished"
        )
        for process in (first, second):
            process.send_signal(signal.SIGTERM)
            output, _ = process.communicate(timeout=30)
            assert process.returncode == 0, output
        server.send_signal(signal.SIGINT)
        output, _ = server.communicate(timeout=30)
        assert "Traceback" not in output
    for run_id in run_ids:
        assert service.run(run_id).lease_token == 1  # claimed once
        kinds = [e.kind for e in service.events(run_id)]
        assert kinds.count("run_started") == 1


def test_a_server_told_to_stop_has_its_supervisor_save_the_league(tmp_path: Path) -> None:
    home, port = str(tmp_path / "home"), cli.free_port()
    config = tmp_path / "long.yaml"
    config.write_text(
        "stop: {minutes: 5}\nplayers: [{role: main}]\nnetwork: {hidden: [32]}\nrollout: {num_envs: 512}\n"
    )
    launched = cli.inside("runs", "launch", str(config), "--home", home, "--json")
    assert launched.returncode == 0, launched.stderr
    url = f"http://127.0.0.1:{port}/api/v1/runs"
    with cli.started("serve", "--supervise", "--home", home, "--port", str(port)) as server:
        cli.wait_until(lambda: cli.get(url)["items"][0]["moves"] > 100_000, "play")
        processes = cli.family(server)
        server.send_signal(signal.SIGTERM)
        output, _ = server.communicate(timeout=40)
        assert "SIGTERM received" not in output
    left = [p for p in processes if p.is_running() and p.status() != psutil.STATUS_ZOMBIE]
    assert not [p for p in left if "supervise" in p.cmdline()]
    service = Stores.from_environment(home).service()
    (run,) = service.runs()
    assert (run.state, run.lease_owner) == ("paused", None)
    assert service.latest_events(run.id)[0].kind == "interrupted"
    assert service.player(run.id, "main.0").steps > 0
