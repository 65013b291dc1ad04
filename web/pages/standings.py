"""One run: standings, rating history, payoff map, events; complete without script, live with `live.js`."""

from __future__ import annotations

from fastapi import APIRouter, Request
from fastapi.responses import HTMLResponse

from league.services import LeagueService, run_as_json
from web.login import Visitor
from web.services import League
from web.templating import templates

router = APIRouter(include_in_schema=False, default_response_class=HTMLResponse)


@router.get("/runs/{run_id}")
def standings_page(run_id: str, request: Request, league: League, who: Visitor) -> HTMLResponse:
    """The run's page."""
    return templates.TemplateResponse(request, "run.html", _run_context(run_id, league))


@router.get("/runs/{run_id}/live")
def live_part(run_id: str, request: Request, league: League, who: Visitor) -> HTMLResponse:
    """The parts of it that change, for its script."""
    return templates.TemplateResponse(request, "live.html", _run_context(run_id, league))


def _run_context(run_id: str, league: LeagueService) -> dict[str, object]:
    rows = league.standings(run_id)
    low = min((r.trueskill_mu - 3 * r.trueskill_sigma for r in rows), default=0.0)
    high = max((r.trueskill_mu + 3 * r.trueskill_sigma for r in rows), default=1.0)
    return {
        "tab": "Standings",
        "cooperative": league.is_cooperative(run_id),
        "run": run_as_json(league.run(run_id)),
        "standings": rows,
        "scale": (low, max(high - low, 1.0)),
        "events": league.latest_events(run_id),
        "now": league.latest_metrics(run_id),
    }
