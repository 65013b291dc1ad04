"""Players: who is in the pool, who joins it, what becomes of them, and their policies for anybody's use."""

from __future__ import annotations

from dataclasses import asdict
from typing import Annotated, Any, Literal

import orjson
from fastapi import APIRouter, Path, Query, Request, Response
from fastapi.exceptions import RequestValidationError
from pydantic import ValidationError

from league.bootstrap import Services
from league.client.schemas import (
    Act,
    Acted,
    AddPlayer,
    Branch,
    Command,
    CommandList,
    EditPlayer,
    HeadToHead,
    Opponent,
    Player,
    PlayerList,
    RatingHistory,
    Rollback,
    Standing,
    System,
    player_as_json,
)
from league.control.access import Principal, Scope
from league.control.sources import NewPlayer
from league.pool.records import CommandRecord, PlayerRecord
from league.study.standings import Standing as StandingRow
from league.study.standings import standing_as_json
from web.api.runs import RunPath, rating_history
from web.cursors import Cursor, Limit, Words, decode, encode
from web.etags import IfMatch, etag_of, require_match
from web.idempotency import IdempotencyKey, IdempotentRoute
from web.problems import responses
from web.services import Control, League, Operator, Reader, who_asks

of_runs = APIRouter(prefix="/runs", tags=["players"], route_class=IdempotentRoute)
router = APIRouter(prefix="/players", tags=["players"], route_class=IdempotentRoute)
acting_router = APIRouter(prefix="/players", tags=["players"])

ID = r"^[A-Za-z0-9_-]{1,32}:[A-Za-z0-9][A-Za-z0-9._@:+-]{0,99}$"
PlayerPath = Annotated[str, Path(pattern=ID, description="RUN:NAME", examples=["1a2b3c4d:main.0"])]


def split(player_id: str) -> tuple[str, str]:
    """Returns the run and the name that a player's id is made of."""
    run_id, _, name = player_id.partition(":")
    return run_id, name


def player_etag(player: PlayerRecord) -> str:
    """Returns the ETag of what people can change of a player."""
    return etag_of(player.name, player.label, player.tags, player.state, player.role)


@of_runs.get("/{run_id}/players", response_model=PlayerList, responses=responses(404))
def list_players(
    run_id: RunPath,
    league: League,
    who: Reader,
    limit: Limit = 100,
    cursor: Cursor = None,
    role: Literal["main", "main_exploiter", "league_exploiter", "historical", "anchor", "guest"]
    | None = None,
    state: Literal["learning", "frozen", "retired"] | None = None,
    parent: Words = None,
    text: Annotated[Words, Query(description="a part of the name or label")] = None,
) -> Response:
    """A run's players in the order they joined."""
    after = decode(cursor, str)
    result = league.players(
        run_id,
        limit=limit + 1,
        after=after[0] if after else None,
        role=role,
        state=state,
        parent=parent,
        text=text,
    )
    more = encode(result[limit - 1].name) if len(result) > limit else None
    body = {"items": [player_as_json(run_id, p) for p in result[:limit]], "next_cursor": more}
    return Response(orjson.dumps(body), media_type="application/json")


@of_runs.post(
    "/{run_id}/players", status_code=201, responses={202: {"model": Command}, **responses(404, 409)}
)
def add_player(
    run_id: RunPath,
    body: AddPlayer,
    control: Control,
    who: Operator,
    response: Response,
    key: IdempotencyKey = None,
) -> Command:
    """Takes somebody into the pool as a guest, rated from then on: uploaded, copied, a bot, or remote."""
    new = NewPlayer(
        body.name,
        upload=body.checkpoint,
        source_run=body.source.run if body.source else None,
        source_player=body.source.player if body.source else None,
        bot=body.bot,
        search=body.search,
        url=body.url,
        label=body.label,
        tags=tuple(body.tags),
    )
    return _answer(run_id, control.add_player(run_id, new, who), response)


@of_runs.get("/{run_id}/commands", responses=responses(404))
def list_commands(
    run_id: RunPath, control: Control, who: Reader, limit: Limit = 50, cursor: Cursor = None
) -> CommandList:
    """What was asked of a run's players, newest first."""
    before = decode(cursor, int)
    result = control.commands(run_id, limit + 1, before[0] if before else None)
    more = encode(result[limit - 1].id) if len(result) > limit else None
    return CommandList(items=[Command.of(run_id, c) for c in result[:limit]], next_cursor=more)


