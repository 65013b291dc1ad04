"""`league db`: the schema, and whether what is stored agrees with itself."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import typer

from league.bootstrap import Stores
from league.cli.options import Home, RunName
from league.cli.printing import out
from league.control.services import LeagueService

if TYPE_CHECKING:
    from league.store.checkpoints import CheckpointStore
    from league.store.session import Database

db_app = typer.Typer(no_args_is_help=True, help="The database: its schema and its record.")


@db_app.command("upgrade")
def db_upgrade(home: Home = None) -> None:
    """Brings the database's schema to this program's."""
    stores = Stores.from_environment(home)
    stores.open_database(upgrade=True).close()
    out.print(f"{stores.database_url} is up to date")


@db_app.command("check")
def db_check(home: Home = None) -> None:
    """Checks every run's record against itself and against the checkpoint store; exit code 1 if it fails."""
    from league.store.check import check_run

    database, store = _opened(home)
    problems = 0
    for record in LeagueService(database).runs():
        result = check_run(database, store, record.id)
        problems += len(result)
        for line in result:
            out.print(f"{record.id}: {line}", style="red", soft_wrap=True)
        if not result:
            out.print(f"{record.id}: ok")
    if problems:
        raise typer.Exit(1)


@db_app.command("repair")
def db_repair(home: Home = None) -> None:
    """Mends what `check` finds, as far as that is possible; runs that are being run are left alone."""
    from league.config.run import RunConfig
    from league.store.check import check_run
    from league.store.repair import repair_run

    database, store = _opened(home)
    left = 0
    for record in LeagueService(database).runs():
        decay = RunConfig.model_validate(record.config).payoff.decay
        done = repair_run(database, store, record.id, decay)
        for line in done or ["ok"]:
            out.print(f"{record.id}: {line}", soft_wrap=True)
        for line in check_run(database, store, record.id) if done else []:
            left += 1
            out.print(f"{record.id}: cannot be mended: {line}", style="red", soft_wrap=True)
    if left:
        raise typer.Exit(1)


@db_app.command("thin")
def db_thin(
    run: RunName,
    keep: Annotated[int, typer.Option(min=1, help="Best copies that are kept, beside those needed.")] = 50,
    home: Home = None,
) -> None:
    """Makes room: retires copies that the league hardly needs and deletes weights that nothing points at."""
    from league.store.thin import thin_run

    database, store = _opened(home)
    record = LeagueService(database).resolve(run)
    done = thin_run(database, store, record.id, keep)
    out.print(f"{record.id}: {len(done.retired)} copies retired, {len(done.deleted)} weights deleted")


def _opened(home: str | None) -> tuple[Database, CheckpointStore]:
    from league.store.checkpoints import CheckpointStore

    stores = Stores.from_environment(home)
    return stores.open_database(upgrade=False), CheckpointStore(stores.checkpoint_url)
