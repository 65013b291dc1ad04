"""Where a league's data lies, and the services opened from it."""

from __future__ import annotations

import os
from dataclasses import dataclass
from pathlib import Path

from league.control.access import AccessService
from league.control.services import LeagueService
from league.control.steering import ControlService
from league.control.webhooks import WebhookService
from league.errors import DatabaseError
from league.serving.acting import ActingService
from league.serving.playing import PlayService
from league.settings import Settings
from league.store.repositories.idempotency import IdempotencyRepository
from league.store.session import Database

DATABASE_VARIABLE, CHECKPOINTS_VARIABLE = "LEAGUE_DATABASE_URL", "LEAGUE_CHECKPOINT_URL"


@dataclass(frozen=True)
class Services:
    """Everything that a person or a page can ask for, over one database."""

    settings: Settings
    league: LeagueService
    control: ControlService
    access: AccessService
    acting: ActingService
    webhooks: WebhookService
    plays: PlayService
    idempotency: IdempotencyRepository


@dataclass(frozen=True)
class Stores:
    """URLs of the database and of the checkpoints."""

    database_url: str
    checkpoint_url: str

    @staticmethod
    def from_environment(home: str | None = None) -> Stores:
        """Returns the stores in `home` (default: $LEAGUE_HOME, else ./league-data); URLs in variables win.

        Raises:
          DatabaseError: the folder cannot be made. ConfigError: a variable is wrong.
        """
        settings = Settings.load()
        folder = Path(home or settings.home).resolve()
        database, checkpoints = settings.database_url, settings.checkpoint_url
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

    def create_if_empty(self) -> None:
        """Makes the database's schema where there is none yet. Raises: DatabaseError."""
        database = Database(self.database_url)
        database.create_if_empty()
        database.close()

    def service(self) -> LeagueService:
        """Returns the reading service over an opened database. Raises: DatabaseError."""
        return LeagueService(self.open_database(upgrade=False))

    def services(self, settings: Settings | None = None, *, trusted: bool = False) -> Services:
        """Returns every service.

        Args:
          trusted: whoever asks holds the database itself and needs no token.

        Raises:
          DatabaseError, ConfigError.
        """
        settings = settings or Settings.load()
        database = self.open_database(upgrade=False)
        access = AccessService(database, loopback=settings.loopback, trusted=trusted)
        control = ControlService(database, self.checkpoint_url, access, settings)
        return Services(
            settings,
            LeagueService(database),
            control,
            access,
            ActingService(database, self.checkpoint_url),
            WebhookService(database, access, settings),
            PlayService(database, self.checkpoint_url, control),
            IdempotencyRepository(database),
        )
