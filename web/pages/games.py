"""What was played, and playing oneself: matches, replays, games against a player, events."""

from __future__ import annotations

from typing import Annotated, Any
from urllib.parse import urlencode

from fastapi import APIRouter, Query, Request
from fastapi.responses import HTMLResponse

from league.client.schemas import Match, run_as_json
from league.control.access import Scope
from league.errors import BadRequestError
from web.cursors import PLAIN, decode, encode
from web.login import Visitor
from web.services import League, Plays
from web.templating import templates

router = APIRouter(include_in_schema=False, default_response_class=HTMLResponse)

ROWS = 50
Words = Annotated[str | None, Query(max_length=200, pattern=PLAIN)]


@router.get("/runs/{run_id}/matches")
def matches_page(
    run_id: str,
    request: Request,
    league: League,
    who: Visitor,
    player: Words = None,
    opponent: Words = None,
    purpose: Words = None,
    outcome: Words = None,
    cursor: Words = None,
) -> HTMLResponse:
    """Series, newest first, by filters that are in the address."""
    given = {"player": player, "opponent": opponent, "purpose": purpose, "outcome": outcome}
    asked = {k: v for k, v in given.items() if v}
    result, error, more = [], None, None
    if asked.get("outcome", "won") not in ("won", "drawn", "lost"):
        error = "Outcome: won, drawn or lost."
    elif "player" not in asked and ("opponent" in asked or "outcome" in asked):
        error = "Opponent and outcome go with a player: name one."
    else:
        try:
            place = decode(cursor, float, int, int)
        except BadRequestError as bad:
            place, error = None, str(bad)
        before = None if place is None else (place[0], place[1], place[2])
        result = league.matches(run_id, limit=ROWS + 1, before=before, **asked)
        if len(result) > ROWS:
            last = result[ROWS - 1]
            more = urlencode({**asked, "cursor": encode(last.at, last.series.number, last.series.pair)})
    context = {
        "tab": "Matches",
        "run": run_as_json(league.run(run_id)),
        "matches": [Match.as_json(m) for m in result[:ROWS]],
        "asked": asked,
        "error": error,
        "more": more,
        "names": [row.player for row in league.standings(run_id)[:300]],
    }
    return templates.TemplateResponse(request, "matches.html", context)


@router.get("/runs/{run_id}/games")
def games_page(
    run_id: str, request: Request, league: League, who: Visitor, player: Words = None
) -> HTMLResponse:
    """Games that were written down, newest first."""
    context = {
        "tab": "Games",
        "run": run_as_json(league.run(run_id)),
        "games": league.episodes(run_id, limit=100, player=player or None),
        "asked": player,
    }
    return templates.TemplateResponse(request, "games.html", context)


@router.get("/runs/{run_id}/games/{episode_id}")
def replay_page(
    run_id: str, episode_id: int, request: Request, league: League, plays: Plays, who: Visitor
) -> HTMLResponse:
    """One game, to step through."""
    game = league.episode(run_id, episode_id)
    moves = game.moves or []
    positions = plays.positions(run_id, moves)
    shown: list[dict[str, Any]] = []
    for k, move in enumerate(moves):
        names = positions[k]["names"] if k < len(positions) else {}
        slim = {key: value for key, value in move.items() if key != "observation"}
        shown.append({**slim, "shown": names.get(str(move["action"]), move["action"])})
    context = {
        "tab": "Games",
        "run": run_as_json(league.run(run_id)),
        "game": game,
        "moves": shown,
        "positions": positions,
    }
    return templates.TemplateResponse(request, "replay.html", context)


@router.get("/runs/{run_id}/play")
def play_page(
    run_id: str, request: Request, league: League, plays: Plays, who: Visitor, player: Words = None
) -> HTMLResponse:
    """A game against a player."""
    names = [r.player for r in league.standings(run_id) if r.state != "retired" and r.role != "guest"]
    reason = plays.reason_not_to_play(run_id)
    if who.scope < Scope.operate:
        reason = "Playing writes games down, which needs a token of the scope operate."
    context = {
        "tab": "Play",
        "run": run_as_json(league.run(run_id)),
        "names": names,
        "chosen": player or (names[0] if names else None),
        "reason": reason,
    }
    return templates.TemplateResponse(request, "play.html", context)


@router.get("/runs/{run_id}/events")
def events_page(
    run_id: str, request: Request, league: League, who: Visitor, kind: Words = None, player: Words = None
) -> HTMLResponse:
    """What has happened, newest first, and what happens."""
    kinds = (kind,) if kind else ()
    every = league.past_events(run_id, limit=500)
    context = {
        "tab": "Events",
        "run": run_as_json(league.run(run_id)),
        "events": league.past_events(run_id, limit=200, kinds=kinds, player=player or None),
        "kinds": sorted({e.kind for e in every}),
        "asked": {"kind": kind, "player": player},
    }
    return templates.TemplateResponse(request, "events.html", context)
