"""Connections: SQLite that waits its turn, PostgreSQL as it comes."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator
from contextlib import contextmanager
from importlib.resources import files
from typing import Any

from alembic import command
from alembic.config import Config
from alembic.runtime.migration import MigrationContext
from alembic.script import ScriptDirectory
from sqlalchemy import Connection, Engine, create_engine, event, text
from sqlalchemy.engine import make_url
from sqlalchemy.exc import (
    ArgumentError,
    DBAPIError,
    NoSuchModuleError,
    OperationalError,
    SQLAlchemyError,
)
from sqlalchemy.orm import Session

from league.errors import DatabaseError, StoreWaitsError

# How long SQLite waits for another writer before it says that it is locked.
BUSY_MILLISECONDS = 10_000


class Database:
    """One database by its SQLAlchemy URL; transactions that read, transactions that write."""

    def __init__(self, url: str) -> None:
        """Raises: DatabaseError: the URL is none, or its driver is not installed."""
        try:
            parsed = make_url(url)
            if parsed.drivername == "postgresql":
                parsed = parsed.set(drivername="postgresql+psycopg")
            self.url = parsed.render_as_string(hide_password=False)
            self.shown_url = parsed.render_as_string(hide_password=True)
            self._engine: Engine = create_engine(
                parsed,
                pool_pre_ping=parsed.get_backend_name() != "sqlite",
                pool_use_lifo=True,  # few connections with full caches rather than many
            )
        except (ArgumentError, NoSuchModuleError, ImportError) as error:
            raise DatabaseError(f"database {url!r}: {error}") from error
        if self._engine.dialect.name == "sqlite":
            event.listen(self._engine, "connect", _prepare_sqlite)
            event.listen(self._engine, "begin", _begin_sqlite)

    @property
    def dialect(self) -> str:
        return self._engine.dialect.name

    @contextmanager
    def read(self) -> Iterator[Session]:
        """A transaction that sees one moment and changes nothing. Raises: StoreWaitsError."""
        with self._told(), self._connect() as plain:
            one_moment = "REPEATABLE READ" if self.dialect == "postgresql" else None  # SQLite always does
            connection = plain.execution_options(isolation_level=one_moment) if one_moment else plain
            with Session(connection) as session:
                yield session

    @contextmanager
    def write(self) -> Iterator[Session]:
        """A transaction that is written whole when the block ends, and not at all when it raises.

        On SQLite it takes the write lock at its beginning: a transaction that reads first and writes
        later would act on what another has changed in between.

        Raises:
          StoreWaitsError: nothing was written, or it is not known; the same may work a moment later.
        """
        with self._told(), self._connect() as plain:
            connection = plain.execution_options(league_write=True)
            with connection.begin(), Session(connection) as session:
                yield session
                session.flush()

    def now(self, session: Session) -> float:
        """Returns seconds since 1970 by the database's clock, which all processes share."""
        seconds = (
            "(julianday('now') - 2440587.5) * 86400.0"  # unixepoch('subsec') needs SQLite 3.42
            if self.dialect == "sqlite"
            else "extract(epoch from clock_timestamp())::float8"
        )
        return float(session.execute(text(f"select {seconds}")).scalar_one())

    def upgrade(self) -> None:
        """Brings the schema to this program's. Raises: DatabaseError: it cannot be opened, or is newer."""
        current, head = self._revisions()
        if current != head:
            with self._connect() as connection, connection.begin():
                config = _alembic()
                config.attributes["connection"] = connection
                command.upgrade(config, "head")

    def create_if_empty(self) -> None:
        """Makes the schema where there is none yet. Raises: DatabaseError: it cannot be opened."""
        current, _ = self._revisions()
        if current is None:
            self.upgrade()

    def downgrade(self, revision: str) -> None:
        """Takes the schema back to an earlier program's; what that one does not know is dropped."""
        with self._connect() as connection, connection.begin():
            config = _alembic()
            config.attributes["connection"] = connection
            command.downgrade(config, revision)

    def revision(self) -> str:
        """Returns the schema's revision. Raises: DatabaseError: it cannot be read."""
        current, _ = self._revisions()
        return current or "none"

    def require_current(self) -> None:
        """Raises: DatabaseError: the schema is not this program's; says what to do."""
        current, head = self._revisions()
        if current != head:
            raise DatabaseError(
                f"database {self.shown_url} is at schema {current or 'none'}, this program needs {head}; "
                "run `league db upgrade`"
            )

    def close(self) -> None:
        self._engine.dispose()

    def _revisions(self) -> tuple[str | None, str]:
        script = ScriptDirectory.from_config(_alembic())
        head = script.get_current_head()
        if head is None:
            raise DatabaseError("this program carries no migrations")
        with self._connect() as connection:
            try:
                current = MigrationContext.configure(connection).get_current_revision()
            except SQLAlchemyError as error:
                raise DatabaseError(f"database {self.shown_url}: {_first_line(error)}") from error
        known = {revision.revision for revision in script.walk_revisions()}
        if current is not None and current not in known:
            raise DatabaseError(
                f"database {self.shown_url} is at schema {current}, which is newer than this program "
                f"({head}); update League, or use another database"
            )
        return current, head

    @contextmanager
    def _told(self) -> Iterator[None]:
        """Errors that pass, as errors of the league."""
        try:
            yield
        except DBAPIError as error:
            if _passes(error):
                raise StoreWaitsError(f"database {self.shown_url}: {_first_line(error)}") from error
            raise

    @contextmanager
    def _connect(self) -> Iterator[Connection]:
        try:
            connection = self._engine.connect()
        except SQLAlchemyError as error:
            passes = isinstance(error, DBAPIError) and _passes(error)
            raise (StoreWaitsError if passes else DatabaseError)(
                f"database {self.shown_url} cannot be opened: {_first_line(error)}"
            ) from error
        with connection:
            yield connection


def _first_line(error: Exception) -> str:
    return str(getattr(error, "orig", None) or error).strip().splitlines()[0]


def _passes(error: DBAPIError) -> bool:
    """Whether what went wrong is of the moment: no room, a lock, no connection, a conflict of two writers."""
    code = getattr(error.orig, "sqlstate", None)
    if code is not None:  # PostgreSQL's, by class: connection, conflict, resources, intervention, system
        return str(code)[:2] in ("08", "40", "53", "57", "58")
    if isinstance(error.orig, sqlite3.Error):
        return any(word in str(error.orig) for word in ("locked", "busy", "full", "disk I/O"))
    return isinstance(error, OperationalError)  # a connection that was refused or broken


def _alembic() -> Config:
    config = Config()
    config.set_main_option("script_location", str(files("migrations")))
    return config


def _prepare_sqlite(connection: Any, _: Any) -> None:
    connection.isolation_level = None  # the driver begins nothing by itself; _begin_sqlite does
    cursor = connection.cursor()
    cursor.execute(f"PRAGMA busy_timeout = {BUSY_MILLISECONDS}")
    cursor.execute("PRAGMA journal_mode = WAL")
    cursor.execute("PRAGMA synchronous = FULL")  # what was committed survives a power cut
    cursor.execute("PRAGMA foreign_keys = ON")
    cursor.execute("PRAGMA cache_size = -1000")  # KiB a connection; the system's own cache is behind it
    cursor.close()


def _begin_sqlite(connection: Connection) -> None:
    write = connection.get_execution_options().get("league_write", False)
    connection.exec_driver_sql("BEGIN IMMEDIATE" if write else "BEGIN")
