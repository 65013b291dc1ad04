"""Where a league's data lies, and the stores opened from it."""

from __future__ import annotations

import os
from dataclasses import dataclass
from pathlib import Path

from league.db.session import Database
from league.errors import DatabaseError
from league.services import LeagueService

DATABASE_VARIABLE, CHECKPOINTS_VARIABLE = "LEAGUE_DATABASE_URL", "LEAGUE_CHECKPOINT_URL"
HOME_VARIABLE, DEFAULT_HOME = "LEAGUE_HOME", "league-data"


@dataclass(frozen=True)
class Stores:
    """URLs of the database and of the checkpoints."""

    database_url: str
    checkpoint_url: str

    @staticmethod
    def from_environment(home: str | None = None) -> Stores:
        """Returns the stores in `home` (default: $LEAGUE_HOME, else ./league-data); URLs in variables win.

        Raises:
          DatabaseError: the folder cannot be made.
        """
        folder = Path(home or os.environ.get(HOME_VARIABLE) or DEFAULT_HOME).resolve()
        database = os.environ.get(DATABASE_VARIABLE)
        checkpoints = os.environ.get(CHECKPOINTS_VARIABLE)
        if not (database and checkpoints):
            try:
                folder.mkdir(parents=True, exist_ok=True)
            except OSError as error:
                raise DatabaseError(f"data folder {folder}: {error.strerror}") from error
        return Stores(
            database or f"sqlite:///{folder / 'league.db'}", checkpoints or str(folder / "checkpoints")
        )

    def export(self) -> None:
        """Puts the URLs into the environment, for the web app that uvicorn makes from its import string."""
        os.environ[DATABASE_VARIABLE] = self.database_url
        os.environ[CHECKPOINTS_VARIABLE] = self.checkpoint_url

    def open_database(self, *, upgrade: bool) -> Database:
        """Opens the database. Raises: DatabaseError: it cannot be opened or its schema does not fit."""
        database = Database(self.database_url)
        if upgrade:
            database.upgrade()
        else:
            database.require_current()
        return database

    def service(self) -> LeagueService:
        """Returns the service over an opened database. Raises: DatabaseError."""
        return LeagueService(self.open_database(upgrade=False))
