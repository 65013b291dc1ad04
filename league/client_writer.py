"""Writes `league/client.py` out of `league/async_client.py`: the same client without asyncio.

python -m league.client_writer
"""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

HERE = Path(__file__).parent
SOURCE, TARGET = HERE / "async_client.py", HERE / "client.py"
WORDS = (
    ("AsyncLeagueClient", "LeagueClient"),
    ("httpx.AsyncClient", "httpx.Client"),
    ("httpx.AsyncBaseTransport", "httpx.BaseTransport"),
    ("AsyncIterator", "Iterator"),
    ("__aenter__", "__enter__"),
    ("__aexit__", "__exit__"),
    ("aiter_lines", "iter_lines"),
    ("aread", "read"),
    ("aclose", "close"),
    ("import asyncio\nimport json\nimport secrets\n", "import json\nimport secrets\nimport time\n"),
    ("asyncio.sleep", "time.sleep"),
)
TITLE = '''"""A typed client of the control plane.

Written by `make client` from `league/async_client.py`, which is the same for asyncio; change that.

    league = LeagueClient("http://127.0.0.1:8000")
    run = league.launch({"game": "native:connect_four", "stop": {"minutes": 5}, "players": [...]})
    for event in league.events(run.id):
        print(event.kind, event.player)
"""
'''


def written() -> str:
    """Returns the text of the client."""
    text = re.sub(r'^""".*?"""\n', TITLE, SOURCE.read_text(), count=1, flags=re.DOTALL)
    for old, new in WORDS:
        text = text.replace(old, new)
    text = re.sub(r"\basync (def|for|with)\b", r"\1", text)
    text = re.sub(r"\bawait ", "", text)
    command = [sys.executable, "-m", "ruff", "format", "--stdin-filename", str(TARGET), "-"]
    formatted = subprocess.run(command, input=text, capture_output=True, text=True, check=True)  # noqa: S603
    return formatted.stdout


if __name__ == "__main__":
    TARGET.write_text(written())
