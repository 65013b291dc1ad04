"""Commands that find out what a league is worth: analysis, tournaments, best responses, simulation."""

from __future__ import annotations

import json
from dataclasses import asdict
from enum import StrEnum
from pathlib import Path
from typing import Annotated, Any

import typer
from rich.progress import Progress
from rich.table import Table

from league.bootstrap import Stores
from league.cli import printing
from league.cli.options import Home, Json, RunName, Server, stop_on_signals
from league.cli.printing import err, out
from league.errors import LeagueError
from league.settings import Settings

study_app = typer.Typer()


class Form(StrEnum):
    """A tournament's form."""

    round_robin = "round-robin"
    swiss = "swiss"
    gauntlet = "gauntlet"


@study_app.command()
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
        from league.study.analysis import write_plots

        try:
            written = write_plots(analysis, plots)
        except OSError as error:
            raise LeagueError(f"plots in {plots}: {error.strerror}") from error
        err.print("written: " + ", ".join(str(path) for path in written))


@study_app.command("imitate")
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
    from league.config.run import RunConfig
    from league.control.access import LOCAL
    from league.study.teachers import read_games, teacher_from

    record = service.resolve(run)
    config = RunConfig.from_data(record.config, f"run {record.id}")
    episodes = service.recorded_games(record.id) if games is None else read_games(games)
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


@study_app.command("distil")
def distil_players(
    run: RunName,
    player: Annotated[
        list[str] | None, typer.Option(help="Whom, once for each; else the pool's equilibrium.")
    ] = None,
    decisions: Annotated[int, typer.Option(min=10_000, help="Played and learnt from.")] = 1_000_000,
    home: Home = None,
    as_json: Json = False,
) -> None:
    """Makes one player of many: a network that plays as they do, each for a whole game by its share.

    Its sha256 goes into a config as `teacher:` of a player, like that of `league imitate`.
    """
    stores = Stores.from_environment(home)
    service = stores.service()
    from league.control.access import LOCAL
    from league.store.checkpoints import CheckpointStore

    store = CheckpointStore(stores.checkpoint_url)
    made, shares = service.distilled(service.resolve(run).id, store, player or (), decisions)
    sha, _ = stores.services(Settings()).control.upload(made.checkpoint, None, LOCAL)
    if as_json:
        facts = {k: v for k, v in asdict(made).items() if k != "checkpoint"}
        print(json.dumps({**facts, "shares": shares, "sha256": sha}))
        return
    out.print(", ".join(f"{name} {share:.1%}" for name, share in shares.items()))
    out.print(
        f"{made.decisions:,} decisions; KL to them {made.kl:.3f} nats, {made.kl_before:.3f} knowing nothing"
    )
    out.print(f"teacher: {sha}", soft_wrap=True)


@study_app.command()
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
    from league.store.checkpoints import CheckpointStore

    result = service.exploitability(
        service.resolve(run).id, CheckpointStore(stores.checkpoint_url), players or ()
    )
    if as_json:
        print(json.dumps(asdict(result)))
        return
    table = Table("policy", box=None)
    table.add_column("exploitability", justify="right")
    for name, value in result.players.items():
        table.add_row(name, f"{value:.4f}")
    table.add_row("mains and their copies, the later the likelier", f"{result.average:.4f}")
    if result.nash is not None:
        table.add_row("the pool's equilibrium", f"{result.nash:.4f}")
    out.print(table)


@study_app.command()
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
    from league.store.checkpoints import CheckpointStore
    from league.study.tournaments import TournamentRules
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
    with stop_on_signals() as stop, Progress(console=err, transient=True) as bar:
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
    from league.cli.client_commands import find_run
    from league.cli.connection import connect
    from league.study.tournaments import results_of

    with connect(None, url) as client:
        result = find_run(client, run)
        chosen = players or [row.player for row in client.standings(result.id, limit=top).standings]
        if rules["form"] == "gauntlet":
            rules["opponents"] = against or list(client.run(result.id).config.get("anchors", ("random",)))
        rules["rounds"] = rounds or min(len(chosen).bit_length() + 1, max(1, len(chosen) - 1))
        asked = client.ask_tournament(result.id, chosen, **rules)
        err.print(f"tournament {asked.id} …")
        played = client.wait_for_tournament(asked.id)
    if played.state != "done":
        raise LeagueError(f"tournament {played.id} is {played.state}: {played.error or 'no more is known'}")
    if as_json:
        print(json.dumps(played.results))
    else:
        printing.print_tournament(results_of(played.results))


@study_app.command()
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
    from league.config.run import RunConfig
    from league.study.simulation import simulate as run_simulation

    parsed = RunConfig.from_yaml(config)
    with Progress(console=err, transient=True) as bar:
        task = bar.add_task("simulating", total=1.0)
        result = run_simulation(
            parsed,
            players=players,
            series=series,
            rating_games=rating_games,
            spread=spread,
            seed=seed,
            on_progress=lambda share: bar.update(task, completed=share),
        )
    if as_json:
        print(json.dumps(asdict(result)))
    else:
        printing.print_simulation(result)
