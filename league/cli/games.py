"""The command line's `league games`: which there are, whether one keeps the contract, how fast it is."""

from __future__ import annotations

import json
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from league.cli import printing
from league.cli.options import Json
from league.cli.printing import err, out
from league.errors import USER_ERRORS, LeagueError

if TYPE_CHECKING:
    from league.study.games import GameFacts

games_app = typer.Typer(help="The games: which there are, whether one keeps the contract, how fast it is.")
Family = Annotated[str | None, typer.Option(help="Only of this family, such as native.")]


@games_app.callback(invoke_without_command=True)
def games_list(
    context: typer.Context,
    family: Family = None,
    speed: Annotated[
        bool, typer.Option("--speed", help="Also measure each for half a second: moves/s at random.")
    ] = False,
    as_json: Json = False,
) -> None:
    """Lists the games with their seats and spaces."""
    if context.invoked_subcommand is not None:
        return
    from league.study.games import facts, listed, quiet, versions

    result: list[GameFacts] = []
    refused: dict[str, str] = {}
    speeds: dict[str, float] = {}
    for game_id in listed(family):
        try:
            with quiet():
                result.append(facts(game_id))
                if speed:
                    from league.study.game_speed import alone  # torch, which a list does not need

                    speeds[game_id] = alone(game_id, seconds=0.5)
        except USER_ERRORS as error:
            refused[game_id] = str(error).removeprefix(f"{game_id} ").removeprefix(f"{game_id}: ")
    if as_json:
        games = [{**asdict(f), "moves_per_second": speeds.get(f.game_id)} for f in result]
        print(json.dumps({"games": games, "refused": refused, "versions": versions(family)}))
    else:
        printing.print_games(result, refused, speeds)


@games_app.command("check")
def games_check(
    game_id: Annotated[str, typer.Argument(metavar="ID", help="Such as python:my_game:make.")],
    episodes: Annotated[int, typer.Option(min=1, help="Of random play.")] = 50,
    seconds: Annotated[float, typer.Option(min=0.1, help="For each rule at most.")] = 20.0,
    seed: Annotated[int, typer.Option(min=0)] = 0,
    as_json: Json = False,
) -> None:
    """Plays a game at random and says which rules of the contract it keeps; exit code 1 if it breaks one."""
    from envs import conformance
    from league.study.games import facts

    known = facts(game_id)  # an id that is wrong is not a game that fails
    report = conformance.check(game_id, episodes=episodes, seconds=seconds, seed=seed)
    if as_json:
        print(json.dumps(asdict(report)))
    else:
        printing.print_conformance(known, report)
    if not report.ok:
        raise typer.Exit(1)


@games_app.command("report")
def games_report(
    path: Annotated[Path, typer.Argument(help="A Markdown page to write.")],
    family: Family = None,
) -> None:
    """Checks every game, each in a process of its own, and writes a table of the verdicts."""
    from league.study.games import as_table, judge_all, listed

    verdicts = judge_all(
        listed(family),
        lambda v: err.print(f"{'passes' if v.kept else 'fails '} {v.game_id} {v.reason}", soft_wrap=True),
    )
    try:
        path.write_text(as_table(verdicts), encoding="utf-8")
    except OSError as error:
        raise LeagueError(f"{path}: {error.strerror}") from error


@games_app.command("bench")
def games_bench(
    game_id: Annotated[str, typer.Argument(metavar="ID")],
    num_envs: Annotated[int | None, typer.Option(min=1, help="Games at once.")] = None,
    seconds: Annotated[float, typer.Option(min=0.1, help="Of each measurement.")] = 3.0,
    as_json: Json = False,
) -> None:
    """Measures a game on one core: moves a second at random, and by a network in every seat."""
    from league.study.game_speed import measure

    speed = measure(game_id, num_envs, seconds)
    if as_json:
        print(json.dumps(asdict(speed)))
        return
    out.print(
        f"{game_id}, {speed.num_envs:,} games at once: {speed.random_play:,.0f} moves/s of the game alone, "
        f"{speed.by_network:,.0f} by an MLP 128×128"
        + (f"; the original in a plain loop: {speed.bare:,.0f}" if speed.bare else "")
    )
