"""The command line.

Exit codes: 0 done, 1 a run failed, 2 wrong input or a store or port that cannot be had, 130 interrupted.
"""

from __future__ import annotations

import contextlib
import json
import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
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
from league.control_cli import matches_app, players_app, runs_app, tokens_app
from league.errors import USER_ERRORS, LeagueError, RuntimeFailedError
from league.games_cli import games_app
from league.printing import err, out
from league.services import LeagueService
from league.settings import Settings

if TYPE_CHECKING:
    from league.runtime.messages import RunStatus

app = typer.Typer(
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    help="Self-play leagues: run, watch, steer.",
)
db_app = typer.Typer(no_args_is_help=True, help="The database's schema.")
app.add_typer(db_app, name="db")
app.add_typer(games_app, name="games")
app.add_typer(runs_app, name="runs")
app.add_typer(players_app, name="players")
app.add_typer(matches_app, name="matches")
app.add_typer(tokens_app, name="token")

Home = Annotated[
    str | None, typer.Option("--home", help="Data folder (default: $LEAGUE_HOME or ./league-data).")
]
Server = Annotated[
    str | None,
    typer.Option("--server", help="URL of a control plane, instead of the data here ($LEAGUE_SERVER)."),
]
Json = Annotated[bool, typer.Option("--json", help="Print JSON.")]
Host = Annotated[str, typer.Option(help="Address to listen on.")]
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
    from league.jobs import TournamentPlayer
    from league.runtime.supervisor import Supervisor
    from league.web_server import BackgroundServer, bind, is_loopback

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
        from league.checkpoints import CheckpointStore
        from league.teachers import require_teachers

        require_teachers(parsed, CheckpointStore(stores.checkpoint_url), str(config))
    record = service.launch(parsed) if parsed is not None else service.resolve(resume or "")
    if record.state == "finished" and record.stop_reason != "stopped":
        raise LeagueError(
            f"run {record.id} is finished: it {record.stop_reason}; start another from its config"
        )
    service.want(record.id, "running")
    supervisor = Supervisor(stores.database_url, stores.checkpoint_url)
    settings = Settings.load()
    tournaments = TournamentPlayer(stores.database_url, stores.checkpoint_url)
    with contextlib.ExitStack() as parts:
        stop = parts.enter_context(_stop_on_signals())
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
    printing.print_standings(final, service.standings(final.id))
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
    from league.access import AccessService
    from league.jobs import TournamentPlayer
    from league.web_server import bind, is_loopback, server

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
    from league.runtime.supervisor import Supervisor

    stores = Stores.from_environment(home)
    stores.create_if_empty()
    supervisor = Supervisor(stores.database_url, stores.checkpoint_url)
    with _stop_on_signals() as stop:
        if with_parent:
            _stop_with_parent(stop)
        out.print(f"Supervising {stores.database_url}")
        supervisor.serve(stop, lambda _: None)


@app.command()
def standings(run: RunName, home: Home = None, server: Server = None, as_json: Json = False) -> None:
    """Prints a run's standings."""
    url = server or (Settings.load().server if home is None else None)
    if url is not None:
        from league.connection import connect
        from league.control_cli import find_run

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


@app.command("imitate")
def imitate_games(
    run: RunName,
    player: Annotated[
        list[str] | None, typer.Option(help="Whose moves, once for each; else everybody's.")
    ] = None,
    winners: Annotated[bool, typer.Option("--winners", help="Only moves of seats that won.")] = False,
    games: Annotated[
        Path | None,
        typer.Option("--file", help="Games as JSON lines, instead of those recorded."),
    ] = None,
    epochs: Annotated[int, typer.Option(min=1, max=1000, help="Passes over the games.")] = 20,
    home: Home = None,
    as_json: Json = False,
) -> None:
    """Makes a teacher out of recorded games: a network of the run's that plays as they were played.

    Its sha256 goes into a config as `teacher:` of a player, which then begins as it and is reset to it.
    """
    stores = Stores.from_environment(home)
    service = stores.service()
    from league.access import LOCAL
    from league.config import RunConfig
    from league.teachers import read_games, recorded, teacher_from

    record = service.resolve(run)
    config = RunConfig.from_data(record.config, f"run {record.id}")
    episodes = recorded(service, record.id) if games is None else read_games(games)
    made = teacher_from(config, episodes, players=player or (), winners=winners, epochs=epochs)
    sha, _ = stores.services(Settings()).control.upload(made.checkpoint, None, LOCAL)
    facts = {**{k: v for k, v in asdict(made).items() if k != "checkpoint"}, "sha256": sha}
    if as_json:
        print(json.dumps(facts))
        return
    out.print(
        f"{made.decisions:,} decisions of {made.games:,} games; of those held out {made.accuracy:.1%} are "
        f"its likeliest, −log π {made.log_loss:.3f} nats ({made.uniform_log_loss:.3f} knowing nothing)"
    )
    out.print(f"teacher: {sha}", soft_wrap=True)


@app.command()
def exploitability(
    run: RunName,
    players: Annotated[
        list[str] | None, typer.Argument(help="Players with a network; by default the mains.")
    ] = None,
    home: Home = None,
    as_json: Json = False,
) -> None:
    """Says what a best responder wins against players of a small game of two, such as Leduc poker."""
    stores = Stores.from_environment(home)
    service = stores.service()
    from league.checkpoints import CheckpointStore

    found = service.exploitability(
        service.resolve(run).id, CheckpointStore(stores.checkpoint_url), players or ()
    )
    if as_json:
        print(json.dumps(asdict(found)))
        return
    table = Table("policy", box=None)
    table.add_column("exploitability", justify="right")
    for name, value in found.players.items():
        table.add_row(name, f"{value:.4f}")
    table.add_row("mains and their copies, each as likely", f"{found.average:.4f}")
    if found.nash is not None:
        table.add_row("the pool's equilibrium", f"{found.nash:.4f}")
    out.print(table)


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
    server: Server = None,
    as_json: Json = False,
) -> None:
    """Plays a run's players against each other, here or on a server; the run's own results stay apart."""
    url = server or (Settings.load().server if home is None else None)
    if url is not None:
        asked: dict[str, Any] = {"form": form.value, "greedy": greedy, "seed": seed, "precision": precision}
        asked |= {"confidence": confidence, "decide": decide, "max_games": max_games}
        _match_on(url, run, players or [], against or [], top, rounds, asked, as_json)
        return
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


def _match_on(
    url: str,
    run: str,
    players: list[str],
    against: list[str],
    top: int,
    rounds: int | None,
    rules: dict[str, Any],
    as_json: bool,
) -> None:
    """Has a server play a tournament, and waits for it."""
    from league.connection import connect
    from league.control_cli import find_run
    from league.tournaments import results_of

    with connect(None, url) as client:
        found = find_run(client, run)
        chosen = players or [row.player for row in client.standings(found.id, limit=top).standings]
        if rules["form"] == "gauntlet":
            rules["opponents"] = against or list(client.run(found.id).config.get("anchors", ("random",)))
        rules["rounds"] = rounds or min(len(chosen).bit_length() + 1, max(1, len(chosen) - 1))
        asked = client.ask_tournament(found.id, chosen, **rules)
        err.print(f"tournament {asked.id} …")
        played = client.wait_for_tournament(asked.id)
    if played.state != "done":
        raise LeagueError(f"tournament {played.id} is {played.state}: {played.error or 'no more is known'}")
    if as_json:
        print(json.dumps(played.results))
    else:
        printing.print_tournament(results_of(played.results))


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
