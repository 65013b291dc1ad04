"""The control plane: API and pages on one app. It reads and writes the store and never runs a league."""

from __future__ import annotations

from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from importlib.resources import files

from fastapi import FastAPI, Request, Response
from fastapi.staticfiles import StaticFiles

from league.bootstrap import Stores
from league.services import LeagueService
from web import pages, problems
from web.api import events, health, runs

# Nothing runs here that does not come from here. Plotly sets styles on the elements it draws, which is
# why styles alone may be inline; images may be data for its "download as PNG".
SECURITY_HEADERS = {
    "Content-Security-Policy": (
        "default-src 'none'; script-src 'self'; style-src 'self' 'unsafe-inline'; "
        "img-src 'self' data: blob:; "
        "connect-src 'self'; font-src 'self'; base-uri 'none'; form-action 'self'; frame-ancestors 'none'"
    ),
    "X-Content-Type-Options": "nosniff",
    "Referrer-Policy": "no-referrer",
}


def create_app(service: LeagueService | None = None) -> FastAPI:
    """Builds the app.

    Args:
      service: where answers come from; by default the stores named by the environment (see `bootstrap`).
    """

    @asynccontextmanager
    async def lifespan(app: FastAPI) -> AsyncIterator[None]:
        if service is None:
            app.state.service = Stores.from_environment().service()
        yield

    app = FastAPI(
        title="League",
        version="1",
        summary="Self-play league training: runs, standings, payoffs, events.",
        lifespan=lifespan,
        docs_url=None,  # its page loads scripts from a CDN
        redoc_url=None,
        openapi_url="/api/v1/openapi.json",
    )
    app.state.service = service
    problems.install(app)
    app.include_router(health.router)
    app.include_router(runs.router, prefix="/api/v1")
    app.include_router(events.router, prefix="/api/v1")
    app.include_router(pages.router)
    app.mount("/static", StaticFiles(directory=str(files("web") / "static")), name="static")
    app.mount("/plotly", StaticFiles(directory=str(files("plotly") / "package_data")), name="plotly")

    @app.middleware("http")
    async def add_security_headers(
        request: Request, call_next: Callable[[Request], Awaitable[Response]]
    ) -> Response:
        response = await call_next(request)
        for name, value in SECURITY_HEADERS.items():
            response.headers.setdefault(name, value)
        if request.url.path.startswith("/plotly/"):
            response.headers["Cache-Control"] = "public, max-age=86400"
        return response

    return app
