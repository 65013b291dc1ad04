"""Schemathesis, all its checks, for less than a minute; `make fuzz` goes on for ten."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.fuzz import fuzz

LIMITS = ("--max-examples", "3", "--seed", "1")


@pytest.mark.parametrize(("token", "known"), [(True, True), (False, False)])
def test_no_request_breaks_the_server_or_its_word(
    played_run: str, tmp_path: Path, token: bool, known: bool
) -> None:
    checked = fuzz(tmp_path / "home", played_run, LIMITS, token=token, known=known)
    assert checked.returncode == 0, checked.stdout[-5000:]
    assert "Selected: 54/54" in checked.stdout
    assert "Tested: 54" in checked.stdout
