"""The whole suite in two parts: `make test`.

    python -m tests.suite [pytest's arguments …]

What wants the machine for itself (Ray, Chromium, clocks) comes after the rest, which runs side by side. The
second part runs whatever becomes of the first; what failed in either is said at the end.
"""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Sequence

PARTS = {
    "side by side": ("-m", "not alone", "-n", "auto", "--maxprocesses", "4", "--dist", "worksteal"),
    "alone": ("-m", "alone"),
}
NO_TESTS = 5  # pytest's exit code when a part has none, as with -k


def run_part(arguments: Sequence[str]) -> tuple[int, list[str]]:
    """Runs pytest and shows what it prints; returns its exit code and the lines that name failures."""
    colour = ("--color=yes",) if sys.stdout.isatty() else ()
    command = [sys.executable, "-m", "pytest", *colour, *arguments]
    failures = []
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True, errors="replace") as process:
        assert process.stdout is not None
        for line in process.stdout:
            print(line, end="", flush=True)
            plain = line.replace("\x1b[31m", "").strip()
            if plain.startswith(("FAILED ", "ERROR ")):
                failures.append(plain)
    return process.returncode, failures


def report(results: dict[str, tuple[int, list[str]]]) -> tuple[list[str], bool]:
    """Returns the closing lines, and whether every part has passed."""
    lines, passed = [], True
    for part, (code, failures) in results.items():
        fine = code in (0, NO_TESTS)
        passed = passed and fine
        verdict = (
            "passed" if fine else f"{len(failures)} failed" if failures else f"ended with exit code {code}"
        )
        lines += [f"{part}: {verdict}", *(f"  {line}" for line in failures)]
    return lines, passed


def main() -> int:
    results = {part: run_part([*arguments, *sys.argv[1:]]) for part, arguments in PARTS.items()}
    lines, passed = report(results)
    print("\n".join(["", *lines]))
    return 0 if passed else 1


if __name__ == "__main__":
    sys.exit(main())
