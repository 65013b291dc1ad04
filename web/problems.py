"""Errors as RFC 9457 problem details, mapped in one place. The types are stable; docs/rest.md lists them."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass
from http import HTTPStatus
from typing import Any

from fastapi import FastAPI, Request
from fastapi.exceptions import RequestValidationError
from fastapi.responses import JSONResponse
from starlette.exceptions import HTTPException

from league.errors import (
    USER_ERRORS,
    BadRequestError,
    CheckpointError,
    ConfigError,
    ConflictError,
    DatabaseError,
    ForbiddenError,
    NotFoundError,
    SteeringError,
    UnauthorizedError,
)
from web.hub import ListenerLimitError

MEDIA_TYPE = "application/problem+json"
CHALLENGE = 'Bearer realm="league"'
# What of a wrong value is shown back to whoever sent it.
SHOWN = 300


@dataclass(frozen=True)
class Kind:
    """A kind of problem: `name` is the end of its type."""

    name: str
    status: int


KINDS: dict[type[Exception], Kind] = {
    NotFoundError: Kind("not-found", 404),
    ConflictError: Kind("conflict", 409),
    SteeringError: Kind("cannot-be-done", 409),
    UnauthorizedError: Kind("unauthorized", 401),
    ForbiddenError: Kind("forbidden", 403),
    BadRequestError: Kind("bad-request", 400),
    ConfigError: Kind("config", 422),
    DatabaseError: Kind("unavailable", 503),
    ListenerLimitError: Kind("unavailable", 503),
    CheckpointError: Kind("checkpoint", 503),
}
BY_STATUS = {
    400: "bad-request",
    401: "unauthorized",
    403: "forbidden",
    404: "not-found",
    405: "method-not-allowed",
    406: "not-acceptable",
    409: "conflict",
    412: "precondition-failed",
    413: "too-large",
    415: "unsupported-media-type",
    422: "invalid-request",
    429: "too-many-requests",
    500: "internal",
    503: "unavailable",
}


class PreconditionFailed(Exception):
    """The resource is not as the request's If-Match knows it."""


def problem(
    status: int,
    detail: str,
    kind: str | None = None,
    *,
    errors: Iterable[dict[str, str]] = (),
    headers: dict[str, str] | None = None,
) -> JSONResponse:
    """Returns a problem+json response."""
    body: dict[str, Any] = {
        "type": f"/problems/{kind or BY_STATUS.get(status, 'error')}",
        "title": HTTPStatus(status).phrase,
        "status": status,
        "detail": detail,
    }
    if errors := list(errors):
        body["errors"] = errors
    return JSONResponse(body, status_code=status, media_type=MEDIA_TYPE, headers=headers)


def responses(*statuses: int) -> dict[int | str, dict[str, Any]]:
    """Returns how a route's problems are documented; those that any route can answer are always there."""
    content = {MEDIA_TYPE: {"schema": {"$ref": "#/components/schemas/Problem"}}}
    every = {400, 401, 403, 413, 422, 429, 503, *statuses}
    return {s: {"description": HTTPStatus(s).phrase, "content": content} for s in sorted(every)}


def of_error(error: Exception) -> JSONResponse:
    """Returns the answer to one of the league's errors."""
    kind = next((k for kind, k in KINDS.items() if isinstance(error, kind)), Kind("bad-request", 400))
    headers = {"WWW-Authenticate": CHALLENGE} if kind.status == 401 else None
    return problem(kind.status, str(error), kind.name, headers=headers)


def _allowed(app: FastAPI, path: str) -> set[str]:
    """Returns the methods of every operation of a path; the router itself names those of the first alone."""
    return {
        method.upper()
        for template, operations in app.openapi()["paths"].items()
        if re.fullmatch(re.sub(r"\\{\w+\\}", "[^/]+", re.escape(template)), path)
        for method in operations
    }


def install(app: FastAPI) -> None:
    """Makes every error of the app a problem+json answer."""

    async def known(_: Request, error: Exception) -> JSONResponse:
        return of_error(error)

    async def changed(_: Request, error: Exception) -> JSONResponse:
        return problem(412, str(error))

    async def http(request: Request, error: Exception) -> JSONResponse:
        assert isinstance(error, HTTPException)  # noqa: S101  registered for that class
        headers = dict(error.headers or {})
        if error.status_code == 405:
            allowed = _allowed(app, request.url.path) or {headers.get("allow", "GET")}
            headers["Allow"] = ", ".join(sorted(allowed))
        return problem(error.status_code, str(error.detail), headers=headers)

    async def invalid(_: Request, error: Exception) -> JSONResponse:
        assert isinstance(error, RequestValidationError)  # noqa: S101
        errors = [
            {"where": ".".join(map(str, e["loc"]))[:SHOWN], "what": e["msg"][:SHOWN]} for e in error.errors()
        ]
        detail = "; ".join(f"{e['where']}: {e['what']}" for e in errors)[: 10 * SHOWN]
        return problem(422, detail, errors=errors[:100])

    async def unknown(_: Request, __: Exception) -> JSONResponse:  # the server logs it
        return problem(500, "this is an error of the server's; its log says more")

    for kind in USER_ERRORS:
        app.add_exception_handler(kind, known)
    app.add_exception_handler(PreconditionFailed, changed)
    app.add_exception_handler(HTTPException, http)
    app.add_exception_handler(RequestValidationError, invalid)
    app.add_exception_handler(Exception, unknown)
