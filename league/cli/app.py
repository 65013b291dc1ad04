"""The command line.

Exit codes: 0 done, 1 a run failed, 2 wrong input or a store or port that cannot be had, 130 interrupted.
"""

from __future__ import annotations

import contextlib
import json
import os
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer
from rich.live import Live
from rich.table import Table
from rich.text import Text

from league.bootstrap import Stores
from league.cli import printing
from league.cli.db import db_app
from league.cli.games import games_app
from league.cli.matches import matches_app
from league.cli.options import Home, Json, RunName, Server, stop_on_signals
from league.cli.players import players_app
from league.cli.printing import err, out
from league.cli.runs import runs_app
from league.cli.study import study_app
from league.cli.tokens import tokens_app
from league.control.services import LeagueService
from league.errors import USER_ERRORS, LeagueError, RuntimeFailedError
from league.settings import Settings

if TYPE_CHECKING:
    from league.runtime.messages import RunStatus

# At the end of a run; `league standings` prints everybody.
BEST_SHOWN = 50

app = typer.Typer(
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    help="Self-play leagues: run, watch, steer.",
)
app.add_typer(db_app, name="db")
app.add_typer(study_app)
app.add_typer(games_app, name="games")
app.add_typer(runs_app, name="runs")
app.add_typer(players_app, name="players")
app.add_typer(matches_app, name="matches")
app.add_typer(tokens_app, name="token")

Host = Annotated[str, typer.Option(help="Address to listen on.")]
Port = Annotated[int, typer.Option(min=1, max=65535, help="Port to listen on.")]


@app.command()
def run(
    config: Annotated[Path | None, typer.Argument(help="A run's YAML file.")] = None,
    resume: Annotated[str | None, typer.Option(help="Go on with this run instead: id or latest.")] = None,
    home: Home = None,
    host: Host = "127.0.0.1",
    port: Port = 8000,
    no_web: Annotated[bool, typer.Option("--no-web", help="Without API and pages.")] = False,
) -> None:
    """Runs a league here, from start to stop rule: database, workers, API and pages in one command."""
    if (config is None) == (resume is None):
        raise LeagueError("give either a config file or --resume RUN")
    from league.config.run import RunConfig  # 2 s that the other commands need not pay

    parsed = RunConfig.from_yaml(config) if config is not None else None
    from league.operations.jobs import TournamentPlayer
    from league.operations.web_server import BackgroundServer, bind, is_loopback
    from league.runtime.supervisor import Supervisor

    stores = Stores.from_environment(home)
    if not no_web and not is_loopback(host):
        raise LeagueError(
            f"refusing to listen on {host}: `league run` serves this machine; for others there is "
            "`league serve --host`, with access tokens, and `league supervise`"
        )
    service = LeagueService(stores.open_database(upgrade=True))
    listener = None if no_web else bind(host, port)
    stores.export()
    if parsed is not None and any(entry.teacher for entry in parsed.players):
        from league.store.checkpoints import CheckpointStore
        from league.study.teachers import require_teachers

        require_teachers(parsed, CheckpointStore(stores.checkpoint_url), str(config))
    record = service.launch(parsed) if parsed is not None else service.resolve(resume or "")
    if record.state == "finished" and record.stop_reason != "stopped":
        raise LeagueError(
            f"run {record.id} is finished: it {record.stop_reason}; start another from its config"
        )
    service.want(record.id, "running")
    settings = Settings.load()
    supervisor = Supervisor(stores.database_url, stores.checkpoint_url, settings.ray_address)
    tournaments = TournamentPlayer(stores.database_url, stores.checkpoint_url)
    with contextlib.ExitStack() as parts:
        stop = parts.enter_context(stop_on_signals())
        if listener is not None:
            os.environ["LEAGUE_LOOPBACK"] = "true"
            parts.enter_context(BackgroundServer(listener))
            if settings.play_tournaments:
                parts.enter_context(tournaments)
        out.print(f"Run [bold]{record.id}[/] · {record.game} · data in {stores.database_url}")
        if listener is not None:
            out.print(f"Standings: [link]http://{host}:{port}/runs/{record.id}[/link]")
        token = supervisor.wait_for_claim(
            record.id,
            stop,
            lambda s: out.print(f"Waiting up to {s:.0f} s for the last owner's lease to end …"),
        )
        out.print("Starting workers …")
        with _progress() as show:
            try:
                final = supervisor.supervise(record.id, token, stop, show)
            except RuntimeFailedError as error:
                err.print(f"[red]error:[/] {error}")
                raise typer.Exit(1) from error
    printing.print_standings(final, service.standings(final.id), limit=BEST_SHOWN)
    if final.state == "paused":
        out.print(f"Interrupted. Go on with: [bold]league run --resume {final.id}[/]")
        raise typer.Exit(130)


