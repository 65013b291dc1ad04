"""The house stands as its plan says."""

from __future__ import annotations

import importlib
import tomllib
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]


@pytest.mark.parametrize("name", ["agents", "envs", "league", "matchmaking", "migrations", "web"])
def test_each_package_resolves_to_this_repository(name: str) -> None:
    """`agents`, `envs` and `web` are names that other distributions use too."""
    module = importlib.import_module(name)
    assert module.__file__ is not None
    assert Path(module.__file__).is_relative_to(ROOT / name)


def test_the_distribution_is_what_it_says() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    assert project["name"] == "selfplay-league"
    assert project["requires-python"] == ">=3.11"
    assert project["scripts"] == {"league": "league.cli:main"}
    assert {"postgres", "dev"} <= set(project["optional-dependencies"])
    assert "torch==2.13.0" in (ROOT / "constraints.txt").read_text().splitlines()
