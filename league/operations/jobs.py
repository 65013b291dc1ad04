"""Plays the tournaments that people ask for, each in a process of its own and below everything else."""

from __future__ import annotations

import contextlib
import os
import subprocess
import sys
import threading

from league.errors import USER_ERRORS, DatabaseError
from league.store.repositories.tournaments import TournamentRepository
from league.store.session import Database

POLL_SECONDS = 1.0
NICENESS = 10
PROGRESS_SECONDS = 1.0


class TournamentPlayer:
    """A thread that starts a process whenever a tournament waits; one at a time."""

    def __init__(self, database_url: str, checkpoint_url: str) -> None:
        self._urls = database_url, checkpoint_url
        self._stop = threading.Event()
        self._process: subprocess.Popen[bytes] | None = None
        self._thread = threading.Thread(target=self._run, name="tournaments", daemon=True)

    def __enter__(self) -> TournamentPlayer:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._stop.set()
        if self._process is not None:
            self._process.terminate()  # what it was at waits for the next server
        self._thread.join(timeout=10)

    def _run(self) -> None:
        tournaments = TournamentRepository(Database(self._urls[0]))
        while not self._stop.wait(POLL_SECONDS):
            with contextlib.suppress(DatabaseError):
                claimed = tournaments.claim()
                if claimed is not None:
                    record, claim = claimed
                    self._play(record.id, claim)

    def _play(self, tournament_id: int, claim: str) -> None:
        environment = {
            **os.environ,
            "LEAGUE_DATABASE_URL": self._urls[0],
            "LEAGUE_CHECKPOINT_URL": self._urls[1],
        }
        command = [sys.executable, "-m", "league.operations.jobs", str(tournament_id), claim]
        self._process = subprocess.Popen(command, env=environment, stdin=subprocess.DEVNULL)  # noqa: S603
        self._process.wait()
        self._process = None


def play(tournament_id: int, claim: str) -> None:
    """Plays a claimed tournament to its end, or until somebody cancels it."""
    from time import monotonic

    import torch

    from league.bootstrap import Stores
    from league.store.checkpoints import CheckpointStore
    from league.store.repositories.views import LeagueViews
    from league.study.tournaments import parse_rules
    from league.study.tournaments import play as play_tournament

    os.nice(NICENESS)
    torch.set_num_threads(1)
    stores = Stores.from_environment()
    database = stores.open_database(upgrade=False)
    tournaments = TournamentRepository(database)
    record = tournaments.get(tournament_id)
    said, keep, parent = [0.0], [True], os.getppid()

    def keep_on(games: int) -> bool:
        if os.getppid() != parent:  # the server is gone; the next one has it played again
            sys.exit(1)
        if monotonic() - said[0] >= PROGRESS_SECONDS:
            said[0] = monotonic()
            keep[0] = tournaments.keep_on(tournament_id, claim, games)
        return keep[0]

    try:
        results = play_tournament(
            LeagueViews(database).snapshot(record.run_id),
            CheckpointStore(stores.checkpoint_url),
            parse_rules(record.rules),
            keep_on=keep_on,
        )
    except USER_ERRORS as error:
        tournaments.finish(tournament_id, claim, "failed", {}, str(error))
    else:
        tournaments.finish(tournament_id, claim, "done", results.to_json())


if __name__ == "__main__":
    play(int(sys.argv[1]), sys.argv[2])
