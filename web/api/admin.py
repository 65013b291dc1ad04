"""Access, audit, webhooks, uploads and games."""

from __future__ import annotations

from dataclasses import asdict
from typing import Annotated

from fastapi import APIRouter, Path, Query, Request, Response
from starlette.concurrency import run_in_threadpool

from league.client.schemas import (
    AddWebhook,
    Audited,
    AuditList,
    CheckedConfig,
    Checkpoint,
    CreateToken,
    Game,
    GameList,
    LaunchRun,
    NewToken,
    NewWebhook,
    Token,
    TokenList,
    Webhook,
    WebhookList,
)
from league.errors import BadRequestError
from web.cursors import Cursor, Limit, decode, encode
from web.idempotency import IdempotencyKey, IdempotentRoute
from web.problems import responses
from web.services import Access, Admin, Control, League, Operator, Reader, Webhooks

router = APIRouter(route_class=IdempotentRoute)
# What must not be kept beside its key: answers that hold a secret.
secretive = APIRouter()

TokenId = Annotated[str, Path(pattern=r"^[0-9a-f]{12}$", examples=["0123456789ab"])]
BINARY = {"schema": {"type": "string", "format": "binary"}}


@router.get("/tokens", tags=["access"], responses=responses())
def list_tokens(access: Access, who: Admin) -> TokenList:
    """Access tokens, newest first, without themselves."""
    return TokenList(items=[Token(**asdict(t)) for t in access.tokens()])


@secretive.post("/tokens", tags=["access"], status_code=201, responses=responses())
def create_token(body: CreateToken, access: Access, who: Admin) -> NewToken:
    """Makes an access token: the only time that it is shown. With the first one, everybody needs one."""
    record, token = access.create(body.name, body.scope, body.expires, who)
    return NewToken(**asdict(record), token=token)


@router.post("/tokens/{token_id}/revoke", tags=["access"], responses=responses(404, 409))
def revoke_token(token_id: TokenId, access: Access, who: Admin, key: IdempotencyKey = None) -> Token:
    """Ends a token, within a second on every server."""
    return Token(**asdict(access.revoke(token_id, who)))


@router.get("/audit", tags=["access"], responses=responses())
def list_audit(access: Access, who: Admin, limit: Limit = 100, cursor: Cursor = None) -> AuditList:
    """Who did what, newest first."""
    before = decode(cursor, int)
    result = access.audited(limit + 1, before[0] if before else None)
    items = [
        Audited(id=a.id, at=a.at, by=a.actor, action=a.action, target=a.target, data=a.data)
        for a in result[:limit]
    ]
    return AuditList(items=items, next_cursor=encode(result[limit - 1].id) if len(result) > limit else None)


@router.get("/webhooks", tags=["webhooks"], responses=responses())
def list_webhooks(webhooks: Webhooks, who: Admin) -> WebhookList:
    """Where events are sent, without the secrets."""
    return WebhookList(items=[Webhook.of(w) for w in webhooks.all()])


@secretive.post("/webhooks", tags=["webhooks"], status_code=201, responses=responses(404))
def add_webhook(body: AddWebhook, webhooks: Webhooks, who: Admin) -> NewWebhook:
    """Sends events to a URL from now on, signed (Standard Webhooks), again until they arrive."""
    record, secret = webhooks.add(body.url, body.kinds, body.run, who)
    return NewWebhook(**Webhook.of(record).model_dump(), secret=secret)


@router.delete("/webhooks/{webhook_id}", tags=["webhooks"], status_code=204, responses=responses(404))
def delete_webhook(
    webhook_id: Annotated[str, Path(pattern=r"^[0-9a-f]{12}$")], webhooks: Webhooks, who: Admin
) -> None:
    """Sends no more."""
    webhooks.delete(webhook_id, who)


@router.post(
    "/checkpoints",
    tags=["players"],
    status_code=201,
    responses=responses(),
    openapi_extra={
        "requestBody": {"required": True, "content": {"application/octet-stream": BINARY}},
    },
)
async def upload_checkpoint(
    request: Request,
    control: Control,
    who: Operator,
    response: Response,
    network: Annotated[
        str,
        Query(
            max_length=4000,
            description="of safetensors that do not say it: the network as JSON",
            examples=['{"observation_size": 126, "num_actions": 7, "hidden": [128, 128]}'],
        ),
    ] = "",
    key: IdempotencyKey = None,
) -> Checkpoint:
    """Takes weights in: safetensors, ONNX, or (admin) TorchScript; never a pickle.

    Add a player by the sha256 that is answered.
    """
    data = await request.body()
    if not data:
        raise BadRequestError("the body is empty; send the file's bytes")
    sha, upload = await run_in_threadpool(control.upload, data, network or None, who)
    return Checkpoint(sha256=sha, kind=upload.kind, bytes=len(upload.data), summary=upload.summary)


@secretive.post("/configs/check", tags=["runs"], responses=responses())
def check_config(body: LaunchRun, control: Control, who: Reader) -> CheckedConfig:
    """Says whether a config would do, and who would be in it; launches nothing."""
    config = control.parse(body.config if body.config is not None else body.yaml or "", who)
    return CheckedConfig(game=config.game, players=[*config.roster(), *config.anchors])


@router.get("/games", tags=["games"], responses=responses(404))
def list_games(
    league: League,
    who: Reader,
    family: Annotated[str | None, Query(max_length=50, examples=["native"])] = None,
) -> GameList:
    """Games by id, those that need no parameters."""
    return GameList(items=league.games(family))


@router.get("/games/{game_id}", tags=["games"], responses=responses(404, 409))
def get_game(
    game_id: Annotated[str, Path(max_length=200, examples=["native:connect_four"])],
    league: League,
    control: Control,
    who: Reader,
) -> Game:
    """What a game is like."""
    control.require_allowed_code("game", game_id, who)
    return Game(**asdict(league.game(game_id)))
