"""The control plane: API and pages on one app. It reads and writes the store and never runs a league."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from importlib.resources import files
from typing import Any
from urllib.parse import quote

from fastapi import FastAPI, Request
from fastapi.middleware.cors import CORSMiddleware
from fastapi.openapi.utils import get_openapi
from fastapi.responses import RedirectResponse
from fastapi.staticfiles import StaticFiles
from starlette.middleware.gzip import GZipMiddleware

from league.bootstrap import Services, Stores
from league.client.schemas import Problem
from league.control.cache import Kept
from league.control.webhooks import WebhookSender
from web import docs, login, problems
from web.api import admin, events, health, matches, players, plays, runs
from web.examples import add_examples
from web.hub import EventHub
from web.memory import kept_small
from web.metrics import RequestMetrics
from web.middleware import Guard
from web.pages import games, lineage, sentences, standings
from web.pages import players as player_pages
from web.pages import runs as run_pages
from web.templating import templates

API = "/api/v1"
SUMMARY = "Self-play league training: runs, players, matches, standings, events."
DESCRIPTION = """\
Everything under `/api/v1` stays as it is described here: fields and operations are added, none is taken
away or changes its meaning; what cannot be done without that will be `/api/v2`, beside this one for a year.

Errors are problem+json (RFC 9457) with stable types. Lists are read page by page with `cursor`. A POST with
an `Idempotency-Key` is done once, however often it is sent. What can be changed has an `ETag`; a PATCH with
`If-Match` does not overwrite somebody else's change.
"""
GZIP_FROM_BYTES, GZIP_LEVEL = 2000, 3


def create_app(services: Services | None = None) -> FastAPI:
    """Builds the app.

    Args:
      services: where answers come from; by default the stores named by the environment (see `bootstrap`).
    """

    @asynccontextmanager
    async def lifespan(app: FastAPI) -> AsyncIterator[None]:
        if app.state.services is None:
            _use(app, Stores.from_environment().services())
        with WebhookSender(app.state.services.webhooks):
            async with kept_small():
                yield

    app = FastAPI(
        title="League",
        version="1",
        summary=SUMMARY,
        description=DESCRIPTION,
        lifespan=lifespan,
        docs_url=None,  # its page loads scripts from a CDN; ours is web/docs.py
        redoc_url=None,
        openapi_url=f"{API}/openapi.json",
        separate_input_output_schemas=False,
        redirect_slashes=False,
    )
    app.state.services = None
    app.state.documents = {}
    app.state.metrics = metrics = RequestMetrics()
    if services is not None:
        _use(app, services)
    templates.env.filters["sentence"] = sentences.sentence
    problems.install(app)
    app.include_router(health.router)
    for router in (
        players.acting_router,  # the first that is looked at
        runs.router,
        players.of_runs,
        players.router,
        matches.router,
        plays.router,
        events.router,
        admin.router,
        admin.secretive,
    ):
        app.include_router(router, prefix=API)
    app.include_router(login.router)
    app.include_router(docs.router)
    for page in (run_pages, standings, player_pages, lineage, games):
        app.include_router(page.router)
    for path, package, folder in (
        ("static", "web", "static"),
        ("plotly", "plotly", "package_data"),
        ("swagger", "fastapi_offline", "static"),
    ):
        app.mount(f"/{path}", StaticFiles(directory=str(files(package) / folder)), name=path)

    async def to_login(request: Request, _: Exception) -> RedirectResponse:
        to = quote(str(request.url.path))
        return RedirectResponse(f"/login?to={to}", status_code=303)

    app.add_exception_handler(login.LoginNeeded, to_login)
    app.add_middleware(GZipMiddleware, minimum_size=GZIP_FROM_BYTES, compresslevel=GZIP_LEVEL)
    app.add_middleware(_Cors)
    app.add_middleware(Guard, metrics=metrics)
    app.openapi = lambda: _openapi(app)  # type: ignore[method-assign]
    return app


def _use(app: FastAPI, services: Services) -> None:
    app.state.services = services
    app.state.kept = Kept(256)
    app.state.hub = EventHub(services.league, services.settings.max_event_streams)


class _Cors:
    """Lets the scripts of the origins named in the settings in; as a rule nobody's."""

    def __init__(self, app: Any) -> None:
        self._app = app
        self._cors: CORSMiddleware | None = None

    async def __call__(self, scope: Any, receive: Any, send: Any) -> None:
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        origins = scope["app"].state.services.settings.cors_origins
        if origins and self._cors is None:
            self._cors = CORSMiddleware(
                self._app,
                allow_origins=origins,
                allow_methods=["*"],
                allow_headers=[
                    "Authorization",
                    "Content-Type",
                    "Idempotency-Key",
                    "If-Match",
                    "If-None-Match",
                ],
                expose_headers=["ETag", "Location"],
            )
        await (self._cors or self._app)(scope, receive, send)


def _openapi(app: FastAPI) -> dict[str, Any]:
    """Returns the document, with the problems that every operation can answer.

    Whether a token is needed is as it is on this server just now.
    """
    services: Services | None = app.state.services
    is_open = services is not None and services.access.is_open()
    documents: dict[bool, dict[str, Any]] = app.state.documents
    if is_open not in documents:
        documents[is_open] = _document(app, is_open)
    return documents[is_open]


def _document(app: FastAPI, is_open: bool) -> dict[str, Any]:
    document = get_openapi(
        title=app.title,
        version=app.version,
        summary=app.summary,
        description=app.description,
        routes=app.routes,
        separate_input_output_schemas=False,
    )
    schemas = document.setdefault("components", {}).setdefault("schemas", {})
    schema = Problem.model_json_schema(ref_template="#/components/schemas/{model}")
    schemas.update(schema.pop("$defs", {}))
    schemas["Problem"] = schema
    for name in ("HTTPValidationError", "ValidationError"):
        schemas.pop(name, None)
    for operations in document["paths"].values():
        for operation in operations.values():
            if is_open and "security" in operation:
                operation["security"].append({})  # that is: or nothing
    add_examples(document)
    return document
