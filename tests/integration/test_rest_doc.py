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
        output = tmp_path / "output"
        with output.open("w") as file:
            code = subprocess.run(
                ["timeout", "240", "bash", "-x", str(script)],
                stdout=file,
                stderr=file,
                env=environment,
                check=False,
            ).returncode
        text = output.read_text()
        assert code == 0, text[-3000:]
    for line in (
        '"kind":"unfreeze"',
        '"state":"done"',
        "clone the run with the other game",
        '"probabilities":',
    ):
        assert line in text
