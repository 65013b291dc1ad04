"""All runs, and the form that launches another."""

from __future__ import annotations

from typing import Any

from fastapi import APIRouter, Request
from fastapi.responses import HTMLResponse
from markupsafe import escape

from league.client.schemas import run_as_json
from league.config.presets import presets
from league.control.access import Scope
from league.control.services import LeagueService
from league.pool.records import RunRecord
from web.login import Visitor
from web.services import League
from web.templating import templates

router = APIRouter(include_in_schema=False, default_response_class=HTMLResponse)

SPARK_POINTS = 40


@router.get("/")
def index(request: Request, league: League, who: Visitor) -> HTMLResponse:
    """All runs."""
    context = {
        "runs": [_row(league, run) for run in league.runs()],
        "may_operate": who.scope >= Scope.operate,
    }
    return templates.TemplateResponse(request, "runs.html", context)


@router.get("/launch")
def launch_page(request: Request, league: League, who: Visitor) -> HTMLResponse:
    """A form for a new run, checked while it is written."""
    context = {
        "presets": presets(),
        "games": league.games(),
        "may_operate": who.scope >= Scope.operate,
    }
    return templates.TemplateResponse(request, "launch.html", context)


def _row(league: LeagueService, run: RunRecord) -> dict[str, Any]:
    rows = league.standings(run.id)
    rates = [m.get("moves_per_second", 0.0) for m in league.metrics(run.id)[-SPARK_POINTS:]]
    best = next((r.player for r in rows if r.role != "anchor" and r.state != "retired"), None)
    return {**run_as_json(run), "spark": _spark(rates), "best": best}


def _spark(rates: list[float]) -> str:
    """Returns a small line of the throughput over time."""
    if len(rates) < 2:
        return ""
    top = max(*rates, 1.0)
    points = " ".join(
        f"{100 * k / (len(rates) - 1):.1f},{19 - 18 * r / top:.1f}" for k, r in enumerate(rates)
    )
    label = escape(f"Moves a second, up to {top:,.0f}")
    return (
        f'<svg class="spark" viewBox="0 0 100 20" preserveAspectRatio="none" role="img" aria-label="{label}">'
        f'<polyline points="{points}"></polyline></svg>'
    )