@app.command()
def serve(
    home: Home = None,
    host: Host = "127.0.0.1",
    port: Port = 8000,
    tls_cert: Annotated[Path | None, typer.Option(help="Certificate (PEM), for HTTPS.")] = None,
    tls_key: Annotated[Path | None, typer.Option(help="Its private key (PEM).")] = None,
    with_supervisor: Annotated[
        bool, typer.Option("--supervise", help="Also run the leagues, in a process of its own.")
    ] = False,
) -> None:
    """Serves the API and the pages. It never runs a league: that is what `supervise` is for.

    On loopback it is open to everybody on this machine until the first token is made. Elsewhere it asks for
    tokens, and does not start before there is one: `league token create`.
    """
    from league.control.access import AccessService
    from league.operations.jobs import TournamentPlayer
    from league.operations.web_server import bind, is_loopback, server

    settings = Settings.load()
    stores = Stores.from_environment(home)
    database = stores.open_database(upgrade=True)
    stores.export()
    os.environ["LEAGUE_LOOPBACK"] = str(is_loopback(host)).lower()
    access = AccessService(database, loopback=is_loopback(host))
    if not is_loopback(host):
        access.require_tokens_to_listen_elsewhere()
    cert, key = tls_cert or settings.tls_cert, tls_key or settings.tls_key
    serving = server(cert, key)
    listener = bind(host, port)
    scheme = "https" if cert else "http"
    out.print(f"Serving {scheme}://{host}:{port} · data in {database.shown_url}")
    if not is_loopback(host) and not cert:
        err.print("[yellow]warning:[/] tokens travel unencrypted; use --tls-cert, or a proxy that encrypts")
    out.print("Open to everybody on this machine" if access.is_open() else "Access by token")
    database.close()
    with contextlib.ExitStack() as parts:
        if settings.play_tournaments:
            parts.enter_context(TournamentPlayer(stores.database_url, stores.checkpoint_url))
        if with_supervisor:
            parts.enter_context(_supervisor_process())
        serving.run(sockets=[listener])


@contextmanager
def _supervisor_process() -> Iterator[None]:
    """`league supervise` beside this process; told to stop when it ends, and given time to save."""
    process = subprocess.Popen([sys.executable, "-m", "league.cli", "supervise", "--with-parent"])
    try:
        yield
    finally:
        process.terminate()
        with contextlib.suppress(subprocess.TimeoutExpired):
            process.wait(timeout=25)
        process.kill()


@app.command()
def supervise(
    home: Home = None,
    with_parent: Annotated[bool, typer.Option("--with-parent", hidden=True)] = False,
) -> None:
    """Claims runs that shall run, one after another, and keeps them going."""
    from league.control.event_log import EventLog, log_to_stderr
    from league.runtime.supervisor import Supervisor

    stores, settings = Stores.from_environment(home), Settings.load()
    stores.create_if_empty()
    log_to_stderr(settings.log_format)
    supervisor = Supervisor(stores.database_url, stores.checkpoint_url, settings.ray_address)
    with stop_on_signals() as stop:
        if with_parent:
            _stop_with_parent(stop)
        out.print(f"Supervising {stores.database_url}")
        with EventLog(stores.service(), supervisor.is_owner):
            supervisor.serve(stop, lambda _: None)


@app.command()
def standings(run: RunName, home: Home = None, server: Server = None, as_json: Json = False) -> None:
    """Prints a run's standings."""
    url = server or (Settings.load().server if home is None else None)
    if url is not None:
        from league.cli.client_commands import find_run
        from league.cli.connection import connect

        with connect(home, url) as client:
            shown = client.standings(find_run(client, run).id, limit=5000)
        if as_json:
            print(json.dumps([row.model_dump() for row in shown.standings]))
        else:
            printing.print_standings(shown.run, shown.standings)
        return
    service = Stores.from_environment(home).service()
    record = service.resolve(run)
    if as_json:
        print(json.dumps(service.standings_json(record.id)))
    else:
        printing.print_standings(record, service.standings(record.id))