@of_runs.get("/{run_id}/commands/{command_id}", responses=responses(404))
def get_command(
    run_id: RunPath, command_id: Annotated[int, Path(ge=1, lt=2**53)], control: Control, who: Reader
) -> Command:
    """Whether something asked for has been done."""
    return Command.of(run_id, control.command_of(run_id, command_id))


@router.get("/{player_id}", responses=responses(404))
def get_player(player_id: PlayerPath, league: League, who: Reader, response: Response) -> Player:
    """One player."""
    run_id, name = split(player_id)
    player = league.player(run_id, name)
    response.headers["ETag"] = player_etag(player)
    return Player.of(run_id, player)


@router.patch("/{player_id}", responses={202: {"model": Command}, **responses(404, 409, 412)})
def edit_player(
    player_id: PlayerPath,
    body: EditPlayer,
    league: League,
    control: Control,
    who: Operator,
    response: Response,
    if_match: IfMatch = None,
) -> Command:
    """Gives a player another label or other tags; null takes the label away."""
    run_id, name = split(player_id)
    require_match(if_match, player_etag(league.player(run_id, name)))
    data = {k: v for k, v in body.model_dump().items() if k in body.model_fields_set}
    if data.get("tags", ()) is None:
        data["tags"] = []
    return _command(control, player_id, "describe", data, who, response)


@router.post("/{player_id}/freeze", responses={202: {"model": Command}, **responses(404, 409)})
def freeze_player(
    player_id: PlayerPath, control: Control, who: Operator, response: Response, key: IdempotencyKey = None
) -> Command:
    """Ends a player's learning, until it is unfrozen; it goes on being matched."""
    return _command(control, player_id, "freeze", {}, who, response)


@router.post("/{player_id}/unfreeze", responses={202: {"model": Command}, **responses(404, 409)})
def unfreeze_player(
    player_id: PlayerPath, control: Control, who: Operator, response: Response, key: IdempotencyKey = None
) -> Command:
    """Lets a frozen learner go on with its optimiser's state."""
    return _command(control, player_id, "unfreeze", {}, who, response)


@router.post("/{player_id}/retire", responses={202: {"model": Command}, **responses(404, 409)})
def retire_player(
    player_id: PlayerPath, control: Control, who: Operator, response: Response, key: IdempotencyKey = None
) -> Command:
    """Takes a player out of every match from now on; its record stays."""
    return _command(control, player_id, "retire", {}, who, response)


@router.post("/{player_id}/pin", responses={202: {"model": Command}, **responses(404, 409)})
def pin_player(
    player_id: PlayerPath, control: Control, who: Operator, response: Response, key: IdempotencyKey = None
) -> Command:
    """Makes a frozen player an anchor, which ratings hang on."""
    return _command(control, player_id, "pin", {}, who, response)


@router.post("/{player_id}/unpin", responses={202: {"model": Command}, **responses(404, 409)})
def unpin_player(
    player_id: PlayerPath, control: Control, who: Operator, response: Response, key: IdempotencyKey = None
) -> Command:
    """Makes an anchor what it was before."""
    return _command(control, player_id, "unpin", {}, who, response)


@router.post("/{player_id}/rollback", responses={202: {"model": Command}, **responses(404, 409)})
def roll_player_back(
    player_id: PlayerPath,
    body: Rollback,
    control: Control,
    who: Operator,
    response: Response,
    key: IdempotencyKey = None,
) -> Command:
    """Lets a learner go on from older weights, with a fresh optimiser and a rating begun anew."""
    return _command(control, player_id, "rollback", {"source": body.to}, who, response)


@router.post(
    "/{player_id}/branch", status_code=201, responses={202: {"model": Command}, **responses(404, 409)}
)
def branch_player(
    player_id: PlayerPath,
    body: Branch,
    control: Control,
    who: Operator,
    response: Response,
    key: IdempotencyKey = None,
) -> Command:
    """Copies a player: one that stays as it is, or one that goes on learning from there."""
    run_id, name = split(player_id)
    command = control.branch(
        run_id, name, who, name=body.name, learn=body.learn, role=body.role, share=body.share
    )
    return _answer(run_id, command, response)


