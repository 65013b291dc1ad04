"""docs/your-game.md as it stands: written, checked and trained in a folder outside the repository."""

from __future__ import annotations

import json
import re
import subprocess
from pathlib import Path

from tests import command_line as cli

PAGE = (Path(__file__).parents[2] / "docs" / "your-game.md").read_text()


def block(language: str) -> str:
    found = re.search(rf"```{language}\n(.*?)```", PAGE, re.DOTALL)
    assert found is not None
    return found.group(1)


def league(folder: Path, *arguments: str, timeout: float = 120) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [cli.LEAGUE, *arguments], cwd=folder, capture_output=True, text=True, timeout=timeout, check=False
    )


def test_the_game_of_the_page_is_checked_and_trains(tmp_path: Path) -> None:
    source, config = block("python"), block("yaml")
    assert len(source.splitlines()) < 60
    assert len(config.splitlines()) <= 10
    (tmp_path / "nim.py").write_text(source)
    (tmp_path / "nim.yaml").write_text(config.replace("{minutes: 1}", "{moves: 60_000}"))
    checked = league(tmp_path, "games", "check", "python:nim:Nim")
    assert checked.returncode == 0, checked.stdout + checked.stderr
    assert "It can be trained on." in checked.stdout
    ran = league(tmp_path, "run", "nim.yaml", "--no-web")
    assert ran.returncode == 0, ran.stdout + ran.stderr
    played = json.loads(league(tmp_path, "match", "latest", "main.0", "random", "--json").stdout)
    assert played["pairs"][0]["score"] > 0.9


def test_what_is_wrong_with_a_game_is_said_in_a_line(tmp_path: Path) -> None:
    (tmp_path / "nim.py").write_text(
        block("python").replace("np.eye(self.stones + 1,", "np.eye(self.stones,")
    )
    checked = league(tmp_path, "games", "check", "python:nim:Nim")
    assert checked.returncode in (1, 2)
    text = checked.stdout + checked.stderr
    assert "Traceback" not in text
    assert "out of bounds" in text
    unknown = league(tmp_path, "games", "check", "python:nim:Nom")
    assert unknown.returncode == 2
    assert "nim has no Nom; it has" in unknown.stderr


def test_games_are_listed_with_what_they_are(tmp_path: Path) -> None:
    listed = league(tmp_path, "games", "--family", "native", "--json")
    games = {game["game_id"]: game for game in json.loads(listed.stdout)["games"]}
    assert games["native:leduc_poker"]["observation"] == [30]
    assert games["native:pong"]["turns"] == "together"
    bench = league(tmp_path, "games", "bench", "native:kuhn_poker", "--seconds", "0.3", "--json")
    speed = json.loads(bench.stdout)
    assert speed["random_play"] > speed["by_network"] > 10_000


def test_the_network_of_the_page_trains(tmp_path: Path) -> None:
    page = (Path(__file__).parents[2] / "docs" / "learning.md").read_text()
    for language, name in (("python", "my_net.py"), ("yaml", "own.yaml")):
        found = re.search(rf"```{language}\n(.*?)```", page, re.DOTALL)
        assert found is not None
        (tmp_path / name).write_text(found.group(1))
    ran = league(tmp_path, "run", "own.yaml", "--no-web")
    assert ran.returncode == 0, ran.stdout + ran.stderr
    shown = json.loads(league(tmp_path, "standings", "latest", "--json").stdout)
    assert {"main.0", "main.0.v1"} <= {row["player"] for row in shown}
