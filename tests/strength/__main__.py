"""How strong leagues become: `make bench-strength` (an hour and a half on two cores).

    python -m tests.strength [--only NAME …] [--out docs/strength.md]

Every case is a config of this repository, run for its own time. Networks play their best action, without
search; in games of hidden cards they are measured by what a best responder wins.
"""

from __future__ import annotations

import argparse
import json
import os
import tempfile
from collections.abc import Callable
from dataclasses import asdict
from pathlib import Path

from tests.strength.connect_four import connect_four
from tests.strength.small_games import kuhn, leduc, tic_tac_toe
from tests.strength.teams import simple_spread, simple_tag
from tests.strength.trained import Figure

CASES: dict[str, Callable[[Path], list[Figure]]] = {
    "tic_tac_toe": tic_tac_toe,
    "kuhn": kuhn,
    "leduc": leduc,
    "simple_spread": simple_spread,
    "simple_tag": simple_tag,
    "connect_four": connect_four,
}


def as_page(figures: list[Figure]) -> str:
    """Returns the figures as Markdown."""
    lines = [
        "# Strength",
        "",
        f"Written by `make bench-strength` on {os.cpu_count()} cores, each league alone on the machine.",
        "Networks play their best action and do not search; where two networks meet they sample.",
        "",
        "| what | found | asked |",
        "|---|---|---|",
        *(f"| {f.what} | {f.found}{'' if f.holds else ' (missed)'} | {f.wanted} |" for f in figures),
        "",
    ]
    return "\n".join(lines)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--out", type=Path, help="a page; figures of other cases beside it are kept")
    parser.add_argument("--only", nargs="*", choices=list(CASES), default=list(CASES))
    options = parser.parse_args()
    record = options.out.with_suffix(".json") if options.out else None
    known: dict[str, list[Figure]] = {}
    if record is not None and record.exists():
        known = {name: [Figure(**f) for f in rows] for name, rows in json.loads(record.read_text()).items()}
    with tempfile.TemporaryDirectory() as folder:
        for name in options.only:
            known[name] = CASES[name](Path(folder))
            for figure in known[name]:
                print(f"{figure.what}: {figure.found}, asked {figure.wanted}", flush=True)
            if record is not None:
                rows = {case: [asdict(f) for f in known[case]] for case in CASES if case in known}
                record.write_text(json.dumps(rows, indent=1, ensure_ascii=False) + "\n")
                options.out.write_text(as_page([f for case in CASES for f in known.get(case, [])]))
    figures = [f for name in options.only for f in known[name]]
    raise SystemExit(0 if all(f.holds for f in figures) else 1)


if __name__ == "__main__":
    main()
