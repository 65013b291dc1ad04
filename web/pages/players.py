"""A player: record, rating, opponents, lineage, and what can be done to it; and the tree of all."""

from __future__ import annotations

from typing import Any

from fastapi import APIRouter, Request
from fastapi.responses import HTMLResponse

from league.access import Scope
from league.services import run_as_json
from web.login import Visitor
from web.services import League
from web.templating import templates

router = APIRouter(include_in_schema=False, default_response_class=HTMLResponse)

FEWEST_GAMES = 16
LEFT, LANE, TOP = 150, 34, 30


@router.get("/runs/{run_id}/players/{name}")
def player_page(run_id: str, name: str, request: Request, league: League, who: Visitor) -> HTMLResponse:
    """One player."""
    player, opponents = league.player(run_id, name), league.head_to_head(run_id, name)
    known = sorted((o for o in opponents if o.games >= FEWEST_GAMES), key=lambda o: o.score)
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


@router.get("/runs/{run_id}/lineage")
def lineage_page(run_id: str, request: Request, league: League, who: Visitor) -> HTMLResponse:
    """A lane for each learner, a dot for each copy of it, over its steps."""
    rows = league.standings(run_id)
    ratings = [r.trueskill_mu for r in rows] or [0.0]
    low, spread = min(ratings), max(max(ratings) - min(ratings), 1e-9)
    most = max((r.steps for r in rows), default=0) or 1
    width = 1100
    lanes: list[dict[str, Any]] = []
    learners = [r for r in rows if r.role in ("main", "main_exploiter", "league_exploiter")]
    learners.sort(key=lambda r: r.player)
    others = {r.player: r for r in rows}
    heights = {r.player: TOP + LANE * k for k, r in enumerate(learners)}
    for learner in learners:
        members = [learner, *(r for r in rows if r.parent == learner.player and r.player not in heights)]
        parent = others.get(learner.parent or "")
        origin = parent.player if parent and parent.player in heights else parent.parent if parent else None
        lanes.append(
            {
                "name": learner.player,
                "role": learner.role,
                "y": heights[learner.player],
                "from_y": heights.get(origin or ""),
                "dots": [
                    {
                        "name": r.player,
                        "x": round(LEFT + (width - LEFT - 30) * r.steps / most, 1),
                        "r": round(4 + 6 * (r.trueskill_mu - low) / spread, 1),
                        "steps": r.steps,
                        "mu": r.trueskill_mu,
                        "state": r.state,
                    }
                    for r in members
                ],
            }
        )
    context = {
        "tab": "Lineage",
        "run": run_as_json(league.run(run_id)),
        "rows": lanes,
        "width": width,
        "height": TOP + LANE * max(len(lanes), 1),
        "count": sum(len(lane["dots"]) for lane in lanes),
    }
    return templates.TemplateResponse(request, "lineage.html", context)
