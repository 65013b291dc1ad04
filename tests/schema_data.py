"""A small league as each revision of the schema has held it: what users' databases look like.

    python -m tests.schema_data     writes tests/league/schemas/REVISION.json for those that have none

A file is written once, when its revision is the newest, and never again: what a later program reads must be
what an earlier one wrote.
"""

from __future__ import annotations

import json
import tempfile
from pathlib import Path
from typing import Any

from sqlalchemy import LargeBinary, MetaData, create_engine, func, insert, make_url, select
from sqlalchemy.engine import Connection

from league.bootstrap import Stores
from league.store.session import Database
from tests.conftest import make_small_config
from tests.serial_league import play

FOLDER = Path(__file__).parent / "league" / "schemas"


def revisions() -> list[str]:
    """Returns the schema's revisions, oldest first."""
    migrations = Path(__file__).parents[1] / "migrations" / "versions"
    return sorted(path.name[:4] for path in migrations.glob("0*.py"))


def dump(url: str) -> dict[str, dict[str, list[Any]]]:
    """Returns columns and rows of every table that has some, bytes in hex."""
    engine, metadata = create_engine(url), MetaData()
    metadata.reflect(engine)
    tables = {}
    with engine.connect() as connection:
        for table in metadata.sorted_tables:
            rows = [
                [value.hex() if isinstance(value, bytes) else value for value in row]
                for row in connection.execute(select(table))
            ]
            if rows and table.name != "alembic_version":
                tables[table.name] = {"columns": list(table.columns.keys()), "rows": rows}
    engine.dispose()
    return tables


def load(database: Database, revision: str) -> None:
    """Fills a database whose schema is of this revision with what the file says."""
    engine, metadata = create_engine(database.url), MetaData()
    metadata.reflect(engine)
    tables = json.loads((FOLDER / f"{revision}.json").read_text())
    with engine.begin() as connection:
        for table in metadata.sorted_tables:
            rows = rows_of(tables.get(table.name))
            for column in table.columns:
                if isinstance(column.type, LargeBinary):
                    for row in rows:
                        row[column.name] = row[column.name] and bytes.fromhex(row[column.name])
            if rows:
                connection.execute(insert(table), rows)
        if engine.dialect.name == "postgresql":
            _count_on(connection, metadata)
    engine.dispose()


def rows_of(table: dict[str, list[Any]] | None) -> list[dict[str, Any]]:
    """Returns what `dump` wrote of a table, a dictionary a row."""
    return [dict(zip(table["columns"], row, strict=True)) for row in table["rows"]] if table else []


def _count_on(connection: Connection, metadata: MetaData) -> None:
    """PostgreSQL numbers new rows by itself: it shall begin after those that came with their numbers."""
    for table in metadata.sorted_tables:
        for column in table.primary_key.columns:
            if column.server_default is not None:
                sequence = func.pg_get_serial_sequence(table.name, column.name)
                highest = connection.execute(select(func.max(column))).scalar() or 0
                connection.execute(select(func.setval(sequence, highest + 1, False)))


def main() -> None:
    FOLDER.mkdir(exist_ok=True)
    for revision in revisions():
        path = FOLDER / f"{revision}.json"
        if path.exists():
            continue
        with tempfile.TemporaryDirectory() as home:
            stores = Stores.from_environment(home)
            stores.open_database(upgrade=True).close()
            play(stores, make_small_config())
            database = stores.open_database(upgrade=False)
            database.downgrade(revision)
            database.close()
            assert make_url(stores.database_url).get_backend_name() == "sqlite"
            path.write_text(
                json.dumps(dump(stores.database_url), separators=(",", ":")).replace("],[", "],\n[") + "\n"
            )
            print(path)


if __name__ == "__main__":
    main()
