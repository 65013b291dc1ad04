"""Access tokens, the audit log, webhooks, games, checkpoints, health."""

from __future__ import annotations

from typing import Annotated, Any, Literal

from pydantic import BaseModel, Field, StringConstraints

from league.client.schemas.base import Request, RunId, Text
from league.pool.records import WebhookRecord


class Checkpoint(BaseModel):
    """Uploaded weights. `kind`: safetensors, onnx or torchscript."""

    sha256: str
    kind: str
    bytes: int
    summary: dict[str, Any]


class CreateToken(Request):
    """An access token to make."""

    name: Text = Field(examples=["ci"])
    scope: Literal["read", "operate", "admin"]
    expires: str | None = Field(
        None, pattern=r"^[1-9]\d{0,5}[smhdw]$", description="from now; never by default", examples=["30d"]
    )


class Token(BaseModel):
    """An access token: everything but itself."""

    id: str
    name: str
    scope: str
    created_at: float
    created_by: str
    expires_at: float | None
    revoked_at: float | None
    last_used_at: float | None


class NewToken(Token):
    """A token just made: `token` is shown this once."""

    token: str


class TokenList(BaseModel):
    items: list[Token]


class Audited(BaseModel):
    """Something that somebody did by the control plane."""

    id: int
    at: float
    by: str
    action: str
    target: str
    data: dict[str, Any]


class AuditList(BaseModel):
    items: list[Audited]
    next_cursor: str | None = None


class AddWebhook(Request):
    """Where to send events."""

    url: str = Field(max_length=2000, examples=["https://example.org/hooks/league"])
    kinds: Annotated[
        list[Annotated[str, StringConstraints(pattern=r"^[a-z_]{1,32}$")]], Field(max_length=50)
    ] = Field(default=[], description="which events; all by default", examples=[["snapshot", "retired"]])
    run: RunId | None = Field(None, description="only this run's")


class Webhook(BaseModel):
    """A receiver of events; `last_error` says why the last try failed."""

    id: str
    url: str
    kinds: list[str]
    run: str | None
    created_at: float
    created_by: str
    delivered: int
    failures: int
    last_error: str | None

    @classmethod
    def of(cls, w: WebhookRecord) -> Webhook:
        return cls(
            id=w.id, url=w.url, kinds=list(w.kinds), run=w.run_id, created_at=w.created_at,
            created_by=w.created_by, delivered=w.delivered, failures=w.failures, last_error=w.last_error,
        )  # fmt: skip


class NewWebhook(Webhook):
    """A webhook just made: `secret` is shown this once."""

    secret: str


class WebhookList(BaseModel):
    items: list[Webhook]


class GameList(BaseModel):
    items: list[str]


class Game(BaseModel):
    """What a game is like; `sides` names the seats of each team."""

    game_id: str
    seats: int
    sides: list[list[str]]
    observation: list[int]
    dtype: str
    actions: list[int]
    turns: str
    zero_sum: bool
    outcome: str


class Health(BaseModel):
    status: str


class CheckedConfig(BaseModel):
    """A config that would do: its game, and who would be in the pool at the beginning."""

    game: str
    players: list[str]
