"""Errors as RFC 9457 problem details, mapped in one place."""

from __future__ import annotations

from http import HTTPStatus
from typing import Any

from fastapi import FastAPI, Request
from fastapi.exceptions import RequestValidationError
from fastapi.responses import JSONResponse
from starlette.exceptions import HTTPException

from league.errors import USER_ERRORS, CheckpointError, ConfigError, DatabaseError, NotFoundError

STATUS: dict[type[Exception], int] = {
    NotFoundError: 404,
    ConfigError: 422,
    DatabaseError: 503,
    CheckpointError: 503,
}


def problem(status: int, detail: str, kind: str = "about:blank", **more: Any) -> JSONResponse:
    """Returns a problem+json response."""
    body = {"type": kind, "title": HTTPStatus(status).phrase, "status": status, "detail": detail, **more}
    return JSONResponse(body, status_code=status, media_type="application/problem+json")


def install(app: FastAPI) -> None:
    """Makes every error of the app a problem+json answer."""

    async def known(_: Request, error: Exception) -> JSONResponse:
        status = next((s for kind, s in STATUS.items() if isinstance(error, kind)), 400)
        return problem(status, str(error), f"/problems/{type(error).__name__}")

    async def http(_: Request, error: Exception) -> JSONResponse:
        assert isinstance(error, HTTPException)  # noqa: S101  registered for that class
        response = problem(error.status_code, str(error.detail))
        response.headers.update(error.headers or {})
        return response

    async def invalid(_: Request, error: Exception) -> JSONResponse:
        assert isinstance(error, RequestValidationError)  # noqa: S101
        errors = [{"where": ".".join(map(str, e["loc"])), "what": e["msg"]} for e in error.errors()]
        detail = "; ".join(f"{e['where']}: {e['what']}" for e in errors)
        return problem(422, detail, "/problems/InvalidRequest", errors=errors)

    for kind in USER_ERRORS:
        app.add_exception_handler(kind, known)
    app.add_exception_handler(HTTPException, http)
    app.add_exception_handler(RequestValidationError, invalid)