@router.get(
    "/{player_id}/checkpoint",
    response_class=Response,
    responses={
        200: {"content": {"application/octet-stream": {"schema": {"type": "string", "format": "binary"}}}},
        **responses(404),
    },
)
def get_checkpoint(player_id: PlayerPath, control: Control, who: Reader) -> Response:
    """The player's weights: safetensors with the network's description in the header."""
    run_id, name = split(player_id)
    data = control.download(run_id, name)
    plain = name.replace(":", "_")
    headers = {"Content-Disposition": f'attachment; filename="{run_id}-{plain}.safetensors"'}
    return Response(data, media_type="application/octet-stream", headers=headers)


@router.get("/{player_id}/standing", response_model=Standing, responses=responses(404))
def get_standing(player_id: PlayerPath, league: League, who: Reader) -> dict[str, Any]:
    """The player's row of the standings."""
    run_id, name = split(player_id)
    row: StandingRow = league.standing(run_id, name)
    return standing_as_json(row)


@router.get("/{player_id}/ratings", responses=responses(404))
def get_player_ratings(
    player_id: PlayerPath, league: League, who: Reader, system: System = "trueskill"
) -> RatingHistory:
    """The player's rating over time."""
    run_id, name = split(player_id)
    league.player(run_id, name)
    return rating_history(league, run_id, system, [name])


@router.get("/{player_id}/opponents", responses=responses(404))
def get_opponents(player_id: PlayerPath, league: League, who: Reader) -> HeadToHead:
    """What the player scored against everybody it has met, most games first."""
    result = league.head_to_head(*split(player_id))
    return HeadToHead(items=[Opponent(**asdict(o)) for o in result])


@router.get("/{player_id}/lineage", responses=responses(404))
def get_lineage(player_id: PlayerPath, league: League, who: Reader) -> PlayerList:
    """The player and whom it was copied from, back to the beginning."""
    run_id, name = split(player_id)
    return PlayerList(items=[Player.of(run_id, p) for p in league.lineage(run_id, name)])


@acting_router.post(
    "/{player_id}/act",
    response_model=Acted,
    responses=responses(404, 409),
    openapi_extra={
        "security": [{"token": []}],
        "requestBody": {
            "required": True,
            "content": {"application/json": {"schema": Act.model_json_schema()}},
        },
    },
)
async def act(player_id: PlayerPath, request: Request) -> Response:
    """What the player would do: for using it outside the league. All rows of a request are one batch."""
    # Asked thousands of times a second, so it goes around what FastAPI does for the others.
    services: Services = request.app.state.services
    await who_asks(request, services, Scope.read)
    try:
        body = Act.model_validate_json(await request.body())
    except ValidationError as error:
        raise RequestValidationError(_located(error)) from error
    run_id, name = split(player_id)
    moves = await services.acting.act(
        run_id, name, body.observation, body.legal, body.temperature, body.memory
    )
    answer: dict[str, Any] = {"actions": moves.actions.tolist()}
    if moves.memory.shape[1]:
        answer["memory"] = moves.memory.tolist()
    if body.details:
        answer["values"] = moves.values.round(6).tolist()
        answer["probabilities"] = moves.probabilities.round(6).tolist()
    return Response(orjson.dumps(answer), media_type="application/json")


def _located(error: ValidationError) -> list[dict[str, Any]]:
    """Returns a body's errors as FastAPI tells them."""
    errors = error.errors(include_url=False, include_input=False, include_context=False)
    return [{**e, "loc": ("body", *e["loc"])} for e in errors]


def _command(
    control: Control, player_id: str, kind: str, data: dict[str, Any], who: Principal, response: Response
) -> Command:
    run_id, name = split(player_id)
    return _answer(run_id, control.command(run_id, kind, name, data, who), response)


def _answer(run_id: str, command: CommandRecord, response: Response) -> Command:
    """Says done, or where to look whether it is."""
    if command.state == "pending":
        response.status_code = 202
        response.headers["Location"] = f"/api/v1/runs/{run_id}/commands/{command.id}"
    return Command.of(run_id, command)
