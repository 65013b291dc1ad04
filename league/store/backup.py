"""A run as one file, while it runs or not: its rows as of one moment, and every checkpoint they name.

The file is a zip: `manifest.json`, `rows.jsonl` (a table's name and a row, each line), `checkpoints/SHA256`.
It is independent of the database: a run backed up from SQLite can be restored into PostgreSQL.
"""

from __future__ import annotations

import hashlib
import json
import os
import secrets
import time
import zipfile
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from league.errors import BadRequestError, CheckpointError, LeagueError
from league.store.archive import read_rows, write_rows
from league.store.checkpoints import CheckpointStore
from league.store.session import Database

FORMAT = 1
MANIFEST, ROWS, CHECKPOINTS = "manifest.json", "rows.jsonl", "checkpoints/"
# A learner that saves meanwhile deletes what the rows still name; then they are read anew.
TRIES = 10
LONGEST_MANIFEST = 100_000


@dataclass(frozen=True)
class Backup:
    """What is in a file."""

    run_id: str
    name: str
    rows: int
    checkpoints: int
    bytes: int


def back_up(database: Database, store: CheckpointStore, run_id: str, path: Path) -> Backup:
    """Writes a run into a file, whole or not at all.

    Raises:
      NotFoundError: no such run. CheckpointError: a checkpoint is missing or damaged. LeagueError: the file
        cannot be written.
    """
    for attempt in range(TRIES):
        try:
            return _write(database, store, run_id, path)
        except CheckpointError:
            if attempt == TRIES - 1:
                raise
            time.sleep(0.2)
        except OSError as error:
            raise LeagueError(f"{path}: {error.strerror}") from error
    raise AssertionError  # the last attempt has returned or raised


def restore(database: Database, store: CheckpointStore, path: Path) -> Backup:
    """Brings a run back from a file: all of it or nothing. A run that was running is paused.

    Raises:
      LeagueError: the file cannot be read, is damaged, or of another version of the program.
      ConflictError: the run is in this database already.
    """
    try:
        with zipfile.ZipFile(path) as archive:
            manifest = _manifest(archive, database.revision())
            for sha in manifest["checkpoints"]:
                data = archive.read(CHECKPOINTS + sha)
                if hashlib.sha256(data).hexdigest() != sha:
                    raise BadRequestError(f"{path}: checkpoint {sha} in it is damaged; nothing was restored")
                store.put(data)
            count = write_rows(database, manifest["run"], _rows(archive, manifest["rows"]))
    except OSError as error:
        raise LeagueError(f"{path}: {error.strerror or error}") from error
    except (zipfile.BadZipFile, KeyError, ValueError, TypeError) as error:
        raise BadRequestError(f"{path} is no backup of a run, or damaged: {error}") from error
    size = path.stat().st_size
    return Backup(manifest["run"], manifest["name"], count, len(manifest["checkpoints"]), size)


def _write(database: Database, store: CheckpointStore, run_id: str, path: Path) -> Backup:
    temporary = path.with_name(f"{path.name}.{secrets.token_hex(4)}.tmp")
    try:
        shas: set[str] = set()
        spare: set[str] = set()  # states before the last: good to have, but not there after damage
        count, name = 0, ""
        with temporary.open("wb") as file:
            with zipfile.ZipFile(file, "w", zipfile.ZIP_DEFLATED) as archive:
                with archive.open(ROWS, "w", force_zip64=True) as rows:
                    for table, row in read_rows(database, run_id):
                        rows.write(json.dumps([table, row]).encode() + b"\n")
                        shas |= _named(table, row)
                        if row.get("previous_state"):
                            spare.add(row["previous_state"])
                        count += 1
                        name = row["name"] if table == "runs" else name
                shas |= {sha for sha in spare if store.has(sha)}
                for sha in sorted(shas):
                    archive.writestr(zipfile.ZipInfo(CHECKPOINTS + sha), store.get(sha))
                facts = {
                    "format": FORMAT,
                    "schema": database.revision(),
                    "run": run_id,
                    "name": name,
                    "rows": count,
                    "checkpoints": sorted(shas),
                }
                archive.writestr(MANIFEST, json.dumps(facts))
            file.flush()
            os.fsync(file.fileno())
        os.replace(temporary, path)
    finally:
        temporary.unlink(missing_ok=True)
    return Backup(run_id, name, count, len(shas), path.stat().st_size)


def _named(table: str, row: dict[str, Any]) -> set[str]:
    """Returns the checkpoints that a row names."""
    result = {row.get(key) for key in ("checkpoint", "initial_checkpoint", "learner_state")}
    kind, _, rest = str(row.get("bot") or "").partition(":")
    if kind in ("onnx", "torchscript"):
        result.add(rest)
    if table == "runs":
        result |= {entry.get("teacher") for entry in row["config"].get("players", [])}
    return {sha for sha in result if sha}


def _manifest(archive: zipfile.ZipFile, revision: str) -> dict[str, Any]:
    if archive.getinfo(MANIFEST).file_size > LONGEST_MANIFEST + 80 * len(archive.namelist()):
        raise ValueError("its manifest is too long")
    manifest: dict[str, Any] = json.loads(archive.read(MANIFEST))
    if manifest["format"] != FORMAT or manifest["schema"] != revision:
        raise BadRequestError(
            f"this backup is of schema {manifest['schema']}, this program and its database of {revision}; "
            "restore it with the program that made it, and upgrade then"
        )
    if not all(len(sha) == 64 and set(sha) <= set("0123456789abcdef") for sha in manifest["checkpoints"]):
        raise ValueError("a checkpoint's name is no sha256")
    return manifest


def _rows(archive: zipfile.ZipFile, count: int) -> Iterator[tuple[str, dict[str, Any]]]:
    with archive.open(ROWS) as lines:
        for line in lines:
            table, row = json.loads(line)
            count -= 1
            yield table, row
    if count:
        raise ValueError(f"{count} rows are missing")
