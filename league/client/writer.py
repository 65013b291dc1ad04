"""Writes `league/client/synchronous` out of `league/client/asynchronous`: the same client without asyncio.

python -m league.client.writer
"""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

SOURCE, TARGET = Path(__file__).parent / "asynchronous", Path(__file__).parent / "synchronous"
WORDS = (
    ("__aenter__", "__enter__"),
    ("__aexit__", "__exit__"),
    ("aiter_lines", "iter_lines"),
    ("aread", "read"),
    ("aclose", "close"),
    ("asyncio.sleep", "time.sleep"),
    ("league.client.asynchronous", "league.client.synchronous"),
)
PACKAGE = '"""The client without asyncio, written by `make client` from `league.client.asynchronous`."""\n'
CLIENT = '''"""A typed client of the control plane.

    league = LeagueClient("http://127.0.0.1:8000")
    run = league.launch({"game": "native:connect_four", "stop": {"minutes": 5}, "players": [...]})
    for event in league.events(run.id):
        print(event.kind, event.player)
"""
'''


def written() -> dict[str, str]:
    """Returns the text of the client's files, by name."""
    return {path.name: _written(path) for path in sorted(SOURCE.glob("*.py"))}


def _written(path: Path) -> str:
    text = path.read_text()
    if path.name == "__init__.py":
        return PACKAGE
    if path.name == "client.py":
        text = re.sub(r'^""".*?"""\n', CLIENT, text, count=1, flags=re.DOTALL)
    for old, new in WORDS:
        text = text.replace(old, new)
    text = re.sub(r"\basync (def|for|with)\b", r"\1", text)
    text = re.sub(r"\bawait ", "", text)
    text = re.sub(r"\bAsync(?=[A-Z])", "", text)
    text = text.replace("import asyncio\n", "import time\n")
    target = str(TARGET / path.name)
    for command in (["check", "--select", "I", "--fix", "--quiet"], ["format"]):
        ruff = [sys.executable, "-m", "ruff", *command, "--stdin-filename", target, "-"]
        done = subprocess.run(ruff, input=text, capture_output=True, text=True, check=True)  # noqa: S603
        text = done.stdout
    return text


if __name__ == "__main__":
    TARGET.mkdir(exist_ok=True)
    for name, text in written().items():
        (TARGET / name).write_text(text)
