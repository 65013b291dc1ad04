"""docs/rest.md does what it says: its lines are run as they stand against a real server and a real league."""

from __future__ import annotations

import os
import re
import subprocess
from pathlib import Path

from tests import command_line as cli

DOC = Path(__file__).parents[2] / "docs" / "rest.md"


def test_the_lines_of_the_rest_page_work_as_they_stand(tmp_path: Path) -> None:
    home, port = tmp_path / "home", cli.free_port()
    url = f"http://127.0.0.1:{port}"
    script = tmp_path / "rest.sh"
    blocks = re.findall(r"^```sh\n(.*?)^```$", DOC.read_text(), re.MULTILINE | re.DOTALL)
    script.write_text("set -eo pipefail\n" + "echo\n".join(blocks))
    with cli.started("serve", "--supervise", "--home", str(home), "--port", str(port)):
        cli.wait_until(lambda: cli.get(f"{url}/readyz"), "the server")
        environment = {
            **os.environ,
            "LEAGUE_SERVER": url,
            "LEAGUE_HOME": str(home),
            "PATH": f"{Path(cli.LEAGUE).parent}:{os.environ['PATH']}",
        }
        answer = subprocess.run(
            ["bash", str(script)],
            capture_output=True,
            text=True,
            env=environment,
            timeout=240,
            check=False,
        )
        assert answer.returncode == 0, answer.stdout[-3000:] + answer.stderr[-3000:]
    for line in (
        '"kind":"unfreeze"',
        '"state":"done"',
        "clone the run with the other game",
        '"probabilities":',
    ):
        assert line in answer.stdout
