"""The house stands as its plan says."""

from __future__ import annotations

import ast
import importlib
import re
import subprocess
import sys
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


def tracked(*patterns: str) -> list[Path]:
    listed = subprocess.run(
        ["git", "ls-files", *patterns], cwd=ROOT, capture_output=True, text=True, check=True
    ).stdout
    return [path for name in listed.split() if (path := ROOT / name).exists()]


def test_no_file_has_grown_past_five_hundred_lines() -> None:
    code = tracked("agents/*.py", "envs/*.py", "league/*.py", "matchmaking/*.py", "web/*.py", "tests/*.py")
    long = {
        str(path.relative_to(ROOT)): n for path in code if (n := len(path.read_text().splitlines())) > 500
    }
    assert long == {}


def test_every_room_says_what_belongs_there() -> None:
    rooms = [path for folder in ("agents", "envs", "league") for path in tracked(f"{folder}/*/__init__.py")]
    assert len(rooms) >= 20
    silent = [
        str(path.relative_to(ROOT))
        for path in rooms
        if ast.get_docstring(ast.parse(path.read_text())) is None
    ]
    assert silent == []


def test_every_module_named_in_docs_and_docstrings_exists() -> None:
    """`agents.acting.policy`, `league.store.check` and their like, in prose and in code."""
    folders = "agents|envs|league|matchmaking|web"
    missing = []
    for path in tracked(
        "docs/*.md", "README.md", "agents/*.py", "envs/*.py", "league/*.py", "web/*.py", "tests/*.py"
    ):
        names = re.findall(rf"`((?:{folders})(?:\.[a-z_]\w*)+)(?:\.[A-Z]\w*)?`", path.read_text())
        gone = [name for name in names if name not in NO_MODULES and not _is_there(name)]
        missing += [f"{path.relative_to(ROOT)}: {name}" for name in gone]
    assert missing == []


# Entry point groups and keys of a config look alike.
NO_MODULES = {
    "league.samplers", "league.games", "league.algorithms", "league.game_families", "envs.max_bad_share",
}  # fmt: skip


def _is_there(name: str) -> bool:
    """A module, or something in one."""
    for parts in (name.split("."), name.split(".")[:-1]):
        path = ROOT.joinpath(*parts)
        if path.is_dir() or path.with_suffix(".py").exists():
            return (
                parts == name.split(".")
                or re.search(
                    rf"\b{name.rpartition('.')[2]}\b",
                    (path / "__init__.py" if path.is_dir() else path.with_suffix(".py")).read_text(),
                )
                is not None
            )
    return False


def test_every_link_of_the_docs_leads_to_a_file() -> None:
    broken = []
    for page in tracked("docs/*.md", "docs/decisions/*.md", "README.md", "CHANGELOG.md"):
        text, here = page.read_text(), page.relative_to(ROOT)
        links = [t for t in re.findall(r"\]\(([^)#]+)(?:#[^)]*)?\)", text) if "://" not in t]
        broken += [f"{here}: {target}" for target in links if not (page.parent / target).exists()]
        files = re.findall(r"`((?:agents|envs|league|matchmaking|web|configs|tests)/[\w/.]+\.\w+)`", text)
        broken += [f"{here}: {name}" for name in files if not (ROOT / name).exists()]
    assert broken == []


def test_where_do_i_change_names_one_file_each() -> None:
    page = (ROOT / "docs" / "architecture.md").read_text()
    section = page[page.index("## Where do I change") :]
    rows = re.findall(r"^\| ([^|]+) \| \[[^\]]+\]\(([^)]+)\) \|", section, re.MULTILINE)
    assert len(rows) >= 10
    for _, target in rows:
        assert (ROOT / "docs" / target).resolve().is_file(), target


@pytest.mark.parametrize(
    ("module", "heavy"),
    [
        ("league.config.run", "torch ray"),
        ("league.runtime.coordinator", "torch ray"),
        ("league.client.synchronous.client", "torch ray sqlalchemy"),
        ("league.cli.app", "torch ray pyspiel"),
        ("envs.registry", "torch pyspiel numba"),
    ],
)
def test_what_needs_little_imports_little(module: str, heavy: str) -> None:
    """A coordinator that imported torch would hold 150 MB more; a command would take a second longer."""
    program = f"import sys, {module}; print(*({set(heavy.split())} & set(sys.modules)))"
    answer = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert answer.stdout.strip() == ""
