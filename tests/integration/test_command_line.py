"""Wrong input: one clear line, exit code 2, nothing started."""

from __future__ import annotations

import json
import socket
import sqlite3
from pathlib import Path

import pytest

from tests import command_line as cli

ROOT = Path(__file__).parents[2]
QUICKSTART = str(ROOT / "configs" / "quickstart.yaml")


def refused(*arguments: str) -> str:
    answer = cli.run(*arguments)
    assert answer.returncode == 2, answer.stdout + answer.stderr
    assert "Traceback" not in answer.stderr
    return answer.stderr


def test_a_wrong_config_starts_nothing(tmp_path: Path) -> None:
    path = tmp_path / "wrong.yaml"
    path.write_text("stop: {minutes: 1}\nplayers: [{role: mian}]\nanchor: [random]\n")
    home = tmp_path / "home"
    lines = refused("run", str(path), "--home", str(home)).strip().splitlines()
    assert len(lines) == 2
    assert "players[0].role: 'mian', did you mean main?" in lines[0]
    assert "anchor: unknown key, did you mean anchors?" in lines[1]
    assert not home.exists()


def test_a_port_in_use_is_one_line_and_no_run(tmp_path: Path) -> None:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        port = str(taken.getsockname()[1])
        error = refused("run", QUICKSTART, "--home", str(tmp_path), "--port", port)
        assert f"cannot listen on 127.0.0.1:{port}" in error
        assert "choose another with --port" in error
        assert len(error.strip().splitlines()) == 1
    assert json.loads(cli.run("runs", "--home", str(tmp_path), "--json").stdout) == []


def test_a_database_that_cannot_be_opened_or_is_newer(tmp_path: Path) -> None:
    (tmp_path / "league.db").write_text("not a database at all " * 100)
    assert "file is not a database" in refused("run", QUICKSTART, "--home", str(tmp_path))
    (tmp_path / "league.db").unlink()
    assert "run `league db upgrade`" in refused("standings", "latest", "--home", str(tmp_path))
    assert cli.run("db", "upgrade", "--home", str(tmp_path)).returncode == 0
    with sqlite3.connect(tmp_path / "league.db") as connection:
        connection.execute("update alembic_version set version_num = '9999'")
    for command in (["run", QUICKSTART], ["serve"], ["runs"], ["db", "upgrade"]):
        error = refused(*command, "--home", str(tmp_path))
        assert "schema 9999, which is newer than this program" in error
        assert len(error.strip().splitlines()) == 1


@pytest.mark.parametrize("host", ["0.0.0.0", "192.0.2.1", "example.org"])  # noqa: S104
def test_nobody_else_is_let_in(host: str, tmp_path: Path) -> None:
    cli.run("db", "upgrade", "--home", str(tmp_path))
    assert f"refusing to listen on {host}" in refused("serve", "--host", host, "--home", str(tmp_path))


def test_a_run_that_is_not_there(tmp_path: Path) -> None:
    cli.run("db", "upgrade", "--home", str(tmp_path))
    assert "no run 'x'; newest runs: none yet" in refused("standings", "x", "--home", str(tmp_path))
    assert "no run 'latest'" in refused("run", "--resume", "latest", "--home", str(tmp_path), "--no-web")
    assert "either a config file or --resume" in refused("run", "--home", str(tmp_path))
