"""Wrong input: one clear line, exit code 2, nothing started."""

from __future__ import annotations

import contextlib
import json
import socket
import sqlite3
from pathlib import Path

import pytest
import trustme

import league.cli
from league.bootstrap import Stores
from league.client import LeagueClient
from league.errors import ApiError, TransportError
from tests import command_line as cli

ROOT = Path(__file__).parents[2]
QUICKSTART = str(ROOT / "configs" / "quickstart.yaml")


def refused(*arguments: str) -> str:
    answer = cli.inside(*arguments)
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


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (("runs", "--all"), "No such option: --all"),
        (("standing",), "Did you mean 'standings'?"),
        (("match", "latest", "--max-games", "many"), "should be a valid integer"),
        (("restore",), "Missing argument 'file'"),
    ],
)
def test_a_typo_is_said_with_the_usage(arguments: tuple[str, ...], said: str) -> None:
    error = refused(*arguments)
    assert said in error
    assert "Usage: league" in error


def test_a_port_in_use_is_one_line_and_no_run(tmp_path: Path) -> None:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        port = str(taken.getsockname()[1])
        error = refused("run", QUICKSTART, "--home", str(tmp_path), "--port", port)
        assert f"cannot listen on 127.0.0.1:{port}" in error
        assert "choose another with --port" in error
        assert len(error.strip().splitlines()) == 1
    assert json.loads(cli.inside("runs", "--home", str(tmp_path), "--json").stdout) == []


def test_a_database_that_cannot_be_opened_or_is_newer(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("LEAGUE_DATABASE_URL", raising=False)
    (tmp_path / "league.db").write_text("not a database at all " * 100)
    assert "file is not a database" in refused("run", QUICKSTART, "--home", str(tmp_path))
    (tmp_path / "league.db").unlink()
    assert "run `league db upgrade`" in refused("standings", "latest", "--home", str(tmp_path))
    assert cli.inside("db", "upgrade", "--home", str(tmp_path)).returncode == 0
    with sqlite3.connect(tmp_path / "league.db") as connection:
        connection.execute("update alembic_version set version_num = '9999'")
    for command in (["run", QUICKSTART], ["serve"], ["runs"], ["db", "upgrade"]):
        error = refused(*command, "--home", str(tmp_path))
        assert "schema 9999, which is newer than this program" in error
        assert len(error.strip().splitlines()) == 1


@pytest.mark.parametrize("host", ["0.0.0.0", "example.org"])  # noqa: S104
def test_nobody_else_is_let_in(host: str, tmp_path: Path) -> None:
    error = refused("serve", "--host", host, "--home", str(tmp_path))
    assert "needs access tokens and there is none" in error
    assert "league token create" in error
    error = refused("run", QUICKSTART, "--host", host, "--home", str(tmp_path))
    assert f"refusing to listen on {host}" in error


def test_beyond_loopback_by_token_and_over_tls(tmp_path: Path) -> None:
    home, port = str(tmp_path / "home"), cli.free_port()
    authority = trustme.CA()
    authority.cert_pem.write_to_path(str(tmp_path / "ca.pem"))
    certificate = authority.issue_cert("127.0.0.1")
    certificate.private_key_pem.write_to_path(str(tmp_path / "key.pem"))
    certificate.cert_chain_pems[0].write_to_path(str(tmp_path / "cert.pem"))
    cli.inside("db", "upgrade", "--home", home)
    made = cli.inside("token", "create", "--scope", "read", "--expires", "1h", "--home", home)
    tls = ("--tls-cert", str(tmp_path / "cert.pem"), "--tls-key", str(tmp_path / "key.pem"))
    assert "needs both" in refused("serve", "--home", home, *tls[:2])
    assert "no such file" in refused("serve", "--home", home, *tls[:3], str(tmp_path / "nothing.pem"))
    url = f"https://127.0.0.1:{port}"
    verify = str(tmp_path / "ca.pem")
    with cli.started("serve", "--host", "0.0.0.0", "--port", str(port), "--home", home, *tls):  # noqa: S104

        def answers() -> bool:
            with (
                contextlib.suppress(TransportError),  # it is not there yet
                LeagueClient(url, made.stdout.strip(), verify=verify) as league,
            ):
                return league.runs().items == []
            return False

        cli.wait_until(answers, "the server")
        with LeagueClient(url, verify=verify) as league, pytest.raises(ApiError, match="token is needed"):
            league.runs()


def test_a_league_is_steered_from_the_shell(
    stores: Stores,
    played_run: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    home = ("--home", str(tmp_path / "home"))

    def said(*arguments: str) -> tuple[int, str, str]:
        """What the command line does, in this process: twenty starts of Python take a minute."""
        monkeypatch.setattr("sys.argv", ["league", *arguments])
        with pytest.raises(SystemExit) as ended:
            league.cli.main()
        answer = capsys.readouterr()
        return int(ended.value.code or 0), answer.out, answer.err

    def league_does(*arguments: str) -> str:
        code, out, err = said(*arguments, *home)
        assert code == 0, err
        return out

    def refused(*arguments: str) -> str:
        code, _, err = said(*arguments)
        assert code == 2, err
        return err

    assert "freeze main.0: done" in league_does("players", "freeze", "latest", "main.0")
    assert json.loads(
        league_does("players", "list", "latest", "--state", "frozen", "--role", "main", "--json")
    )
    assert "does not learn" in refused("players", "freeze", "latest", "main.0", *home)
    league_does("players", "download", "latest", "main.0", str(tmp_path / "main.safetensors"))
    league_does(
        "players", "add", "latest", "again", "--file", str(tmp_path / "main.safetensors"), "--label", "It"
    )
    assert json.loads(league_does("players", "show", "latest", "again"))["label"] == "It"
    league_does("runs", "edit", "latest", "learner.entropy.start=0.05", "--name", "renamed")
    assert json.loads(league_does("runs", "show", "latest"))["config"]["learner"]["entropy"]["start"] == 0.05
    error = refused("runs", "edit", "latest", "learner.entropi=1", *home)
    assert "did you mean entropy?" in error
    assert "frozen main.0 by local" in league_does("matches", "events", "latest")
    games = json.loads(league_does("matches", "games", "latest", "--json"))
    assert "most likely" in league_does("matches", "replay", "latest", str(games[0]["id"]))
    assert "rating" in league_does(
        "matches", "list", "latest", "--player", "main.0", "--purpose", "evaluation"
    )
    token = league_does("token", "create", "--scope", "read", "--name", "ci").strip()
    assert token.startswith("league_")
    assert token not in league_does("token", "list")
    assert "no run 'nope'" in refused("players", "list", "nope", *home)
    league_does("runs", "delete", "latest", "--confirm", "renamed")
    assert json.loads(league_does("runs", "--json")) == []
    assert "http://127.0.0.1:1" in refused("runs", "--server", "http://127.0.0.1:1")


def test_a_run_that_is_not_there(tmp_path: Path) -> None:
    cli.inside("db", "upgrade", "--home", str(tmp_path))
    assert "no run 'x'; newest runs: none yet" in refused("standings", "x", "--home", str(tmp_path))
    assert "no run 'latest'" in refused("run", "--resume", "latest", "--home", str(tmp_path), "--no-web")
    assert "either a config file or --resume" in refused("run", "--home", str(tmp_path))
