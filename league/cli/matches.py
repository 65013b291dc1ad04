"""Commands about what was played: series, games move by move, events."""

from __future__ import annotations

import time
from typing import Annotated

import typer

from league.cli.client_commands import Limit, clock_time, find_run, print_json, print_table
from league.cli.connection import connect
from league.cli.options import Home, Json, RunName, Server
from league.cli.printing import out
from league.client.schemas import Event
from matchmaking.ordering import best_first

matches_app = typer.Typer(no_args_is_help=True, help="What was played: series, games move by move, events.")


@matches_app.command("list")
def list_matches(
    run: RunName,
    player: Annotated[str | None, typer.Option(help="Only this player's.")] = None,
    opponent: Annotated[str | None, typer.Option(help="Only against this one.")] = None,
    purpose: Annotated[str | None, typer.Option(help="training or evaluation")] = None,
    outcome: Annotated[str | None, typer.Option(help="won, drawn or lost by --player")] = None,
    limit: Limit = 30,
    home: Home = None,
    server: Server = None,
    as_json: Json = False,
) -> None:
    """Lists series, newest first."""
    with connect(home, server) as client:
        filters = {"player": player, "opponent": opponent, "purpose": purpose, "outcome": outcome}
        result = client.matches(find_run(client, run).id, limit=limit, **filters).items
    if as_json:
        print_json(result)
        return
    rows = [
        (
            str(m.number),
            clock_time(m.at),
            m.first,
            m.second,
            m.purpose,
            m.branch,
            f"{m.wins}/{m.draws}/{m.losses}",
        )
        for m in result
    ]
    print_table(("series", "at", "first", "second", "purpose", "branch", "won/drawn/lost"), rows)


@matches_app.command("games")
def list_games(
    run: RunName,
    player: Annotated[str | None, typer.Option(help="Only this player's.")] = None,
    limit: Limit = 30,
    home: Home = None,
    server: Server = None,
    as_json: Json = False,
) -> None:
    """Lists the games that were written down move by move, newest first."""
    with connect(home, server) as client:
        result = client.episodes(find_run(client, run).id, limit=limit, player=player).items
    if as_json:
        print_json(result)
        return
    rows = [
        (str(e.id), clock_time(e.at), " v ".join(e.players), str(e.length), str(e.returns)) for e in result
    ]
    print_table(("game", "at", "players", "moves", "returns"), rows)


@matches_app.command("replay")
def replay(
    run: RunName,
    game: Annotated[int, typer.Argument(help="Its number, see `games`.")],
    home: Home = None,
    server: Server = None,
    as_json: Json = False,
) -> None:
    """Prints a game move by move, with what the player thought of it."""
    with connect(home, server) as client:
        result = client.replay(find_run(client, run).id, game)
    if as_json:
        print(result.model_dump_json())
        return
    rows = []
    for number, move in enumerate(result.moves, start=1):
        chances = dict(zip(move.get("legal", ()), move.get("probabilities", ()), strict=False))
        likely = best_first(chances.items(), lambda item: item[1])[:4]
        value = move.get("value")
        rows.append(
            (
                str(number),
                move["player"],
                str(move["action"]),
                "" if value is None else f"{value:+.2f}",
                "  ".join(f"{a}: {p:.0%}" for a, p in likely),
            )
        )
    print_table(("move", "player", "action", "value", "most likely"), rows)
    out.print(f"returns {dict(zip(result.players, result.returns, strict=True))}")


@matches_app.command("events")
def events(
    run: RunName,
    follow: Annotated[bool, typer.Option("--follow", "-f", help="Go on as they come.")] = False,
    kind: Annotated[list[str] | None, typer.Option(help="Only these kinds; once for each.")] = None,
    limit: Limit = 30,
    home: Home = None,
    server: Server = None,
    as_json: Json = False,
) -> None:
    """Prints what has happened in a run, oldest first."""
    with connect(home, server) as client:
        run_id = find_run(client, run).id
        last = 0
        while True:
            past = client.past_events(run_id, limit=500 if last else limit, kind=kind or None).items
            for event in reversed(past):
                if event.id > last:
                    last = event.id
                    print(event.model_dump_json() if as_json else _sentence(event))
            if not follow:
                return
            time.sleep(1.0)


def _sentence(event: Event) -> str:
    who = f" {event.player}" if event.player else ""
    by = f" by {event.by}" if event.by else ""
    facts = " ".join(f"{k}={v}" for k, v in event.data.items())
    return f"{clock_time(event.at)} {event.kind}{who}{by} {facts}".rstrip()
