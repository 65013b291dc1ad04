"""The pages of docs/ that can be run are run as they stand, against a real server and a real league."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from league.settings import as_table
from tests import command_line as cli

DOCS = Path(__file__).parents[2] / "docs"


@pytest.fixture(scope="module")
def environment(tmp_path_factory: pytest.TempPathFactory) -> Iterator[dict[str, str]]:
    """Of a shell beside a server with a supervisor."""
    home, port = tmp_path_factory.mktemp("served") / "home", cli.free_port()
    url = f"http://127.0.0.1:{port}"
    with cli.started("serve", "--supervise", "--home", str(home), "--port", str(port)):
        cli.wait_until(lambda: cli.get(f"{url}/readyz"), "the server")
        path = f"{Path(cli.LEAGUE).parent}:{os.environ['PATH']}"
        yield {**os.environ, "LEAGUE_SERVER": url, "LEAGUE_HOME": str(home), "PATH": path}


def blocks(page: str, language: str) -> list[str]:
    return re.findall(rf"^```{language}\n(.*?)^```$", (DOCS / page).read_text(), re.MULTILINE | re.DOTALL)


def run(command: list[str], environment: dict[str, str], tmp_path: Path) -> str:
    output = tmp_path / "output"
    with output.open("w") as file:
        code = subprocess.run(
            ["timeout", "200", *command], stdout=file, stderr=file, env=environment, check=False
        ).returncode
    text = output.read_text()
    assert code == 0, text[-3000:]
    return text


def test_the_cells_of_the_client_page_work_as_they_stand(environment: dict[str, str], tmp_path: Path) -> None:
    script = tmp_path / "client.py"
    script.write_text("\n".join(blocks("client.md", "python")))
    text = run([sys.executable, str(script)], environment, tmp_path)
    for line in ("joined the pool", "1. ", "clone the run with the other game", "from-python ", "Elo"):
        assert line in text


def test_the_lines_of_the_rest_page_work_as_they_stand(environment: dict[str, str], tmp_path: Path) -> None:
    script = tmp_path / "rest.sh"
    script.write_text("set -eo pipefail\n" + "echo\n".join(blocks("rest.md", "sh")))
    text = run(["bash", "-x", str(script)], environment, tmp_path)
    for line in (
        '"kind":"unfreeze"',
        '"state":"done"',
        "clone the run with the other game",
        '"probabilities":',
    ):
        assert line in text


def test_every_setting_is_on_its_page() -> None:
    assert as_table() in (DOCS / "settings.md").read_text()
