"""Commands about a run's players: who is in the pool, who joins or leaves."""

from __future__ import annotations

import json
import time
from pathlib import Path
from typing import Annotated

import typer

from league.cli.client_commands import Limit, find_run, print_json, print_table
from league.cli.connection import connect
from league.cli.options import Home, Json, RunName, Server
from league.cli.printing import err, out
from league.client import LeagueClient
from league.client.schemas import Command
from league.errors import LeagueError

players_app = typer.Typer(
    no_args_is_help=True, help="A run's players: who is in the pool, who joins or leaves."
)


PlayerName = Annotated[str, typer.Argument(metavar="PLAYER", help="A player's name, such as main.0.")]


@players_app.command("list")
def list_players(
    run: RunName,
    role: Annotated[str | None, typer.Option(help="main, historical, anchor, guest …")] = None,
    state: Annotated[str | None, typer.Option(help="learning, frozen or retired")] = None,
    limit: Limit = 100,
    home: Home = None,
    server: Server = None,
    as_json: Json = False,
) -> None:
    """Lists a run's players in the order they joined."""
    with connect(home, server) as client:
        result = client.players(find_run(client, run).id, limit=limit, role=role, state=state).items
    if as_json:
        print_json(result)
        return
    rows = [
        (
            p.name,
            p.label or "",
            p.role,
            p.state,
            p.parent or "",
            f"{p.steps:,}",
            f"{p.games:,}",
            ", ".join(p.tags),
        )
        for p in result
    ]
    print_table(("player", "label", "role", "state", "parent", "steps", "games", "tags"), rows)


@players_app.command("show")
def show_player(run: RunName, player: PlayerName, home: Home = None, server: Server = None) -> None:
    """Prints a player, its standing and whom it has met, as JSON."""
    with connect(home, server) as client:
        run_id = find_run(client, run).id
        result = client.player(run_id, player).model_dump()
        result["standing"] = client.standing(run_id, player).model_dump()
        result["opponents"] = client.opponents(run_id, player).model_dump()["items"]
    print(json.dumps(result, indent=2))


@players_app.command("add")
def add_player(
    run: RunName,
    name: Annotated[str, typer.Argument(help="The new player's name.")],
    bot: Annotated[str | None, typer.Option(help="A bot, such as mcts:50.")] = None,
    url: Annotated[str | None, typer.Option(help="A policy behind a URL.")] = None,
    source: Annotated[
        str | None, typer.Option("--from", help="A player of this run, or RUN:PLAYER of another.")
    ] = None,
    file: Annotated[Path | None, typer.Option(help="Weights: safetensors, ONNX or TorchScript.")] = None,
    network: Annotated[str | None, typer.Option(help="Of plain safetensors: the network as JSON.")] = None,
    search: Annotated[
        int | None, typer.Option(help="Positions that its network looks at before each move.")
    ] = None,
    label: Annotated[str | None, typer.Option(help="A name for people.")] = None,
    home: Home = None,
    server: Server = None,
    as_json: Json = False,
) -> None:
    """Takes somebody into the pool as a guest: a bot, a URL, a player, or weights from a file."""
    with connect(home, server) as client:
        run_id = find_run(client, run).id
        sha = None
        if file is not None:
            try:
                data = file.read_bytes()
            except OSError as error:
                raise LeagueError(f"{file}: {error.strerror}") from error
            sha = client.upload(data, json.loads(network) if network else None).sha256
        where = None
        if source is not None:
            other, colon, player = source.partition(":")
            where = (find_run(client, other).id, player) if colon else (run_id, source)
        command = client.add_player(
            run_id, name, checkpoint=sha, source=where, bot=bot, url=url, search=search, label=label
        )
        _say_command(client, command, as_json)


@players_app.command("describe")
def describe_player(
    run: RunName,
    player: PlayerName,
    label: Annotated[str | None, typer.Option(help="A name for people.")] = None,
    tag: Annotated[list[str] | None, typer.Option(help="Instead of its tags; once for each.")] = None,
    home: Home = None,
    server: Server = None,
    as_json: Json = False,
) -> None:
    """Gives a player a label or tags."""
    with connect(home, server) as client:
        run_id = find_run(client, run).id
        _say_command(client, client.describe_player(run_id, player, label=label, tags=tag), as_json)


@players_app.command("branch")
def branch_player(
    run: RunName,
    player: PlayerName,
    name: Annotated[str | None, typer.Option(help="Of a copy that stays as it is.")] = None,
    learn: Annotated[bool, typer.Option("--learn", help="The copy goes on learning.")] = False,
    role: Annotated[str | None, typer.Option(help="Of one that learns; its source's by default.")] = None,
    share: Annotated[float | None, typer.Option(help="Of the training games, of one that learns.")] = None,
    home: Home = None,
    server: Server = None,
    as_json: Json = False,
) -> None:
    """Copies a player: one that stays as it is, or one that goes on learning."""
    with connect(home, server) as client:
        run_id = find_run(client, run).id
        command = client.branch(run_id, player, copy=name, learn=learn, role=role, share=share)
        _say_command(client, command, as_json)


@players_app.command("rollback")
def roll_player_back(
    run: RunName,
    player: PlayerName,
    to: Annotated[str, typer.Argument(help="Whose weights to go back to.")],
    home: Home = None,
    server: Server = None,
    as_json: Json = False,
) -> None:
    """Lets a learner go on from older weights, with a fresh optimiser."""
    with connect(home, server) as client:
        _say_command(client, client.roll_back(find_run(client, run).id, player, to), as_json)


@players_app.command("download")
def download_player(
    run: RunName,
    player: PlayerName,
    file: Annotated[Path, typer.Argument(help="Where to write it.")],
    home: Home = None,
    server: Server = None,
) -> None:
    """Writes a player's weights into a file, as safetensors."""
    with connect(home, server) as client:
        data = client.checkpoint(find_run(client, run).id, player)
    try:
        file.write_bytes(data)
    except OSError as error:
        raise LeagueError(f"{file}: {error.strerror}") from error
    err.print(f"{file}: {len(data):,} bytes")


def _steering_command(name: str, method: str, help_text: str) -> None:
    @players_app.command(name, help=help_text)
    def steer(
        run: RunName,
        player: PlayerName,
        home: Home = None,
        server: Server = None,
        as_json: Json = False,
    ) -> None:
        with connect(home, server) as client:
            _say_command(client, getattr(client, method)(find_run(client, run).id, player), as_json)


for _name, _help in (
    ("freeze", "Ends a player's learning; it goes on being matched."),
    ("unfreeze", "Lets a frozen learner go on with its optimiser's state."),
    ("retire", "Takes a player out of every match; its record stays."),
    ("pin", "Makes a frozen player an anchor that ratings hang on."),
    ("unpin", "Makes an anchor what it was before."),
):
    _steering_command(_name, _name, _help)


def _say_command(client: LeagueClient, command: Command, as_json: bool) -> None:
    """Waits for a running league to get to it."""
    deadline = time.monotonic() + 30.0
    while command.state == "pending" and time.monotonic() < deadline:
        time.sleep(0.2)
        command = client.command(command.run, command.id)
    if command.state == "failed":
        raise LeagueError(command.error or "refused")
    if as_json:
        print(command.model_dump_json())
    else:
        out.print(f"{command.kind} {command.player}: {command.state}", soft_wrap=True)
