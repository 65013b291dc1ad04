"""Schemathesis, all its checks, for less than a minute; `make fuzz` goes on for ten."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from tests.fuzz import fuzz

OPERATIONS = 65
LIMITS = ("--max-examples", "2", "--seed", "1")


@pytest.mark.parametrize(
    ("token", "known", "phases"),
    [(True, True, "examples,coverage,fuzzing,stateful"), (False, False, "examples,fuzzing")],
)
def test_no_request_breaks_the_server_or_its_word(
    played_run: str, tmp_path: Path, token: bool, known: bool, phases: str
) -> None:
    limits = (*LIMITS, "--phases", phases)
    checked = fuzz(tmp_path / "home", played_run, limits, token=token, known=known)
    assert checked.returncode == 0, checked.stdout[-5000:]
    counts = re.findall(r"(?:Selected|Tested): (\d+)(?:/(\d+))?", checked.stdout)
    assert {int(n) for pair in counts for n in pair if n} == {OPERATIONS}
