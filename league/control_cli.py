"""Commands that see and steer leagues, of a server or of the database here."""

from __future__ import annotations

import contextlib
import datetime
import json
import time
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Annotated, Any

import typer
import yaml
from pydantic import BaseModel
from rich.table import Table

from league.cli_options import Home, Json, RunName, Server
from league.client import LeagueClient
from league.connection import connect
from league.errors import LeagueError, NotFoundError
from league.printing import err, out
from league.schemas import Command, Event, Run

PlayerName = Annotated[str, typer.Argument(metavar="PLAYER", help="A player's name, such as main.0.")]
Limit = Annotated[int, typer.Option(min=1, max=500, help="How many at most.")]

runs_app = typer.Typer(help="The runs: listed, launched, steered, removed.")
players_app = typer.Typer(
    no_args_is_help=True, help="A run's players: who is in the pool, who joins or leaves."
)
tokens_app = typer.Typer(no_args_is_help=True, help="Access tokens of the control plane.")
matches_app = typer.Typer(no_args_is_help=True, help="What was played: series, games move by move, events.")


def find_run(client: LeagueClient, name: str) -> Run:
    """Returns the run of an id, of the beginning of one, or the latest. Raises: NotFoundError."""
    runs = client.runs(limit=500).items
    if name == "latest" and runs:
        return runs[0]
    found = [r for r in runs if r.id == name] or [r for r in runs if name and r.id.startswith(name)]
    if len(found) != 1:
        known = ", ".join(r.id for r in runs[:5]) or "none yet"
        problem = "no run" if not found else f"{len(found)} runs begin with"
        raise NotFoundError(f"{problem} {name!r}; newest runs: {known}")
    return found[0]


@runs_app.callback(invoke_without_command=True)
def runs(context: typer.Context, home: Home = None, server: Server = None, as_json: Json = False) -> None:
    """Lists the runs, newest first."""
    if context.invoked_subcommand is not None:
        return
    with connect(home, server) as client:
        found = client.runs(limit=500).items
    if as_json:
        _print_json(found)
        return
    rows = [
        (
            r.id,
            r.name,
            r.game,
            r.state,
            *(f"{n:,}" for n in (r.moves, r.games, round(r.play_seconds / 60, 1))),
        )
        for r in found
    ]
    _print_table(("run", "name", "game", "state", "moves", "games", "minutes"), rows)


@runs_app.command("show")
def show_run(run: RunName, home: Home = None, server: Server = None) -> None:
    """Prints a run with its config, as JSON."""
    with connect(home, server) as client:
        print(client.run(find_run(client, run).id).model_dump_json(indent=2))


@runs_app.command("launch")
def launch_run(
    config: Annotated[Path, typer.Argument(help="A run's YAML file.")],
    tag: Annotated[list[str] | None, typer.Option(help="Once for each.")] = None,
    home: Home = None,
    server: Server = None,
    as_json: Json = False,
) -> None:
    """Writes a run down; a supervisor that is free runs it (`league supervise`)."""
    try:
        text = config.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise LeagueError(f"{config}: {getattr(error, 'strerror', None) or 'not a text file'}") from error
    with connect(home, server) as client:
        _say_run(client.launch(text, tag or ()), as_json)


@runs_app.command("top")
def top(
    run: RunName,
    once: Annotated[bool, typer.Option("--once", help="Print it once.")] = False,
    home: Home = None,
    server: Server = None,
) -> None:
    """Shows what a running league is at, process by process, and what bounds its speed; Ctrl-C ends it."""
    from rich.live import Live

    from league.top import screen

    with connect(home, server) as client:
        found = find_run(client, run)
        if once or not out.is_terminal:
            out.print(screen(found, client.doing(found.id)))
            return
        with Live(console=out, transient=True) as live, contextlib.suppress(KeyboardInterrupt):
            while True:
                live.update(screen(client.run(found.id), client.doing(found.id)))
                time.sleep(1.0)


@runs_app.command("tensorboard")
def tensorboard(
    run: RunName,
    logdir: Annotated[Path, typer.Option(help="Folder that TensorBoard is started on.")] = Path("runs"),
    follow: Annotated[
        bool, typer.Option("--follow", help="Go on until the run is over; Ctrl-C ends it.")
    ] = False,
    home: Home = None,
    server: Server = None,
) -> None:
    """Writes a run's curves for TensorBoard: throughput, what each learner reports, ratings."""
    from league.tensorboard import export

    with connect(home, server) as client, contextlib.suppress(KeyboardInterrupt):
        found = find_run(client, run)
        count = export(client, found.id, logdir, follow=follow)
        out.print(f"{count} moments of {found.id} in {logdir}: tensorboard --logdir {logdir}")


