"""Schemathesis against a running server, all checks, with and without tokens.

    python -m tests.fuzz [--seconds 600]

Plays a small league, serves it, makes a token, and lets schemathesis at every operation of the OpenAPI
document: no answer may be a 5xx, none off its schema, no refused request accepted, no token ignored.
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from itertools import product
from pathlib import Path

from league.bootstrap import Stores
from tests import command_line as cli
from tests.conftest import make_small_config
from tests.serial_league import play

SCHEMATHESIS = str(Path(sys.executable).parent / "schemathesis")
# What a schema cannot say (a cursor of ours, a config that holds, a URL that may be called) is refused with
# one of these; that is an answer, too.
PYTHON_BUG = "AST constructor recursion depth mismatch"  # now and then, in Python 3.11's own parser
CONFIG = """\
max-stream-events = 1
[checks.positive_data_acceptance]
expected-statuses = ["2xx", 304, 400, 401, 403, 404, 409, 412, 413, 422]
[checks.negative_data_rejection]
expected-statuses = [400, 401, 403, 404, 405, 406, 409, 412, 413, 415, 422, 429]
"""


def fuzz(
    home: Path, run_id: str, arguments: Sequence[str], *, token: bool, known: bool
) -> subprocess.CompletedProcess[str]:
    """Runs schemathesis against a server of the league in `home`.

    Args:
      token: with one, else an open server. known: ids are those of the league, so that most requests find
        what they ask about; else they are made up.
    """
    port = cli.free_port()
    url = f"http://127.0.0.1:{port}"
    environment = {**os.environ, "LEAGUE_RATE_LIMIT": "100000", "LEAGUE_PLAY_TOURNAMENTS": "false"}
    config = home / "schemathesis.toml"
    ids = f'[parameters]\nrun_id = "{run_id}"\nplayer_id = "{run_id}:main.0"\n' if known else ""
    config.write_text(f"{CONFIG}\n{ids}")
    command = [SCHEMATHESIS, "--config-file", str(config), "run", f"{url}/api/v1/openapi.json", "--no-color"]
    more: list[str] = []
    if token:
        made = cli.run("token", "create", "--scope", "admin", "--home", str(home))
        more = ["-H", f"Authorization: Bearer {made.stdout.strip()}"]
    if known:  # it takes an id that is given for one that is wrong
        more += ["--exclude-checks", "negative_data_rejection"]
    log = home / "server.log"
    with log.open("w") as file:
        server = subprocess.Popen(
            [cli.LEAGUE, "serve", "--home", str(home), "--port", str(port)],
            stdout=file,
            stderr=file,
            env=environment,
        )
        try:
            cli.wait_until(lambda: cli.get(f"{url}/readyz"), "the server")
            for _ in range(3):
                checked = subprocess.run(
                    [*command, "--checks", "all", *more, *arguments],
                    capture_output=True,
                    text=True,
                    check=False,
                    cwd=home,
                    env=environment,
                )
                if PYTHON_BUG not in checked.stdout:
                    break
            cli.get(f"{url}/livez")
        finally:
            server.terminate()
            server.wait(timeout=20)
    assert "Traceback" not in log.read_text(), log.read_text()[-3000:]
    return checked


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seconds", type=int, default=600, help="of fuzzing, in four equal parts")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        home = Path(folder)
        stores = Stores.from_environment(str(home))
        stores.open_database(upgrade=True).close()
        run_id = play(stores, make_small_config()).id
        limits = ["--max-time", str(options.seconds // 4), "--continue-on-failure"]
        for token, known in product((False, True), (False, True)):
            checked = fuzz(home, run_id, limits, token=token, known=known)
            print(checked.stdout[-6000:])
            if checked.returncode:
                sys.exit(1)


if __name__ == "__main__":
    main()
