"""The pages: complete without script, kept live by `static/live.js`."""

from __future__ import annotations

from fastapi import APIRouter, Request
from fastapi.responses import HTMLResponse

from league.records import EventRecord
from league.services import LeagueService, run_as_json
from web.login import Visitor
from web.services import League
from web.templating import compact, templates

router = APIRouter(include_in_schema=False, default_response_class=HTMLResponse)


def _verification(event: EventRecord) -> str:
    holes = {"verify_exploiters": "exploiters that beat it", "verify_forgotten": "what it has forgotten"}
    hole = holes.get(event.data.get("branch", ""), "its weak spots")
    return f"{event.player} trains against {hole}, such as {event.data.get('opponent')}"


def _sentence(event: EventRecord) -> str:
    who = event.player or "the run"
    steps = compact(event.data.get("steps", 0))
    sentences = {
        "snapshot": f"{who} joined the pool, a copy of {event.data.get('parent')} at {steps} steps",
        "reset": f"{who} went back to its initial weights (generation {event.data.get('generation')})",
        "verification": _verification(event),
        "inherited": f"{who} goes on as a copy of {event.data.get('source')}",
        "bad_episode": f"an episode broke down: {event.data.get('reason')}",
        "run_started": f"the league began with {event.data.get('players')} players",
        "restarted": f"processes were restarted: {event.data.get('reason')}",
        "rolled_back": f"{who} diverged and went back to its last good weights: {event.data.get('reason')}",
    }
    by = f" by {event.actor}" if event.actor else ""
    return sentences.get(event.kind, f"{who}: {event.kind.replace('_', ' ')}{by}")


templates.env.filters["sentence"] = _sentence


@router.get("/")
def index(request: Request, league: League, who: Visitor) -> HTMLResponse:
    """All runs."""
    return templates.TemplateResponse(request, "runs.html", {"runs": [run_as_json(r) for r in league.runs()]})


@router.get("/runs/{run_id}")
def standings_page(run_id: str, request: Request, league: League, who: Visitor) -> HTMLResponse:
    """One run: standings, rating history, payoff map, events."""
    return templates.TemplateResponse(request, "run.html", _run_context(run_id, league))


@router.get("/runs/{run_id}/live")
def live_part(run_id: str, request: Request, league: League, who: Visitor) -> HTMLResponse:
    """The parts of a run's page that change, for its script."""
    return templates.TemplateResponse(request, "live.html", _run_context(run_id, league))


def _run_context(run_id: str, league: LeagueService) -> dict[str, object]:
    rows = league.standings(run_id)
    low = min((r.trueskill_mu - 3 * r.trueskill_sigma for r in rows), default=0.0)
    high = max((r.trueskill_mu + 3 * r.trueskill_sigma for r in rows), default=1.0)
    return {
        "cooperative": league.is_cooperative(run_id),
        "run": run_as_json(league.run(run_id)),
        "standings": rows,
        "scale": (low, max(high - low, 1.0)),
        "events": league.latest_events(run_id),
        "now": league.latest_metrics(run_id),
    }
