"""docs/your-algorithm.md and docs/your-family.md as they stand: packages of their own, installed and used."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from tests import command_line as cli

DOCS = Path(__file__).parents[2] / "docs"


def block(page: str, language: str) -> str:
    match = re.search(rf"```{language}\n(.*?)```", (DOCS / page).read_text(), re.DOTALL)
    assert match is not None
    return match.group(1)


def install(page: str, module: str, folder: Path) -> dict[str, str]:
    """Installs a page's package into a folder; returns the environment that finds it there."""
    source, site = folder / "source", folder / "site"
    source.mkdir()
    (source / f"{module}.py").write_text(block(page, "python"))
    (source / "pyproject.toml").write_text(block(page, "toml"))
    pip = [sys.executable, "-m", "pip", "install", "--quiet", "--no-deps", "--no-build-isolation"]
    subprocess.run([*pip, "--target", str(site), str(source)], check=True, capture_output=True, timeout=120)
    return {**os.environ, "PYTHONPATH": f"{site}{os.pathsep}{os.environ.get('PYTHONPATH', '')}"}


def league(folder: Path, environment: dict[str, str], *arguments: str) -> subprocess.CompletedProcess[str]:
    command = [cli.LEAGUE, *arguments]
    return subprocess.run(
        command, cwd=folder, env=environment, capture_output=True, text=True, timeout=180, check=False
    )


@pytest.mark.alone
def test_the_algorithm_of_the_page_trains_in_a_league(tmp_path: Path) -> None:
    assert len(block("your-algorithm.md", "python").splitlines()) < 80
    environment = install("your-algorithm.md", "league_awr", tmp_path)
    config = block("your-algorithm.md", "yaml")
    (tmp_path / "awr.yaml").write_text(config.replace("{minutes: 1}", "{moves: 2_000_000}"))
    ran = league(tmp_path, environment, "run", "awr.yaml", "--no-web")
    assert ran.returncode == 0, ran.stdout + ran.stderr
    played = league(tmp_path, environment, "match", "latest", "main.0", "random", "--json")
    assert json.loads(played.stdout)["pairs"][0]["score"] > 0.85
    (tmp_path / "typo.yaml").write_text(config.replace("{temperature: 0.2}", "{temprature: 0.2}"))
    typo = league(tmp_path, environment, "run", "typo.yaml", "--no-web")
    assert typo.returncode == 2
    assert "options.temprature: algorithm awr has no such number, did you mean temperature?" in typo.stderr
    nobody = league(tmp_path, dict(os.environ), "run", "awr.yaml", "--no-web")
    assert "learner.algorithm: 'awr'" in nobody.stderr
    assert "allowed: ppo, impala, appo, alphastar, r2d2" in nobody.stderr


def test_the_family_of_the_page_is_listed_checked_and_trains(tmp_path: Path) -> None:
    environment = install("your-family.md", "league_towers", tmp_path)
    listed = json.loads(league(tmp_path, environment, "games", "--family", "towers", "--json").stdout)
    assert [game["game_id"] for game in listed["games"]] == ["towers:7", "towers:21"]
    checked = league(tmp_path, environment, "games", "check", "towers:21")
    assert checked.returncode == 0, checked.stdout + checked.stderr
    assert "It can be trained on." in checked.stdout
    (tmp_path / "towers.yaml").write_text(
        "game: towers:21\ntopology: sync\nstop: {moves: 40_000}\nplayers: [{role: main}]\nanchors: [random]\n"
        "rollout: {num_envs: 64, fragment_lanes: 64}\nlearner: {minibatch: 256}\n"
    )
    ran = league(tmp_path, environment, "run", "towers.yaml", "--no-web")
    assert ran.returncode == 0, ran.stdout + ran.stderr
    wrong = league(tmp_path, environment, "games", "check", "towers:many")
    assert wrong.returncode in (1, 2)
    assert "a number of blocks from 1 to 1000" in wrong.stdout + wrong.stderr
    assert "Traceback" not in wrong.stderr


def test_a_list_of_one_family_loads_no_other_and_prints_nothing_of_theirs() -> None:
    program = (
        "import sys\n"
        "from envs.registry import known_ids\n"
        "assert known_ids('native')\n"
        "heavy = {'pyspiel', 'pettingzoo', 'torch'} & set(sys.modules)\n"
        "assert not heavy, heavy\n"
    )
    subprocess.run([sys.executable, "-c", program], check=True, timeout=60)
    listed = subprocess.run(
        [cli.LEAGUE, "games", "--json"], capture_output=True, text=True, timeout=120, check=True
    )
    assert listed.stderr == ""
    assert "openspiel:quoridor" in {game["game_id"] for game in json.loads(listed.stdout)["games"]}