@runs_app.command("pause")
def pause_run(run: RunName, home: Home = None, server: Server = None, as_json: Json = False) -> None:
    """Saves the learners and ends the run's processes."""
    with connect(home, server) as client:
        _say_run(client.pause(find_run(client, run).id), as_json)


@runs_app.command("resume")
def resume_run(run: RunName, home: Home = None, server: Server = None, as_json: Json = False) -> None:
    """Lets a run go on; a supervisor that is free takes it up."""
    with connect(home, server) as client:
        _say_run(client.resume(find_run(client, run).id), as_json)


@runs_app.command("stop")
def stop_run(run: RunName, home: Home = None, server: Server = None, as_json: Json = False) -> None:
    """Ends a run before its stop rule does."""
    with connect(home, server) as client:
        _say_run(client.stop(find_run(client, run).id), as_json)


@runs_app.command("edit")
def edit_run(
    run: RunName,
    changes: Annotated[
        list[str] | None, typer.Argument(help="PATH=VALUE in the config, such as learner.entropy.start=0.05.")
    ] = None,
    name: Annotated[str | None, typer.Option(help="Another name.")] = None,
    tag: Annotated[list[str] | None, typer.Option(help="Instead of its tags; once for each.")] = None,
    home: Home = None,
    server: Server = None,
    as_json: Json = False,
) -> None:
    """Renames, tags, or changes a run's config, also while it runs.

    Entries of the roster by position: players.0.share=2.
    """
    with connect(home, server) as client:
        patch = patch_of(changes or ()) if changes else None
        _say_run(client.edit_run(find_run(client, run).id, name=name, tags=tag, config=patch), as_json)


@runs_app.command("clone")
def clone_run(
    run: RunName,
    changes: Annotated[list[str] | None, typer.Argument(help="PATH=VALUE in the config.")] = None,
    name: Annotated[str | None, typer.Option(help="The new run's name.")] = None,
    home: Home = None,
    server: Server = None,
    as_json: Json = False,
) -> None:
    """Launches another run from a run's config, with changes."""
    with connect(home, server) as client:
        _say_run(client.clone(find_run(client, run).id, name, patch_of(changes or ())), as_json)


@runs_app.command("delete")
def delete_run(
    run: RunName,
    confirm: Annotated[str | None, typer.Option(help="The run's name; asked for otherwise.")] = None,
    home: Home = None,
    server: Server = None,
) -> None:
    """Removes a run with its players, results and checkpoints, for good."""
    with connect(home, server) as client:
        found = find_run(client, run)
        typed = confirm if confirm is not None else typer.prompt(f"Name of the run to delete ({found.name})")
        client.delete_run(found.id, typed)
        err.print(f"{found.id} is gone")


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
        found = client.players(find_run(client, run).id, limit=limit, role=role, state=state).items
    if as_json:
        _print_json(found)
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
        for p in found
    ]
    _print_table(("player", "label", "role", "state", "parent", "steps", "games", "tags"), rows)


@players_app.command("show")
def show_player(run: RunName, player: PlayerName, home: Home = None, server: Server = None) -> None:
    """Prints a player, its standing and whom it has met, as JSON."""
    with connect(home, server) as client:
        run_id = find_run(client, run).id
        found = client.player(run_id, player).model_dump()
        found["standing"] = client.standing(run_id, player).model_dump()
        found["opponents"] = client.opponents(run_id, player).model_dump()["items"]
    print(json.dumps(found, indent=2))


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
        command = client.add_player(run_id, name, checkpoint=sha, source=where, bot=bot, url=url, label=label)
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
        found = client.matches(find_run(client, run).id, limit=limit, **filters).items
    if as_json:
        _print_json(found)
        return
    rows = [
        (
            str(m.number),
            _clock(m.at),
            m.first,
            m.second,
            m.purpose,
            m.branch,
            f"{m.wins}/{m.draws}/{m.losses}",
        )
        for m in found
    ]
    _print_table(("series", "at", "first", "second", "purpose", "branch", "won/drawn/lost"), rows)


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
        found = client.episodes(find_run(client, run).id, limit=limit, player=player).items
    if as_json:
        _print_json(found)
        return
    rows = [(str(e.id), _clock(e.at), " v ".join(e.players), str(e.length), str(e.returns)) for e in found]
    _print_table(("game", "at", "players", "moves", "returns"), rows)


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
        found = client.replay(find_run(client, run).id, game)
    if as_json:
        print(found.model_dump_json())
        return
    rows = []
    for number, move in enumerate(found.moves, start=1):
        chances = dict(zip(move.get("legal", ()), move.get("probabilities", ()), strict=False))
        likely = sorted(chances.items(), key=lambda item: -item[1])[:4]
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
    _print_table(("move", "player", "action", "value", "most likely"), rows)
    out.print(f"returns {dict(zip(found.players, found.returns, strict=True))}")


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


