"""Commands about access tokens."""

from __future__ import annotations

import time
from typing import Annotated

import typer

from league.cli.client_commands import day, print_json, print_table
from league.cli.connection import connect
from league.cli.options import Home, Json, Server
from league.cli.printing import err

tokens_app = typer.Typer(no_args_is_help=True, help="Access tokens of the control plane.")


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
        result = client.tokens().items
    if as_json:
        print_json(result)
        return
    now = time.time()
    rows = []
    for t in result:
        state = "revoked" if t.revoked_at else "expired" if t.expires_at and t.expires_at < now else "valid"
        rows.append((t.id, t.name, t.scope, state, day(t.created_at), day(t.expires_at), day(t.last_used_at)))
    print_table(("token", "name", "scope", "state", "created", "expires", "last used"), rows)


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