@app.command()
def bench(as_json: Json = False) -> None:
    """Measures this machine: the game, the networks, the learner, play, and a whole league (two minutes)."""
    from league.operations.bench import measure_league, measure_parts

    figures = [*measure_parts(), measure_league()]
    if as_json:
        print(json.dumps([asdict(f) for f in figures]))
        return
    table = Table("Connect Four, MLP 128×128", box=None)
    for column in ("median", "lowest", "highest"):
        table.add_column(column, justify="right")
    for f in figures:
        table.add_row(f.name, f"{f.median:,.0f}", f"{f.lowest:,.0f}", f"{f.highest:,.0f}")
    out.print(table)


@app.command()
def doctor(home: Home = None, port: Port = 8000, as_json: Json = False) -> None:
    """Says whether this machine can run a league, and what to do where it cannot; exit code 1 if so."""
    from league.operations.doctor import examine

    findings = examine(Stores.from_environment(home), port)
    if as_json:
        print(json.dumps([asdict(f) for f in findings]))
    else:
        styles = {"fine": "green", "slow": "yellow", "bad": "red"}
        table = Table("", "what", "found", "advice", box=None)
        for f in findings:
            table.add_row(Text(f.state, styles[f.state]), f.what, f.found, f.advice)
        out.print(table)
    if any(f.state == "bad" for f in findings):
        raise typer.Exit(1)


@app.command()
def backup(
    run: RunName,
    file: Annotated[Path, typer.Argument(help="Where to; an older file of this name is replaced.")],
    home: Home = None,
) -> None:
    """Writes a run with everything that is kept of it into one file, while it runs or not."""
    from league.store.backup import back_up
    from league.store.checkpoints import CheckpointStore

    stores = Stores.from_environment(home)
    run_id = stores.service().resolve(run).id
    made = back_up(stores.open_database(upgrade=False), CheckpointStore(stores.checkpoint_url), run_id, file)
    out.print(
        f"{made.name} ({made.run_id}): {made.rows:,} rows, {made.checkpoints} checkpoints, "
        f"{made.bytes / 1e6:.1f} MB in {file}",
        soft_wrap=True,
    )


@app.command()
def restore(
    file: Annotated[Path, typer.Argument(help="What `league backup` has written.")], home: Home = None
) -> None:
    """Brings a run back from a backup; `league run --resume` goes on with it."""
    from league.store.backup import restore as restore_run
    from league.store.checkpoints import CheckpointStore

    stores = Stores.from_environment(home)
    result = restore_run(stores.open_database(upgrade=True), CheckpointStore(stores.checkpoint_url), file)
    out.print(
        f"{result.name} ({result.run_id}) is back: {result.rows:,} rows, {result.checkpoints} checkpoints. "
        f"Go on with it: league run --resume {result.run_id}",
        soft_wrap=True,
    )


def main() -> None:
    """Runs the command line; errors meant for people are one line each, without a traceback."""
    try:
        sys.exit(app(standalone_mode=False))  # a command that exits hands its code back
    except USER_ERRORS as error:
        for line in str(error).splitlines():
            err.print(Text.assemble(("error: ", "red"), line), soft_wrap=True)
        sys.exit(2)
    except typer.Abort:
        sys.exit(130)
    except typer.TyperException as error:  # wrong options and arguments: usage, the line, what is near
        show = getattr(error, "show", None)
        if show is None:
            raise
        show()
        sys.exit(getattr(error, "exit_code", 2))


def _stop_with_parent(stop: threading.Event) -> None:
    """Stops this process when the one that started it is gone, however it went."""
    parent = os.getppid()

    def watch() -> None:
        while os.getppid() == parent:
            time.sleep(1.0)
        stop.set()

    threading.Thread(target=watch, name="parent", daemon=True).start()


@contextmanager
def _progress() -> Iterator[Any]:
    """Yields a function that shows a run's status: a live line on a terminal, a line every 10 s elsewhere."""
    if out.is_terminal:
        with Live(console=out, refresh_per_second=4, transient=True) as live:
            yield lambda status: live.update(Text(printing.status_line(status)))
        return
    last = [0.0]

    def show(status: RunStatus) -> None:
        if time.monotonic() - last[0] >= 10.0:
            last[0] = time.monotonic()
            print(printing.status_line(status), flush=True)

    yield show


if __name__ == "__main__":
    main()
