"""Access to the control plane: tokens, what each may do, and the log of what was done.

A token is `league_ID_SECRET`; of it only a sha256 is kept (the secret has 256 bits, so a slow hash would
guard nothing). As long as no token has ever been made, a server on loopback lets everybody on the machine in.
"""

from __future__ import annotations

import hashlib
import hmac
import re
import secrets
import threading
import time
from dataclasses import dataclass
from enum import IntEnum
from typing import Any

from league.errors import BadRequestError, ConflictError, UnauthorizedError
from league.pool.records import AuditRecord, TokenRecord
from league.store.repositories.access import AccessRepository
from league.store.session import Database

TOKEN = re.compile(r"league_([0-9a-f]{12})_([A-Za-z0-9_-]{43})")
LIFETIME = re.compile(r"(\d{1,6})([smhdw])")
UNITS = {"s": 1, "m": 60, "h": 3600, "d": 86_400, "w": 604_800}
# What was looked up is believed for so long: a revoked token may work on for this time.
BELIEVED_SECONDS = 1.0
USE_NOTED_SECONDS = 60.0


class Scope(IntEnum):
    """What a token may do; each includes the one before it."""

    read = 1
    operate = 2
    admin = 3


@dataclass(frozen=True)
class Principal:
    """Whoever asks. `token_id` is None for people on an open server's own machine."""

    name: str
    scope: Scope
    token_id: str | None = None


LOCAL = Principal("local", Scope.admin)


