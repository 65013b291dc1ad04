"""One run: standings, rating history, payoff map, events; complete without script, live with `live.js`."""

from __future__ import annotations

import csv
import io
from dataclasses import dataclass
from typing import Annotated
from urllib.parse import urlencode

from fastapi import APIRouter, Depends, Query, Request, Response
from fastapi.responses import HTMLResponse

from league.services import LeagueService, Standing, run_as_json
from web.cursors import PLAIN
from web.login import Visitor
from web.services import League
from web.templating import templates

ROWS = 200
MAP_PLAYERS = 500
SYSTEMS = {
    "": "TrueSkill",
    "elo": "Elo",
    "bradley_terry": "Bradley–Terry",
    "nash": "Nash share",
    "win_rate": "win rate",
}
ROLES = ("main", "main_exploiter", "league_exploiter", "historical", "anchor", "guest")
STATES = ("learning", "frozen", "retired")
Words = Annotated[str, Query(max_length=100, pattern=PLAIN)]


@dataclass(frozen=True)
class Filter:
    """Which players are shown, in which order, from where: all of it in the address."""

    role: Words = ""
    state: Words = ""
    text: Words = ""
    by: Words = ""
    begin: Annotated[int, Query(ge=0, le=1_000_000)] = 0

    def choose(self, rows: list[Standing]) -> list[Standing]:
        """Returns the rows that fit, best first by the system asked for."""
        text = self.text.lower()
        found = [
            row
            for row in rows
            if self.role in ("", row.role)
            and self.state in ("", row.state)
            and (text in row.player.lower() or text in (row.label or "").lower())
        ]
        if self.by in SYSTEMS and self.by:
            found.sort(
                key=lambda row: -(getattr(row, self.by) if getattr(row, self.by) is not None else -1e9)
            )
        return found

    def link(self, begin: int) -> str:
        """Returns the address of another part of the same."""
        given = {"role": self.role, "state": self.state, "text": self.text, "by": self.by}
        return "?" + urlencode({k: v for k, v in given.items() if v} | {"begin": max(0, begin)})


Asked = Annotated[Filter, Depends()]
router = APIRouter(include_in_schema=False, default_response_class=HTMLResponse)


@router.get("/runs/{run_id}")
def standings_page(run_id: str, request: Request, league: League, who: Visitor, asked: Asked) -> HTMLResponse:
    """The run's page."""
    return templates.TemplateResponse(request, "run.html", _run_context(run_id, league, asked))


@router.get("/runs/{run_id}/live")
def live_part(run_id: str, request: Request, league: League, who: Visitor, asked: Asked) -> HTMLResponse:
    """The parts of it that change, for its script."""
    return templates.TemplateResponse(request, "live.html", _run_context(run_id, league, asked))


@router.get("/runs/{run_id}/charts")
def charts_page(run_id: str, request: Request, league: League, who: Visitor) -> HTMLResponse:
    """Throughput and losses over the run."""
    context = {"tab": "Charts", "run": run_as_json(league.run(run_id))}
    return templates.TemplateResponse(request, "charts.html", context)


@router.get("/runs/{run_id}/payoffs")
def payoffs_page(
    run_id: str,
    request: Request,
    league: League,
    who: Visitor,
    limit: Annotated[int, Query(ge=1, le=2000)] = MAP_PLAYERS,
) -> HTMLResponse:
    """Who beats whom, as a map."""
    count = len(league.standings(run_id))
    context = {
        "tab": "Payoffs",
        "run": run_as_json(league.run(run_id)),
        "limit": min(limit, count),
        "count": count,
    }
    return templates.TemplateResponse(request, "payoffs.html", context)


@router.get("/runs/{run_id}/standings.csv")
def standings_csv(run_id: str, league: League, who: Visitor) -> Response:
    """The whole standings as a table for other programs."""
    out = io.StringIO()
    rows = league.standings_json(run_id)
    writer = csv.DictWriter(out, list(rows[0]) if rows else ["rank", "player"])
    writer.writeheader()
    writer.writerows({**row, "tags": " ".join(row["tags"])} for row in rows)
    headers = {"Content-Disposition": f'attachment; filename="{run_id}-standings.csv"'}
    return Response(out.getvalue(), media_type="text/csv; charset=utf-8", headers=headers)


def _run_context(run_id: str, league: LeagueService, asked: Filter) -> dict[str, object]:
    every = league.standings(run_id)
    wanted = asked.choose(every)
    rows = wanted[asked.begin : asked.begin + ROWS]
    low = min((r.trueskill_mu - 3 * r.trueskill_sigma for r in rows), default=0.0)
    high = max((r.trueskill_mu + 3 * r.trueskill_sigma for r in rows), default=1.0)
    return {
        "tab": "Standings",
        "cooperative": league.is_cooperative(run_id),
        "run": run_as_json(league.run(run_id)),
        "standings": rows,
        "asked": asked,
        "found": len(wanted),
        "pool": len(every),
        "systems": SYSTEMS,
        "roles": ROLES,
        "states": STATES,
        "earlier": asked.link(asked.begin - ROWS) if asked.begin else None,
        "later": asked.link(asked.begin + ROWS) if asked.begin + ROWS < len(wanted) else None,
        "scale": (low, max(high - low, 1.0)),
        "events": league.latest_events(run_id),
        "now": league.latest_metrics(run_id),
    }
