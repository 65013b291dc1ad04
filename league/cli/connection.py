"""The client that the command line uses: of a server, or of the database here through the same app.

Either way a command goes through the same routes, so that what it takes, answers and refuses is the same.
"""

from __future__ import annotations

import importlib
from collections.abc import Iterator
from contextlib import contextmanager

import anyio
import anyio.from_thread
import httpx

from league.bootstrap import Stores
from league.client import LeagueClient
from league.settings import Settings

APP_MODULE = "web.app"
UNHURRIED = {"rate_limit": 1e6, "act_rate_limit": 1e6}


class InProcess(httpx.BaseTransport):
    """Requests answered by an app in this process: no port, no server."""

    def __init__(self, app: object, portal: anyio.from_thread.BlockingPortal) -> None:
        self._transport = httpx.ASGITransport(app, raise_app_exceptions=True)  # type: ignore[arg-type]
        self._portal = portal

    def handle_request(self, request: httpx.Request) -> httpx.Response:
        return self._portal.call(self._answer, request)

    async def _answer(self, request: httpx.Request) -> httpx.Response:
        request.stream = httpx.ByteStream(request.read())
        request.headers["Accept-Encoding"] = "identity"  # nothing travels
        answer = await self._transport.handle_async_request(request)
        content = await answer.aread()
        return httpx.Response(answer.status_code, headers=answer.headers, content=content)


@contextmanager
def connect(home: str | None, server: str | None) -> Iterator[LeagueClient]:
    """A client of the server named (or of $LEAGUE_SERVER), else of the stores in `home`.

    Raises:
      DatabaseError, ConfigError.
    """
    settings = Settings.load()
    url = server or (settings.server if home is None else None)
    if url is not None:
        with LeagueClient(url, settings.token) as client:
            yield client
        return
    stores = Stores.from_environment(home)
    stores.create_if_empty()
    services = stores.services(settings.model_copy(update=UNHURRIED), trusted=True)
    # By name, so that no arrow runs from the league back up to the web.
    app = importlib.import_module(APP_MODULE).create_app(services)
    with (
        anyio.from_thread.start_blocking_portal() as portal,
        LeagueClient("http://localhost", transport=InProcess(app, portal)) as client,
    ):
        yield client