@tokens_app.command("create")
def create_token(
    scope: Annotated[str, typer.Option(help="read, operate or admin")],
    name: Annotated[str, typer.Option(help="Whose it is.")] = "token",
    expires: Annotated[str | None, typer.Option(help="From now: 12h, 30d, 4w. Never by default.")] = None,
    home: Home = None,
    server: Server = None,
    as_json: Json = False,
) -> None:
    """Makes an access token and prints it, this once. With the first one everybody needs one."""
    with connect(home, server) as client:
        made = client.create_token(name, scope, expires)
    if as_json:
        print(made.model_dump_json())
    else:
        print(made.token)
        err.print(f"{made.scope} token {made.id} ({made.name}); it is not shown again")


@tokens_app.command("list")
def list_tokens(home: Home = None, server: Server = None, as_json: Json = False) -> None:
    """Lists access tokens, without themselves."""
    with connect(home, server) as client:
        found = client.tokens().items
    if as_json:
        _print_json(found)
        return
    now = time.time()
    rows = []
    for t in found:
        state = "revoked" if t.revoked_at else "expired" if t.expires_at and t.expires_at < now else "valid"
        rows.append(
            (t.id, t.name, t.scope, state, _day(t.created_at), _day(t.expires_at), _day(t.last_used_at))
        )
    _print_table(("token", "name", "scope", "state", "created", "expires", "last used"), rows)


@tokens_app.command("revoke")
def revoke_token(
    token: Annotated[str, typer.Argument(help="Its id, see `list`.")],
    home: Home = None,
    server: Server = None,
) -> None:
    """Ends an access token at once."""
    with connect(home, server) as client:
        client.revoke_token(token)
    err.print(f"{token} is revoked")


def patch_of(changes: Iterable[str]) -> dict[str, Any]:
    """Returns `a.b=1` and their like as a JSON merge patch. Raises: LeagueError: it is none."""
    patch: dict[str, Any] = {}
    for change in changes:
        path, equals, value = change.partition("=")
        keys = path.split(".")
        if not equals or not all(keys):
            raise LeagueError(f"{change!r}: PATH=VALUE, such as learner.entropy.start=0.05")
        place = patch
        for key in keys[:-1]:
            place = place.setdefault(key, {})
        try:
            place[keys[-1]] = yaml.safe_load(value)
        except yaml.YAMLError as error:
            raise LeagueError(f"{change!r}: {value!r} is no value") from error
    return patch


def _say_run(run: Run, as_json: bool) -> None:
    if as_json:
        print(run.model_dump_json())
    else:
        out.print(f"{run.id} {run.name}: {run.state}, wanted {run.desired_state}", soft_wrap=True)


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


def _sentence(event: Event) -> str:
    who = f" {event.player}" if event.player else ""
    by = f" by {event.by}" if event.by else ""
    facts = " ".join(f"{k}={v}" for k, v in event.data.items())
    return f"{_clock(event.at)} {event.kind}{who}{by} {facts}".rstrip()


def _print_json(items: Sequence[BaseModel]) -> None:
    print(json.dumps([item.model_dump() for item in items]))


def _print_table(columns: Sequence[str], rows: Sequence[Sequence[str]]) -> None:
    table = Table(*columns, box=None)
    for row in rows:
        table.add_row(*row)
    out.print(table)


def _clock(at: float) -> str:
    return datetime.datetime.fromtimestamp(at).strftime("%H:%M:%S")


def _day(at: float | None) -> str:
    return "" if at is None else datetime.datetime.fromtimestamp(at).strftime("%Y-%m-%d %H:%M")
