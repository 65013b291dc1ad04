"""How a request reaches the control plane: retries, idempotency keys, errors."""

from __future__ import annotations

import secrets
import time
from types import TracebackType
from typing import Any, Self, TypeVar
from urllib.parse import quote

import httpx
from pydantic import BaseModel

from league.client import schemas
from league.errors import ApiError, TransportError

M = TypeVar("M", bound=BaseModel)

API = "/api/v1"
TRIES = 4
FIRST_WAIT_SECONDS = 0.3
TIMEOUT_SECONDS = 30.0
# Answers after which a request may be sent again as it was.
AGAIN = frozenset({429, 502, 503, 504})


class Transport:
    """Connections to one server.

    A request that finds the server busy or away is sent again, a POST with an idempotency key of its own, so
    that it is done once.
    """

    def __init__(
        self,
        url: str,
        token: str | None = None,
        *,
        verify: bool | str = True,
        transport: httpx.BaseTransport | None = None,
    ) -> None:
        """Args:
        url: such as http://127.0.0.1:8000. token: an access token.
        verify: False, or a file of certificates to trust. transport: instead of the network.
        """
        headers = {"Accept": "application/json"}
        if token:
            headers["Authorization"] = f"Bearer {token}"
        self._http = httpx.Client(
            base_url=url.rstrip("/"),
            headers=headers,
            timeout=TIMEOUT_SECONDS,
            verify=verify,
            transport=transport,
        )

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def close(self) -> None:
        """Ends the connections."""
        self._http.close()

    def _get(self, model: type[M], path: str, **params: Any) -> M:
        answer = self._request("GET", path, params=given(params))
        return model.model_validate_json(answer.content)

    def _post(self, model: type[M], path: str, body: dict[str, Any] | None = None, *, once: bool = True) -> M:
        headers = {"Idempotency-Key": secrets.token_hex(16)} if once else {}
        answer = self._request("POST", path, json=body, headers=headers, again=once)
        return model.model_validate_json(answer.content)

    def _patch(
        self, model: type[M], path: str, body: dict[str, Any], headers: dict[str, str] | None = None
    ) -> M:
        answer = self._request("PATCH", path, json=body, headers=headers or {})
        return model.model_validate_json(answer.content)

    def _request(self, method: str, path: str, *, again: bool = True, **how: Any) -> httpx.Response:
        wait = FIRST_WAIT_SECONDS
        for left in reversed(range(TRIES)):
            try:
                answer = self._http.request(method, API + path, **how)
            except httpx.TransportError as error:
                if not (again and left) or isinstance(error, httpx.UnsupportedProtocol):
                    raise TransportError(f"{self._http.base_url}: {error or type(error).__name__}") from error
            else:
                if answer.is_success:
                    return answer
                if not (again and left and answer.status_code in AGAIN):
                    raise error_of(answer)
            time.sleep(wait)
            wait *= 2
        raise AssertionError("unreachable")


def path_part(text: str) -> str:
    """Returns one part of a path, whatever is in it."""
    return quote(text, safe=":@")


def player_path(run: str, name: str) -> str:
    return f"/players/{path_part(f'{run}:{name}')}"


def given(values: dict[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in values.items() if value is not None}


def error_of(answer: httpx.Response) -> ApiError:
    try:
        problem = schemas.Problem.model_validate_json(answer.content)
    except ValueError:
        problem = schemas.Problem(
            type="about:blank",
            title=answer.reason_phrase,
            status=answer.status_code,
            detail=f"{answer.request.url} answered {answer.status_code}, not by League",
        )
    return ApiError(problem.status, problem.type, problem.detail)
