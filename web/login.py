"""Logging in in the browser: a token once, a cookie from then on."""

from __future__ import annotations

from typing import Annotated
from urllib.parse import parse_qs

from fastapi import APIRouter, Depends, Query, Request
from fastapi.responses import HTMLResponse, RedirectResponse, Response
from starlette.concurrency import run_in_threadpool

from league.control.access import Principal
from league.errors import ForbiddenError, UnauthorizedError
from web.services import AllServices, principal_of
from web.sessions import COOKIE, Sessions
from web.templating import templates

router = APIRouter(include_in_schema=False)


class LoginNeeded(Exception):
    """A page was asked for by somebody who has not logged in."""


def _visitor(request: Request, services: AllServices) -> Principal:
    try:
        return principal_of(request, services)
    except (UnauthorizedError, ForbiddenError) as error:
        raise LoginNeeded from error


Visitor = Annotated[Principal, Depends(_visitor)]


@router.get("/login")
def login_page(request: Request, to: Annotated[str, Query(max_length=500)] = "/") -> HTMLResponse:
    """Asks for a token."""
    return templates.TemplateResponse(request, "login.html", {"to": _inside(to), "error": None})


@router.post("/login")
async def login(request: Request, services: AllServices) -> Response:
    """Exchanges a token for a cookie."""
    fields = parse_qs((await request.body()).decode("ascii", "replace"), max_num_fields=5)
    to = _inside(fields.get("to", ["/"])[0])
    try:
        who = await run_in_threadpool(services.access.principal, fields.get("token", [""])[0].strip())
    except UnauthorizedError:
        context = {"to": to, "error": "That is not a valid token. It may have expired or been revoked."}
        return templates.TemplateResponse(request, "login.html", context, status_code=401)
    response = RedirectResponse(to, status_code=303)
    sessions = await run_in_threadpool(Sessions, services)
    sessions.begin(response, who, secure=request.url.scheme == "https")
    return response


@router.post("/logout")
def logout() -> Response:
    """Forgets the login."""
    response = RedirectResponse("/login", status_code=303)
    response.delete_cookie(COOKIE)
    return response


def _inside(to: str) -> str:
    """Returns a place of this server's, whatever was asked for."""
    fine = to.startswith("/") and not to.startswith(("//", "/\\")) and to.isprintable() and "\\" not in to
    return to if fine else "/"
