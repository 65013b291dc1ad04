"""The pages: complete without script, kept live by `static/live.js`."""

from __future__ import annotations

import datetime
from importlib.resources import files

from fastapi import APIRouter, Request
from fastapi.responses import HTMLResponse
from fastapi.templating import Jinja2Templates

from league.records import EventRecord
from league.services import run_as_json
from web.service import Service

router = APIRouter(include_in_schema=False, default_response_class=HTMLResponse)
templates = Jinja2Templates(directory=str(files("web") / "templates"))


def _duration(seconds: float) -> str:
    minutes, rest = divmod(int(seconds), 60)
    hours, minutes = divmod(minutes, 60)
    return f"{hours}:{minutes:02d}:{rest:02d}" if hours else f"{minutes}:{rest:02d}"


def _clock(at: float) -> str:
    return datetime.datetime.fromtimestamp(at).strftime("%H:%M:%S")


def _compact(number: float) -> str:
    for size, unit in ((1e9, "G"), (1e6, "M"), (1e3, "k")):
        if number >= size:
            return f"{number / size:.{1 if number < 100 * size else 0}f} {unit}"
    return f"{number:.0f}"


def _verification(event: EventRecord) -> str:
    holes = {"verify_exploiters": "exploiters that beat it", "verify_forgotten": "what it has forgotten"}
    hole = holes.get(event.data.get("branch", ""), "its weak spots")
    return f"{event.player} trains against {hole}, such as {event.data.get('opponent')}"


def _sentence(event: EventRecord) -> str:
    who = event.player or "the run"
    steps = _compact(event.data.get("steps", 0))
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
    return sentences.get(event.kind, f"{who}: {event.kind.replace('_', ' ')}")


templates.env.filters |= {"duration": _duration, "clock": _clock, "compact": _compact, "sentence": _sentence}


@router.get("/")
def index(request: Request, service: Service) -> HTMLResponse:
    """All runs."""
    return templates.TemplateResponse(
        request, "runs.html", {"runs": [run_as_json(r) for r in service.runs()]}
    )


@router.get("/runs/{run_id}")
def standings_page(run_id: str, request: Request, service: Service) -> HTMLResponse:
    """One run: standings, rating history, payoff map, events."""
    return templates.TemplateResponse(request, "run.html", _run_context(run_id, service))


@router.get("/runs/{run_id}/live")
def live_part(run_id: str, request: Request, service: Service) -> HTMLResponse:
    """The parts of a run's page that change, for its script."""
    return templates.TemplateResponse(request, "live.html", _run_context(run_id, service))


def _run_context(run_id: str, service: Service) -> dict[str, object]:
    rows = service.standings(run_id)
    low = min((r.trueskill_mu - 3 * r.trueskill_sigma for r in rows), default=0.0)
    high = max((r.trueskill_mu + 3 * r.trueskill_sigma for r in rows), default=1.0)
    return {
        "cooperative": service.is_cooperative(run_id),
        "run": run_as_json(service.run(run_id)),
        "standings": rows,
        "scale": (low, max(high - low, 1.0)),
        "events": service.latest_events(run_id),
        "now": service.latest_metrics(run_id),
    }
