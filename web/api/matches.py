"""What was played: series, games move by move, and tournaments that somebody asks for."""

from __future__ import annotations

from typing import Annotated, Literal

import orjson
from fastapi import APIRouter, Path, Query, Response

from league.client.schemas import (
    PLAYER_NAME,
    AskTournament,
    Episode,
    EpisodeList,
    Match,
    MatchList,
    Replay,
    Tournament,
    TournamentList,
)
from league.errors import BadRequestError
from web.api.runs import RunPath
from web.cursors import Cursor, Limit, decode, encode
from web.idempotency import IdempotencyKey, IdempotentRoute
from web.problems import responses
from web.services import Control, League, Operator, Reader

router = APIRouter(tags=["matches"], route_class=IdempotentRoute)

Who = Annotated[str | None, Query(pattern=PLAYER_NAME)]
Moment = Annotated[float | None, Query(ge=0, le=1e11, description="seconds since 1970")]
Number = Annotated[int, Path(ge=1, lt=2**53)]


@router.get("/runs/{run_id}/matches", response_model=MatchList, responses=responses(404))
def list_matches(
    run_id: RunPath,
    league: League,
    who: Reader,
    limit: Limit = 100,
    cursor: Cursor = None,
    player: Who = None,
    opponent: Annotated[str | None, Query(pattern=PLAYER_NAME, description="with player")] = None,
    purpose: Literal["training", "evaluation"] | None = None,
    outcome: Annotated[
        Literal["won", "drawn", "lost"] | None, Query(description="on the whole, for player")
    ] = None,
    since: Moment = None,
    until: Moment = None,
) -> Response:
    """Series of a run, newest first."""
    if player is None and (opponent is not None or outcome is not None):
        raise BadRequestError("opponent and outcome need player")
    before = decode(cursor, float, int, int)
    result = league.matches(
        run_id,
        limit=limit + 1,
        before=None if before is None else (before[0], before[1], before[2]),
        player=player,
        opponent=opponent,
        purpose=purpose,
        outcome=outcome,
        since=since,
        until=until,
    )
    last = result[limit - 1] if len(result) > limit else None
    body = {
        "items": [Match.as_json(m) for m in result[:limit]],
        "next_cursor": encode(last.at, last.series.number, last.series.pair) if last else None,
    }
    return Response(orjson.dumps(body), media_type="application/json")


@router.get("/runs/{run_id}/episodes", responses=responses(404))
def list_episodes(
    run_id: RunPath, league: League, who: Reader, limit: Limit = 50, cursor: Cursor = None, player: Who = None
) -> EpisodeList:
    """Games that were written down, newest first: one every few seconds, the last 500 of a run."""
    before = decode(cursor, int)
    result = league.episodes(run_id, limit=limit + 1, before=before[0] if before else None, player=player)
    more = encode(result[limit - 1].id) if len(result) > limit else None
    return EpisodeList(items=[Episode.of(e) for e in result[:limit]], next_cursor=more)


@router.get("/runs/{run_id}/episodes/{episode_id}", responses=responses(404))
def get_episode(run_id: RunPath, episode_id: Number, league: League, who: Reader) -> Replay:
    """A game move by move, with what the players thought of it."""
    return Replay.of(league.episode(run_id, episode_id))


@router.post("/runs/{run_id}/tournaments", status_code=201, responses=responses(404))
def ask_tournament(
    run_id: RunPath,
    body: AskTournament,
    control: Control,
    who: Operator,
    response: Response,
    key: IdempotencyKey = None,
) -> Tournament:
    """Asks for games between players: a match between two, or a tournament of many; follow it by its id.

    They are kept apart from the league's own: no rating moves.
    """
    rules = body.model_dump(include={"form", "players", "opponents", "rounds", "greedy", "seed"})
    rules["stop"] = {
        "precision": body.precision,
        "confidence": body.confidence,
        "min_games": min(32, body.max_games),
        "max_games": body.max_games,
        "until_decided": body.decide,
    }
    asked = control.ask_tournament(run_id, rules, who)
    response.headers["Location"] = f"/api/v1/tournaments/{asked.id}"
    return Tournament.of(asked)


@router.get("/runs/{run_id}/tournaments", responses=responses(404))
def list_tournaments(
    run_id: RunPath, league: League, who: Reader, limit: Limit = 50, cursor: Cursor = None
) -> TournamentList:
    """Tournaments of a run, newest first."""
    before = decode(cursor, int)
    result = league.tournaments_page(run_id, limit + 1, before[0] if before else None)
    more = encode(result[limit - 1].id) if len(result) > limit else None
    return TournamentList(items=[Tournament.of(t) for t in result[:limit]], next_cursor=more)


@router.get("/tournaments/{tournament_id}", responses=responses(404))
def get_tournament(tournament_id: Number, league: League, who: Reader) -> Tournament:
    """A tournament as far as it has been played."""
    return Tournament.of(league.tournament_record(tournament_id))


@router.post("/tournaments/{tournament_id}/cancel", responses=responses(404, 409))
def cancel_tournament(
    tournament_id: Number, control: Control, who: Operator, key: IdempotencyKey = None
) -> Tournament:
    """Breaks a tournament off; what has been played is kept."""
    return Tournament.of(control.cancel_tournament(tournament_id, who))
