"""A run's curves where TensorBoard looks for them: throughput, what each learner reports, ratings.

league runs tensorboard latest --logdir runs [--follow]
tensorboard --logdir runs
"""

from __future__ import annotations

import time
from pathlib import Path
from typing import Any

from league.client import LeagueClient
from league.errors import LeagueError

POLL_SECONDS = 2.0
SKIPPED = ("play_seconds", "moves", "at")


class Board:
    """Event files of one run in a folder of its own. The horizontal axis is the run's moves."""

    def __init__(self, folder: Path) -> None:
        """Raises: LeagueError: TensorBoard is not installed, or the folder cannot be written."""
        try:
            from torch.utils.tensorboard import SummaryWriter
        except ImportError as error:
            raise LeagueError("TensorBoard is not installed: pip install 'league[tensorboard]'") from error
        try:
            self._writer: Any = SummaryWriter(str(folder))
        except OSError as error:
            raise LeagueError(f"{folder}: {error.strerror}") from error
        self._last = -1.0

    def add(self, row: dict[str, Any]) -> bool:
        """Writes a row of metrics; False when it was there already."""
        if row["play_seconds"] <= self._last:
            return False
        self._last = row["play_seconds"]
        moves = int(row.get("moves", 0))
        for name, value in row.items():
            if name not in SKIPPED and isinstance(value, int | float):
                self._writer.add_scalar(f"run/{name}", value, moves, walltime=row.get("at"))
        for player, values in row.get("learners", {}).items():
            for name, value in values.items():
                self._writer.add_scalar(f"{name}/{player}", value, moves, walltime=row.get("at"))
        return True

    def add_ratings(self, client: LeagueClient, run: str) -> None:
        """Writes the learning players' TrueSkill over the run."""
        history = client.ratings(run)
        for series in history.series:
            for moves, mu in zip(series.moves, series.mu, strict=True):
                self._writer.add_scalar(f"trueskill/{series.player}", mu, int(moves))

    def close(self) -> None:
        self._writer.close()


def export(client: LeagueClient, run: str, logdir: Path, *, follow: bool) -> int:
    """Writes what there is, and with `follow` what comes until the run is over.

    Returns:
      How many moments were written.
    """
    board = Board(logdir / run)
    try:
        count = sum(board.add(row) for row in client.metrics(run).items)
        while follow and client.run(run).state in ("pending", "running"):
            time.sleep(POLL_SECONDS)
            count += sum(board.add(row) for row in client.metrics(run).items[-5:])
        board.add_ratings(client, run)
    finally:
        board.close()
    return count
