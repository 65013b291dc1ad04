"""The command line.

Exit codes: 0 done, 1 a run failed, 2 wrong input or a store or port that cannot be had, 130 interrupted.
"""

from __future__ import annotations

import json
import signal
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager, nullcontext
from dataclasses import asdict
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer
from rich.live import Live
from rich.progress import Progress
from rich.table import Table
from rich.text import Text

from league import printing
from league.bootstrap import Stores
from league.errors import USER_ERRORS, LeagueError, RuntimeFailedError
from league.games_cli import games_app
from league.printing import err, out
from league.services import LeagueService, run_as_json, standing_as_json

if TYPE_CHECKING:
    from league.runtime.messages import RunStatus

app = typer.Typer(
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
    help="Self-play leagues: run, watch, steer.",
)
db_app = typer.Typer(no_args_is_help=True, help="The database's schema.")
app.add_typer(db_app, name="db")
app.add_typer(games_app, name="games")

Home = Annotated[
    str | None, typer.Option("--home", help="Data folder (default: $LEAGUE_HOME or ./league-data).")
]
Json = Annotated[bool, typer.Option("--json", help="Print JSON.")]
Host = Annotated[str, typer.Option(help="Address to listen on; loopback only.")]
Port = Annotated[int, typer.Option(min=1, max=65535, help="Port to listen on.")]
RunName = Annotated[str, typer.Argument(metavar="RUN", help="A run's id, the beginning of one, or latest.")]


class Form(StrEnum):
    """A tournament's form."""

    round_robin = "round-robin"
    swiss = "swiss"
    gauntlet = "gauntlet"


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
    from league.config import RunConfig  # 2 s that the other commands need not pay

    parsed = RunConfig.from_yaml(config) if config is not None else None
    from league.runtime.supervisor import Supervisor
    from league.web_server import BackgroundServer, bind

    stores = Stores.from_environment(home)
    service = LeagueService(stores.open_database(upgrade=True))
    listener = None if no_web else bind(host, port)
    stores.export()
    record = service.launch(parsed) if parsed is not None else service.resolve(resume or "")
    if record.state == "finished" and record.stop_reason != "stopped":
        raise LeagueError(
            f"run {record.id} is finished: it {record.stop_reason}; start another from its config"
        )
    service.want(record.id, "running")
    supervisor = Supervisor(stores.database_url, stores.checkpoint_url)
    with _stop_on_signals() as stop, BackgroundServer(listener) if listener else nullcontext():
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
    printing.print_standings(service, final)
    if final.state == "paused":
        out.print(f"Interrupted. Go on with: [bold]league run --resume {final.id}[/]")
        raise typer.Exit(130)


@app.command()
def serve(home: Home = None, host: Host = "127.0.0.1", port: Port = 8000) -> None:
    """Serves the API and the pages. It never runs a league: that is what `supervise` is for."""
    from league.web_server import bind, server

    stores = Stores.from_environment(home)
    stores.open_database(upgrade=False).close()
    stores.export()
    listener = bind(host, port)
    out.print(f"Serving http://{host}:{port} · data in {stores.database_url}")
    server().run(sockets=[listener])


@app.command()
def supervise(home: Home = None) -> None:
    """Claims runs that shall run, one after another, and keeps them going."""
    from league.runtime.supervisor import Supervisor

    stores = Stores.from_environment(home)
    stores.open_database(upgrade=False).close()
    supervisor = Supervisor(stores.database_url, stores.checkpoint_url)
    with _stop_on_signals() as stop:
        out.print(f"Supervising {stores.database_url}")
        supervisor.serve(stop, lambda _: None)


@app.command()
def runs(home: Home = None, as_json: Json = False) -> None:
    """Lists the runs, newest first."""
    records = Stores.from_environment(home).service().runs()
    if as_json:
        print(json.dumps([run_as_json(r) for r in records]))
        return
    table = Table("run", "name", "game", "state", "moves", "games", "minutes", box=None)
    for r in records:
        table.add_row(
            r.id, r.name, r.game, r.state, f"{r.moves:,}", f"{r.games:,}", f"{r.play_seconds / 60:.1f}"
        )
    out.print(table)


@app.command()
def standings(run: RunName, home: Home = None, as_json: Json = False) -> None:
    """Prints a run's standings."""
    service = Stores.from_environment(home).service()
    record = service.resolve(run)
    if as_json:
        print(json.dumps([standing_as_json(row) for row in service.standings(record.id)]))
    else:
        printing.print_standings(service, record)


@app.command()
def analyse(
    run: RunName,
    home: Home = None,
    as_json: Json = False,
    plots: Annotated[
        Path | None, typer.Option(help="Also write plots as HTML pages into this folder.")
    ] = None,
) -> None:
    """Says what the results mean: ratings side by side, equilibrium, cycles, which system predicts best."""
    service = Stores.from_environment(home).service()
    analysis = service.analyse(service.resolve(run).id)
    if as_json:
        print(analysis.to_json())
    else:
        printing.print_analysis(analysis)
    if plots is not None:
        from league.analysis import write_plots

        try:
            written = write_plots(analysis, plots)
        except OSError as error:
            raise LeagueError(f"plots in {plots}: {error.strerror}") from error
        err.print("written: " + ", ".join(str(path) for path in written))


