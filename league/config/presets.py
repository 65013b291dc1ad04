"""Configs to begin with: those of the repository's `configs/`, where it is there."""

from __future__ import annotations

from pathlib import Path

FOLDER = Path(__file__).parents[2] / "configs"
FIRST = "quickstart"
SMALLEST = """\
name: quickstart
game: native:connect_four
stop: {minutes: 3}
players:
  - {role: main, share: 2}
  - {role: main_exploiter}
anchors: [random, "mcts:20"]
"""


def presets() -> dict[str, str]:
    """Returns the text of each by name, the quickstart first."""
    result = {p.stem: p.read_text(encoding="utf-8") for p in sorted(FOLDER.glob("*.yaml"))}
    return {FIRST: result.pop(FIRST, SMALLEST), **result}
