"""Logins in the browser: an access token exchanged for a signed cookie that scripts cannot read."""

from __future__ import annotations

import secrets
from dataclasses import dataclass

from fastapi import Response
from itsdangerous import BadSignature, URLSafeTimedSerializer

from league.bootstrap import Services
from league.control.access import AccessService, Principal

COOKIE = "league_session"
CSRF_HEADER = "x-csrf-token"
SAFE_METHODS = frozenset({"GET", "HEAD", "OPTIONS"})
SECRET_NAME = "cookies"  # noqa: S105  the name, not the secret

_serializers: dict[int, URLSafeTimedSerializer] = {}


@dataclass(frozen=True)
class Session:
    """A login: whose token, and what a change must bring along to show that our own page sends it."""

    token_id: str
    csrf: str


class Sessions:
    """Cookies written and read."""

    def __init__(self, services: Services) -> None:
        self._seconds = int(services.settings.session_hours * 3600)
        self._serializer = _serializer(services.access)

    def begin(self, response: Response, who: Principal, *, secure: bool) -> None:
        """Logs somebody in."""
        data = [who.token_id, secrets.token_urlsafe(16)]
        response.set_cookie(
            COOKIE,
            self._serializer.dumps(data),
            max_age=self._seconds,
            httponly=True,
            samesite="strict",
            secure=secure,
        )

    def read(self, cookie: str) -> Session | None:
        """Returns the login that a cookie stands for, None when it is forged, changed or too old."""
        try:
            token_id, csrf = self._serializer.loads(cookie, max_age=self._seconds)
        except (BadSignature, ValueError, TypeError):
            return None
        return Session(str(token_id), str(csrf))


def _serializer(access: AccessService) -> URLSafeTimedSerializer:
    """Reads the signing key once for each database."""
    known = _serializers.get(id(access))
    if known is None:
        known = _serializers[id(access)] = URLSafeTimedSerializer(access.secret(SECRET_NAME), salt="session")
    return known