@app.command()
def match(
    run: RunName,
    players: Annotated[
        list[str] | None,
        typer.Argument(help="Members of the run, or bots such as mcts:100; by default the best, see --top."),
    ] = None,
    form: Annotated[
        Form, typer.Option("--format", help="gauntlet: each player against each --against.")
    ] = Form.round_robin,
    against: Annotated[
        list[str] | None, typer.Option(help="Opponent in a gauntlet, once for each; default: the anchors.")
    ] = None,
    top: Annotated[int, typer.Option(min=1, help="How many of the best play if none are named.")] = 6,
    rounds: Annotated[
        int | None, typer.Option(min=1, help="Of a Swiss; default: log2 of players + 1.")
    ] = None,
    precision: Annotated[
        float, typer.Option(help="A pair stops when its score's interval is ± this or less.")
    ] = 0.05,
    confidence: Annotated[float, typer.Option(help="Of the interval, looked at after every game.")] = 0.95,
    decide: Annotated[
        bool, typer.Option("--decide", help="A pair also stops when it is known who is better.")
    ] = False,
    max_games: Annotated[int, typer.Option(min=2, help="Of a pair in any case.")] = 4000,
    greedy: Annotated[bool, typer.Option("--greedy", help="Networks play their best action always.")] = False,
    seed: Annotated[int, typer.Option(min=0)] = 0,
    home: Home = None,
    as_json: Json = False,
) -> None:
    """Plays a run's players against each other; results are kept apart from the run's own."""
    stores = Stores.from_environment(home)
    service = stores.service()
    record = service.resolve(run)
    from league.checkpoints import CheckpointStore
    from league.tournaments import TournamentRules
    from matchmaking.sequential import StopRule

    chosen = tuple(players or [row.player for row in service.standings(record.id)[:top]])
    anchors = tuple(against or record.config.get("anchors", ("random",)))
    rules = TournamentRules(
        form.value,
        chosen,
        anchors if form is Form.gauntlet else (),
        rounds or min(len(chosen).bit_length() + 1, max(1, len(chosen) - 1)),
        greedy,
        seed,
        StopRule(precision, confidence, min(32, max_games), max_games, decide),
    )
    with _stop_on_signals() as stop, Progress(console=err, transient=True) as bar:
        task = bar.add_task("playing", total=None)

        def keep_on(games: int) -> bool:
            bar.update(task, completed=games, description=f"{games:,} games")
            return not stop.is_set()

        results = service.tournament(record.id, CheckpointStore(stores.checkpoint_url), rules, keep_on)
    if as_json:
        print(json.dumps(results.to_json()))
    else:
        printing.print_tournament(results)
    if not results.complete:
        raise typer.Exit(130)


@app.command()
def simulate(
    config: Annotated[
        Path, typer.Argument(help="A run's YAML file: its roster, rules and ratings are used.")
    ],
    players: Annotated[int, typer.Option(min=10, max=1_000_000, help="In the pool from the start.")] = 10_000,
    series: Annotated[int, typer.Option(min=1, help="To be drawn in all.")] = 1_000_000,
    rating_games: Annotated[float, typer.Option(min=0.0, help="Rated games a frozen player.")] = 200.0,
    spread: Annotated[float, typer.Option(min=1.0, help="Of the players' strengths, in Elo points.")] = 400.0,
    seed: Annotated[int, typer.Option(min=0, help="Of the players and their games.")] = 0,
    as_json: Json = False,
) -> None:
    """Runs a league of synthetic players of known strength: what matching costs, how far ratings are off."""
    from league.config import RunConfig
    from league.simulation import simulate as run_simulation

    parsed = RunConfig.from_yaml(config)
    with Progress(console=err, transient=True) as bar:
        task = bar.add_task("simulating", total=1.0)
        found = run_simulation(
            parsed,
            players=players,
            series=series,
            rating_games=rating_games,
            spread=spread,
            seed=seed,
            on_progress=lambda share: bar.update(task, completed=share),
        )
    if as_json:
        print(json.dumps(asdict(found)))
    else:
        printing.print_simulation(found)


@app.command()
def bench(as_json: Json = False) -> None:
    """Measures this machine: the game, the networks, the learner, play, and a whole league (two minutes)."""
    from league.bench import measure_league, measure_parts

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


@db_app.command("upgrade")
def db_upgrade(home: Home = None) -> None:
    """Brings the database's schema to this program's."""
    stores = Stores.from_environment(home)
    stores.open_database(upgrade=True).close()
    out.print(f"{stores.database_url} is up to date")


@db_app.command("check")
def db_check(home: Home = None) -> None:
    """Checks every run's record against itself and against the checkpoint store; exit code 1 if it fails."""
    from league.checkpoints import CheckpointStore
    from league.db.check import check_run

    stores = Stores.from_environment(home)
    database, store = stores.open_database(upgrade=False), CheckpointStore(stores.checkpoint_url)
    problems = 0
    for record in LeagueService(database).runs():
        found = check_run(database, store, record.id)
        problems += len(found)
        for line in found:
            out.print(f"{record.id}: {line}", style="red", soft_wrap=True)
        if not found:
            out.print(f"{record.id}: ok")
    if problems:
        raise typer.Exit(1)


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
    except Exception as error:
        import click

        if isinstance(error, click.ClickException):
            error.show()
            sys.exit(error.exit_code)
        raise


@contextmanager
def _stop_on_signals() -> Iterator[threading.Event]:
    """An event that Ctrl-C and SIGTERM set; a second Ctrl-C ends the program at once."""
    stop = threading.Event()

    def ask(number: int, _: Any) -> None:
        if stop.is_set() and number == signal.SIGINT:
            raise KeyboardInterrupt
        stop.set()
        err.print("\nStopping: saving the learners …")

    previous = {s: signal.signal(s, ask) for s in (signal.SIGINT, signal.SIGTERM)}
    try:
        yield stop
    finally:
        for number, handler in previous.items():
            signal.signal(number, handler)


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
