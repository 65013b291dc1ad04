"""What the commands of a control plane share: which run is meant, and how rows are printed."""

from __future__ import annotations

import datetime
import json
from collections.abc import Sequence
from typing import Annotated

import typer
from pydantic import BaseModel
from rich.table import Table

from league.cli.printing import out
from league.client import LeagueClient
from league.client.schemas import Run
from league.errors import NotFoundError

Limit = Annotated[int, typer.Option(min=1, max=500, help="How many at most.")]


def find_run(client: LeagueClient, name: str) -> Run:
    """Returns the run of an id, of the beginning of one, or the latest. Raises: NotFoundError."""
    runs = client.runs(limit=500).items
    if name == "latest" and runs:
        return runs[0]
    result = [r for r in runs if r.id == name] or [r for r in runs if name and r.id.startswith(name)]
    if len(result) != 1:
        known = ", ".join(r.id for r in runs[:5]) or "none yet"
        problem = "no run" if not result else f"{len(result)} runs begin with"
        raise NotFoundError(f"{problem} {name!r}; newest runs: {known}")
    return result[0]


def print_json(items: Sequence[BaseModel]) -> None:
    print(json.dumps([item.model_dump() for item in items]))


def print_table(columns: Sequence[str], rows: Sequence[Sequence[str]]) -> None:
    table = Table(*columns, box=None)
    for row in rows:
        table.add_row(*row)
    out.print(table)


def clock_time(at: float) -> str:
    return datetime.datetime.fromtimestamp(at).strftime("%H:%M:%S")


def day(at: float | None) -> str:
    return "" if at is None else datetime.datetime.fromtimestamp(at).strftime("%Y-%m-%d %H:%M")