class AccessService:
    """Tokens made, checked and revoked; the audit log."""

    def __init__(self, database: Database, *, loopback: bool = True, trusted: bool = False) -> None:
        """Args:
        loopback: whether only this machine can ask; elsewhere nobody is let in without a token.
        trusted: whoever asks holds the database itself, as the command line does.
        """
        self._trusted = trusted
        self._repository = AccessRepository(database)
        self._loopback = loopback
        self._lock = threading.Lock()
        self._believed: dict[str, tuple[float, Principal]] = {}
        self._used: dict[str, float] = {}
        self._open: tuple[float, bool] = (0.0, False)

    def is_open(self) -> bool:
        """Whether no token is needed."""
        if self._trusted or not self._loopback:
            return self._trusted
        at, is_open = self._open
        if time.monotonic() - at > BELIEVED_SECONDS:
            if at == 0.0:
                return self._look_whether_open()
            # Asked at every request, and nobody is to wait for the database: it is looked up beside.
            self._open = (time.monotonic(), is_open)
            threading.Thread(target=self._look_whether_open, daemon=True).start()
        return is_open

    def _look_whether_open(self) -> bool:
        is_open = not self._repository.has_tokens()
        self._open = (time.monotonic(), is_open)
        return is_open

    def require_tokens_to_listen_elsewhere(self) -> None:
        """Raises: UnauthorizedError: there is no token by which anybody could be let in."""
        if not self._repository.has_tokens():
            raise UnauthorizedError(
                "beyond loopback the control plane needs access tokens and there is none; make one with "
                "`league token create --scope admin`, or use --host 127.0.0.1 and an SSH tunnel"
            )

    def create(self, name: str, scope: str, expires: str | None, by: Principal) -> tuple[TokenRecord, str]:
        """Makes a token; it is returned this once and kept nowhere.

        Args:
          scope: read, operate or admin. expires: from now, such as 30d; None: never.

        Raises:
          BadRequestError: a word that is not understood.
        """
        if scope not in Scope.__members__:
            raise BadRequestError(f"scope {scope!r}: one of {', '.join(Scope.__members__)}")
        if not 1 <= len(name) <= 100 or not name.isprintable():
            raise BadRequestError("name: 1 to 100 printable characters")
        token_id, secret = secrets.token_hex(6), secrets.token_urlsafe(32)
        lifetime = None if expires is None else lifetime_of(expires)
        record = self._repository.add_token(token_id, name, _hash(secret), scope, by.name, lifetime)
        self._open = (time.monotonic(), False)
        self.audit(by, "token.create", token_id, {"name": name, "scope": scope, "expires": expires})
        return record, f"league_{token_id}_{secret}"

    def tokens(self) -> list[TokenRecord]:
        """Returns every token, newest first."""
        return self._repository.tokens()

    def revoke(self, token_id: str, by: Principal) -> TokenRecord:
        """Ends a token.

        Raises:
          NotFoundError. ConflictError: it is the one that asks; nobody might be left who can make another.
        """
        if token_id == by.token_id:
            raise ConflictError("a token cannot revoke itself; use another admin token, or `league token`")
        record = self._repository.revoke(token_id)
        with self._lock:
            self._believed.clear()
        self.audit(by, "token.revoke", token_id, {"name": record.name})
        return record

    def principal(self, token: str) -> Principal:
        """Returns whose token it is.

        Raises:
          UnauthorizedError: malformed, unknown, expired or revoked; it does not say which of them.
        """
        match = TOKEN.fullmatch(token)
        if match is None:
            raise UnauthorizedError("not a valid access token")
        return self._lookup(match[1], _hash(match[2]))

    def remembered(self, token: str) -> Principal | None:
        """Returns whose token it is if that was looked up a moment ago; asks nobody."""
        match = TOKEN.fullmatch(token)
        if match is None:
            return None
        with self._lock:
            believed = self._believed.get(f"{match[1]}{_hash(match[2])}")
        fresh = believed is not None and time.monotonic() - believed[0] < BELIEVED_SECONDS
        return believed[1] if believed is not None and fresh else None

    def principal_of(self, token_id: str) -> Principal:
        """The same for somebody whose login was checked before. Raises: UnauthorizedError."""
        return self._lookup(token_id, None)

    def secret(self, name: str) -> str:
        """Returns a secret of the server's, the same for every server on this database."""
        return self._repository.secret(name)

    def audit(self, by: Principal, action: str, target: str, data: dict[str, Any] | None = None) -> None:
        """Appends to the log."""
        self._repository.audit(by.name, action, target, data or {})

    def audited(self, limit: int, before: int | None = None) -> list[AuditRecord]:
        """Returns the log, newest first."""
        return self._repository.audited(limit, before)

    def _lookup(self, token_id: str, hashed: str | None) -> Principal:
        key, now = f"{token_id}{hashed}", time.monotonic()
        with self._lock:
            believed = self._believed.get(key)
        if believed is not None and now - believed[0] < BELIEVED_SECONDS:
            return believed[1]
        result = self._repository.token(token_id)
        if result is None:
            raise UnauthorizedError("not a valid access token")
        record, kept, time_there = result
        valid = hashed is None or hmac.compare_digest(kept, hashed)
        expired = record.expires_at is not None and record.expires_at <= time_there
        if not valid or expired or record.revoked_at is not None:
            raise UnauthorizedError("not a valid access token")
        principal = Principal(record.name, Scope[record.scope], record.id)
        with self._lock:
            if len(self._believed) > 10_000:
                self._believed.clear()
            self._believed[key] = (now, principal)
        if now - self._used.get(token_id, -USE_NOTED_SECONDS) >= USE_NOTED_SECONDS:
            self._used[token_id] = now
            self._repository.note_use(token_id)
        return principal


def lifetime_of(text: str) -> float:
    """Returns the seconds of `90s`, `15m`, `12h`, `30d`, `4w`. Raises: BadRequestError."""
    match = LIFETIME.fullmatch(text)
    if match is None or int(match[1]) == 0:
        raise BadRequestError(f"expires {text!r}: a number and a unit, such as 12h, 30d or 4w")
    return float(int(match[1]) * UNITS[match[2]])


def _hash(secret: str) -> str:
    return hashlib.sha256(secret.encode()).hexdigest()
