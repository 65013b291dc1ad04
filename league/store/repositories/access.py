"""Who may use the control plane, what they did, and the server's own secrets."""

from __future__ import annotations

import secrets
from typing import Any

from sqlalchemy import exists, select, update

from league.errors import NotFoundError
from league.pool.records import AuditRecord, TokenRecord
from league.store.models import AuditRow, SecretRow, TokenRow
from league.store.session import Database


class AccessRepository:
    """Tokens by their hash, the audit log, secrets."""

    def __init__(self, database: Database) -> None:
        self._database = database

    def has_tokens(self) -> bool:
        """Whether a token has ever been made: from then on everybody needs one."""
        with self._database.read() as session:
            return bool(session.scalar(select(exists().select_from(TokenRow))))

    def add_token(
        self, token_id: str, name: str, hashed: str, scope: str, actor: str, lifetime: float | None
    ) -> TokenRecord:
        """Keeps a new token. Args: lifetime: seconds from now, None for ever."""
        with self._database.write() as session:
            now = self._database.now(session)
            row = TokenRow(
                id=token_id,
                name=name,
                hash=hashed,
                scope=scope,
                created_at=now,
                created_by=actor,
                expires_at=None if lifetime is None else now + lifetime,
            )
            session.add(row)
            session.flush()
            return _token(row)

    def token(self, token_id: str) -> tuple[TokenRecord, str, float] | None:
        """Returns a token, its hash and the database's time; None when there is no such token."""
        with self._database.read() as session:
            row = session.get(TokenRow, token_id)
            return None if row is None else (_token(row), row.hash, self._database.now(session))

    def tokens(self) -> list[TokenRecord]:
        """Returns every token, newest first."""
        with self._database.read() as session:
            return [_token(r) for r in session.scalars(select(TokenRow).order_by(TokenRow.created_at.desc()))]

    def note_use(self, token_id: str) -> None:
        """Notes that a token was used just now."""
        with self._database.write() as session:
            now = self._database.now(session)
            session.execute(update(TokenRow).where(TokenRow.id == token_id).values(last_used_at=now))

    def revoke(self, token_id: str) -> TokenRecord:
        """Ends a token at once. Raises: NotFoundError."""
        with self._database.write() as session:
            row = session.get(TokenRow, token_id)
            if row is None:
                raise NotFoundError(f"no token {token_id!r}; `league token list` shows them")
            if row.revoked_at is None:
                row.revoked_at = self._database.now(session)
            return _token(row)

    def audit(self, actor: str, action: str, target: str, data: dict[str, Any]) -> None:
        """Appends to the log."""
        with self._database.write() as session:
            now = self._database.now(session)
            session.add(AuditRow(at=now, actor=actor, action=action, target=target[:300], data=data))

    def audited(self, limit: int, before: int | None = None) -> list[AuditRecord]:
        """Returns the log, newest first, entries with an id below `before`."""
        a = AuditRow
        with self._database.read() as session:
            query = select(a).order_by(a.id.desc()).limit(limit)
            if before is not None:
                query = query.where(a.id < before)
            rows = session.scalars(query)
            return [AuditRecord(r.id, r.at, r.actor, r.action, r.target, r.data) for r in rows]

    def secret(self, name: str) -> str:
        """Returns a secret of the server's, made at first need and the same for every server since."""
        with self._database.write() as session:
            row = session.get(SecretRow, name)
            if row is None:
                row = SecretRow(name=name, value=secrets.token_urlsafe(32))
                session.add(row)
                session.flush()
            return row.value


def _token(row: TokenRow) -> TokenRecord:
    return TokenRecord(
        row.id,
        row.name,
        row.scope,
        row.created_at,
        row.created_by,
        row.expires_at,
        row.revoked_at,
        row.last_used_at,
    )
