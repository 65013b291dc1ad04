"""Commands about runs: listed, launched, watched, steered, removed."""

from __future__ import annotations

import contextlib
import time
from collections.abc import Iterable
from pathlib import Path
from typing import Annotated, Any

import typer
import yaml

from league.cli.client_commands import find_run, print_json, print_table
from league.cli.connection import connect
from league.cli.options import Home, Json, RunName, Server
from league.cli.printing import err, out
from league.client.schemas import Run
from league.errors import LeagueError

runs_app = typer.Typer(help="The runs: listed, launched, steered, removed.")


@runs_app.callback(invoke_without_command=True)
def runs(context: typer.Context, home: Home = None, server: Server = None, as_json: Json = False) -> None:
    """Lists the runs, newest first."""
    if context.invoked_subcommand is not None:
        return
    with connect(home, server) as client:
        result = client.runs(limit=500).items
    if as_json:
        print_json(result)
        return
    rows = [
        (
            r.id,
            r.name,
            r.game,
            r.state,
            *(f"{n:,}" for n in (r.moves, r.games, round(r.play_seconds / 60, 1))),
        )
        for r in result
    ]
    print_table(("run", "name", "game", "state", "moves", "games", "minutes"), rows)


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

    from league.cli.top import screen

    with connect(home, server) as client:
        result = find_run(client, run)
        if once or not out.is_terminal:
            out.print(screen(result, client.doing(result.id)))
            return
        with Live(console=out, transient=True) as live, contextlib.suppress(KeyboardInterrupt):
            while True:
                live.update(screen(client.run(result.id), client.doing(result.id)))
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
    from league.cli.tensorboard import export

    with connect(home, server) as client, contextlib.suppress(KeyboardInterrupt):
        result = find_run(client, run)
        count = export(client, result.id, logdir, follow=follow)
        out.print(f"{count} moments of {result.id} in {logdir}: tensorboard --logdir {logdir}")


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
        result = find_run(client, run)
        typed = confirm if confirm is not None else typer.prompt(f"Name of the run to delete ({result.name})")
        client.delete_run(result.id, typed)
        err.print(f"{result.id} is gone")


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
