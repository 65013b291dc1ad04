"""A player: record, rating, opponents, lineage, config, and what can be done to it."""

from __future__ import annotations

import yaml
from fastapi import APIRouter, Request
from fastapi.responses import HTMLResponse

from league.client.schemas import run_as_json
from league.control.access import Scope
from league.study.payoffs import weakest_against
from web.login import Visitor
from web.services import League
from web.templating import templates

router = APIRouter(include_in_schema=False, default_response_class=HTMLResponse)

FEWEST_GAMES = 16


@router.get("/runs/{run_id}/players/{name}")
def player_page(run_id: str, name: str, request: Request, league: League, who: Visitor) -> HTMLResponse:
    """One player."""
    player, opponents = league.player(run_id, name), league.head_to_head(run_id, name)
    config = league.config_of(run_id, name)
    known = weakest_against(o for o in opponents if o.games >= FEWEST_GAMES)
    context = {
        "tab": "",
        "run": run_as_json(league.run(run_id)),
        "id": f"{run_id}:{name}",
        "p": player,
        "row": league.standing(run_id, name),
        "opponents": opponents,
        "lineage": league.lineage(run_id, name),
        "worst": known[0] if known else None,
        "best": known[-1] if known else None,
        "config": yaml.safe_dump(config, sort_keys=False, allow_unicode=True) if config else None,
        "learnt": player.learner_state is not None,
        "may_operate": who.scope >= Scope.operate,
    }
    return templates.TemplateResponse(request, "player.html", context)


@router.get("/runs/{run_id}/players/{first}/against/{second}")
def against_page(
    run_id: str, first: str, second: str, request: Request, league: League, who: Visitor
) -> HTMLResponse:
    """What one player got against another."""
    context = {
        "tab": "Payoffs",
        "run": run_as_json(league.run(run_id)),
        "first": first,
        "second": second,
        "pair": league.pair(run_id, first, second),
    }
    return templates.TemplateResponse(request, "against.html", context)
