"""The doctor finds what is there and what is wrong."""

from __future__ import annotations

import json
import socket
from pathlib import Path

import pytest

from league.bootstrap import Stores
from league.operations.doctor import Finding, examine
from tests import command_line as cli


def found(stores: Stores, port: int = 1) -> dict[str, Finding]:
    return {finding.what: finding for finding in examine(stores, port)}


def test_a_machine_that_runs_these_tests_runs_a_league(stores: Stores, played_run: str) -> None:
    findings = found(stores, cli.free_port())
    assert {f.state for f in findings.values()} <= {"fine", "slow"}
    assert "schema 0006" in findings["database"].found
    assert "written and read" in findings["checkpoint store"].found
    assert not list(Path(stores.checkpoint_url).rglob("*.tmp"))


def test_what_is_wrong_is_said_with_what_to_do(
    stores: Stores, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        findings = found(stores, taken.getsockname()[1])
    (port,) = (f for f in findings.values() if f.what.startswith("port"))
    assert (port.state, port.found) == ("slow", "taken")
    monkeypatch.delenv("LEAGUE_DATABASE_URL", raising=False)  # what lies in the folder
    stores = Stores.from_environment(str(tmp_path / "home"))
    (tmp_path / "home" / "league.db").write_text("no database " * 100)
    assert found(stores)["database"].state == "bad"
    monkeypatch.setattr("league.operations.doctor.DISK_GIB", 1e9)
    assert found(stores)["disk for checkpoints"].state == "bad"
    answer = cli.inside("doctor", "--home", str(tmp_path / "home"), "--json")
    assert answer.returncode == 1
    assert {"database"} <= {f["what"] for f in json.loads(answer.stdout) if f["state"] == "bad"}
    fresh = cli.inside("doctor", "--home", str(tmp_path / "new"))
    assert "made by the first run" in fresh.stdout
    assert not list((tmp_path / "new").iterdir()), "looking changes nothing"
