"""A run's rows, out of one database and into another."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

from sqlalchemy import Table, insert, select

from league.errors import ConflictError, NotFoundError
from league.store.models import Base, RunRow
from league.store.session import Database

# What belongs to a run and goes with it. Webhooks do not: their secrets are the server's.
LEFT_OUT = frozenset({"webhooks"})
# Columns whose numbers are the database's own, and given anew.
NUMBERED = "id"
BATCH = 5000
RUNS = "runs"


def tables() -> list[Table]:
    """Returns the tables that hold a run's rows, the run's own first."""
    of_runs = [t for t in Base.metadata.sorted_tables if "run_id" in t.columns and t.name not in LEFT_OUT]
    return [Base.metadata.tables[RUNS], *of_runs]


def read_rows(database: Database, run_id: str) -> Iterator[tuple[str, dict[str, Any]]]:
    """Yields (table, row) of a run, all of one moment. Raises: NotFoundError: no such run."""
    with database.read() as session:
        if session.get(RunRow, run_id) is None:
            raise NotFoundError(f"no run {run_id!r}")
        for table in tables():
            key = table.c.id if table.name == RUNS else table.c.run_id
            query = select(table).where(key == run_id).order_by(*table.primary_key.columns)
            for row in session.execute(query.execution_options(yield_per=BATCH)):
                yield table.name, dict(row._mapping)


def write_rows(database: Database, run_id: str, rows: Iterable[tuple[str, dict[str, Any]]]) -> int:
    """Writes a run's rows, all or none; returns how many. Nobody owns the run; one that ran is paused.

    Args:
      rows: as `read_rows` yields them, the run's own first.

    Raises:
      ConflictError: a run of this id is here already. KeyError, TypeError: rows of other tables or columns.
    """
    known = {table.name: table for table in tables()}
    count = 0
    with database.write() as session:
        if session.get(RunRow, run_id) is not None:
            raise ConflictError(f"run {run_id} is in this database already")
        waiting: list[dict[str, Any]] = []
        current: Table | None = None

        def flush() -> None:
            if current is not None and waiting:
                session.execute(insert(current), waiting)
                waiting.clear()

        for name, row in rows:
            table = known[name]
            if table is not current or len(waiting) >= BATCH:
                flush()
                current = table
            if set(row) != set(table.columns.keys()):
                raise KeyError(f"columns of {name}")
            if table.name == RUNS:
                row = row | {"lease_owner": None, "lease_expires_at": None}
                if row["state"] in ("running", "pending"):
                    row |= {"state": "paused", "desired_state": "paused", "stop_reason": "restored"}
            elif NUMBERED in row and isinstance(row[NUMBERED], int):
                row = {k: v for k, v in row.items() if k != NUMBERED}
            waiting.append(row)
            count += 1
        flush()
    return count
