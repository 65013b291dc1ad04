"""`make test` goes on after failures and says at the end what failed in either part."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

from tests.suite import report

ROOT = Path(__file__).parents[1]


def test_the_second_part_runs_after_failures_in_the_first(tmp_path: Path) -> None:
    (tmp_path / "test_two.py").write_text(
        "import pytest\n"
        "def test_beside(): assert False\n"
        "@pytest.mark.alone\n"
        "def test_alone(): assert False\n"
        "@pytest.mark.alone\n"
        "def test_alone_too(): pass\n"
    )
    command = [sys.executable, "-m", "tests.suite", str(tmp_path), "-p", "no:cacheprovider"]
    answer = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=120, check=False)
    assert answer.returncode == 1
    closing = answer.stdout.splitlines()[-4:]
    assert closing[0] == "side by side: 1 failed"
    assert "test_beside" in closing[1]
    assert closing[2] == "alone: 1 failed"
    assert "test_alone" in closing[3]


def test_a_part_that_crashed_or_had_no_tests_is_told_apart() -> None:
    assert report({"side by side": (0, []), "alone": (5, [])})[1]
    lines, passed = report({"side by side": (3, []), "alone": (0, [])})
    assert not passed
    assert lines == ["side by side: ended with exit code 3", "alone: passed"]
