"""A person against a player, move by move."""

from __future__ import annotations

from typing import Annotated, Any

from fastapi import APIRouter, Path, Response

from league.client.schemas import BeginPlay, Hint, MakeMove, Play
from league.serving.playing import view_as_json
from web.api.runs import RunPath
from web.idempotency import IdempotencyKey, IdempotentRoute
from web.problems import responses
from web.services import Operator, Plays, Reader

router = APIRouter(tags=["play"], route_class=IdempotentRoute)

PlayPath = Annotated[str, Path(pattern=r"^[0-9a-f]{16}$", examples=["0123456789abcdef"])]


@router.post("/runs/{run_id}/plays", status_code=201, response_model=Play, responses=responses(404, 409))
def begin_play(
    run_id: RunPath,
    body: BeginPlay,
    plays: Plays,
    who: Operator,
    response: Response,
    key: IdempotencyKey = None,
) -> dict[str, Any]:
    """Begins a game against a player, in either seat. A rated one becomes a result of the run."""
    view = plays.begin(run_id, body.player, body.name, body.seat, body.rated, who)
    response.headers["Location"] = f"/api/v1/plays/{view.play.id}"
    return view_as_json(view)


@router.get("/plays/{play_id}", response_model=Play, responses=responses(404))
def get_play(play_id: PlayPath, plays: Plays, who: Reader) -> dict[str, Any]:
    """A game as it stands."""
    return view_as_json(plays.get(play_id))


@router.post("/plays/{play_id}/moves", response_model=Play, responses=responses(404, 409))
def make_move(
    play_id: PlayPath, body: MakeMove, plays: Plays, who: Operator, key: IdempotencyKey = None
) -> dict[str, Any]:
    """Plays your move and the player's answer."""
    return view_as_json(plays.move(play_id, body.action))


@router.post("/plays/{play_id}/undo", response_model=Play, responses=responses(404, 409))
def undo_move(play_id: PlayPath, plays: Plays, who: Operator, key: IdempotencyKey = None) -> dict[str, Any]:
    """Takes your last move back, in a game that is not rated."""
    return view_as_json(plays.undo(play_id))


@router.post("/plays/{play_id}/resign", response_model=Play, responses=responses(404, 409))
def resign(play_id: PlayPath, plays: Plays, who: Operator, key: IdempotencyKey = None) -> dict[str, Any]:
    """Gives the game up."""
    return view_as_json(plays.resign(play_id))


@router.get("/plays/{play_id}/hint", response_model=Hint, responses=responses(404, 409))
def get_hint(play_id: PlayPath, plays: Plays, who: Reader) -> dict[str, Any]:
    """What the player would do in your place, in a game that is not rated."""
    return plays.hint(play_id)
