"""One run: standings, rating history, payoff map, events; complete without script, live with `live.js`."""

from __future__ import annotations

import csv
import io
import time
from dataclasses import dataclass
from typing import Annotated
from urllib.parse import urlencode

from fastapi import APIRouter, Depends, Query, Request, Response
from fastapi.responses import HTMLResponse

from league.client.schemas import run_as_json
from league.control.services import LeagueService
from league.study.standings import Standing, ordered_by, superiority
from matchmaking.ratings.base import Rating
from web.cursors import PLAIN
from web.login import Visitor
from web.services import League
from web.templating import templates

ROWS = 200
MAP_PLAYERS = 500
# A process that has said nothing for so long is not well.
LATE_SECONDS = 10.0
# What the rows can be ordered by, and whether the most come first.
ORDERS = {
    "": ("TrueSkill", True),
    "trueskill_mu": ("TrueSkill μ", True),
    "elo": ("Elo", True),
    "bradley_terry": ("Bradley–Terry", True),
    "nash": ("Nash share", True),
    "alpha_rank": ("α-Rank share", True),
    "win_rate": ("win rate", True),
    "first_seat": ("score in the first seat", True),
    "second_seat": ("score in the second seat", True),
    "games": ("games", True),
    "steps": ("steps", True),
    "movement": ("movement", True),
    "created_at": ("age, newest first", True),
    "player": ("name", False),
}
COMPARED = 6
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
        result = [
            row
            for row in rows
            if self.role in ("", row.role)
            and self.state in ("", row.state)
            and (text in row.player.lower() or text in (row.label or "").lower())
        ]
        if self.by in ORDERS and self.by:
            result = ordered_by(result, self.by, highest_first=ORDERS[self.by][1])
        return result

    def link(self, **changes: str | int) -> str:
        """Returns the address of another part or order of the same."""
        given = {"role": self.role, "state": self.state, "text": self.text, "by": self.by, **changes}
        return "?" + urlencode({k: v for k, v in given.items() if v})


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


@router.get("/runs/{run_id}/compare")
def compare_page(
    run_id: str,
    request: Request,
    league: League,
    who: Visitor,
    player: Annotated[list[Words], Query(max_length=100)] = [],
) -> HTMLResponse:
    """Some players side by side."""
    names = list(dict.fromkeys(player))[:COMPARED]
    rows = [league.standing(run_id, name) for name in names]
    scores = {
        (one, other): pair
        for one in names
        for other in names
        if one != other and (pair := league.pair(run_id, one, other)) is not None
    }
    context = {
        "tab": "",
        "run": run_as_json(league.run(run_id)),
        "rows": rows,
        "scores": scores,
        "superiority": {
            (a.player, b.player): superiority(
                Rating(a.trueskill_mu, a.trueskill_sigma), Rating(b.trueskill_mu, b.trueskill_sigma)
            )
            for a in rows
            for b in rows
        },
        "most": COMPARED,
    }
    return templates.TemplateResponse(request, "compare.html", context)


@router.get("/runs/{run_id}/now")
def now_page(run_id: str, request: Request, league: League, who: Visitor) -> HTMLResponse:
    """What is played and learnt just now, by process, and whether all are well."""
    run, doing = league.run(run_id), league.doing(run_id)
    metrics = league.latest_metrics(run_id) or {}
    context = {
        "tab": "Now",
        "run": run_as_json(run),
        "age": max(0.0, time.time() - run.updated_at) if run.state == "running" else 0.0,
        "workers": doing.get("workers", []),
        "learners": doing.get("learners", []),
        "learning": metrics.get("learners", {}),
        "late": LATE_SECONDS + doing.get("report_seconds", 0.0),
    }
    return templates.TemplateResponse(request, "now.html", context)


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
        "cycles": league.cycles(run_id),
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
        "orders": {key: title for key, (title, _) in ORDERS.items()},
        "roles": ROLES,
        "states": STATES,
        "rows_shown": ROWS,
        "earlier": asked.link(begin=max(0, asked.begin - ROWS)) if asked.begin else None,
        "later": asked.link(begin=asked.begin + ROWS) if asked.begin + ROWS < len(wanted) else None,
        "scale": (low, max(high - low, 1.0)),
        "events": league.latest_events(run_id),
        "now": league.latest_metrics(run_id),
    }
