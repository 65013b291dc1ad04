"""Known vulnerabilities in what constraints.txt pins: part of `make lint`.

Without a network there is nobody to ask; that is said, and is no failure.
"""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parents[1]
# Of the advisory, with why it does not concern us.
ACCEPTED: dict[str, str] = {}
UNREACHABLE = (
    "ConnectionError",
    "Max retries",
    "timed out",
    "Temporary failure",
    "ConnectTimeout",
    "403",
    "404",
)


def main() -> int:
    command = [sys.executable, "-m", "pip_audit", "-r", str(ROOT / "constraints.txt"), "--no-deps"]
    command += ["--disable-pip", "--progress-spinner", "off", "--timeout", "5"]
    command += [part for advisory in ACCEPTED for part in ("--ignore-vuln", advisory)]
    try:
        found = subprocess.run(command, capture_output=True, text=True, timeout=120, check=False)
    except subprocess.TimeoutExpired:
        print("SKIPPED: dependency audit: the database of vulnerabilities does not answer")
        return 0
    told = found.stdout + found.stderr
    if found.returncode != 0 and any(word in told for word in UNREACHABLE):
        print("SKIPPED: dependency audit: no database of vulnerabilities can be reached from here")
        return 0
    skipped = told.count("could not be audited")
    if found.returncode != 0:
        print(told.strip())
    elif skipped:
        print(f"SKIPPED: dependency audit: {skipped} packages are unknown to the database reached from here")
    else:
        print("No known vulnerabilities")
    return found.returncode


if __name__ == "__main__":
    raise SystemExit(main())
