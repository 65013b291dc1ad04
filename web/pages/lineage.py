"""The tree of all players: a lane for each learner, a dot for each copy it has left, over time."""

from __future__ import annotations

from typing import Any

from fastapi import APIRouter, Request
from fastapi.responses import HTMLResponse

from league.client.schemas import run_as_json
from league.study.standings import Standing
from web.login import Visitor
from web.services import League
from web.templating import duration, templates

router = APIRouter(include_in_schema=False, default_response_class=HTMLResponse)

LEFT, RIGHT, LANE, TOP, WIDTH, TICKS = 150, 40, 34, 34, 1100, 6
MOST_RESETS = 2000
# Viridis (van der Walt & Smith 2015) at five places: dark is weak, yellow strong, told apart by everybody.
SCALE = ((68, 1, 84), (59, 82, 139), (33, 145, 140), (94, 201, 98), (253, 231, 37))


@router.get("/runs/{run_id}/lineage")
def lineage_page(run_id: str, request: Request, league: League, who: Visitor) -> HTMLResponse:
    """Who was copied from whom and when, who was reset, who is how strong."""
    run, rows = league.run(run_id), league.standings(run_id)
    resets = league.past_events(run_id, limit=MOST_RESETS, kinds=("reset",))
    begin, end = run.created_at, max(run.updated_at, run.created_at + 1.0)

    def x(at: float) -> float:
        return round(LEFT + (WIDTH - LEFT - RIGHT) * (min(max(at, begin), end) - begin) / (end - begin), 1)

    known = {row.player: row for row in rows}
    learners = [row for row in rows if _has_lane(row, known)]
    learners.sort(key=lambda row: (row.created_at, row.player))
    heights = {row.player: TOP + LANE * k for k, row in enumerate(learners)}
    ratings = [row.trueskill_mu for row in rows] or [0.0]
    low, spread = min(ratings), max(max(ratings) - min(ratings), 1e-9)

    def dot(row: Standing, at: float) -> dict[str, Any]:
        strength = (row.trueskill_mu - low) / spread
        return {"row": row, "x": x(at), "r": round(4 + 5 * strength, 1), "fill": colour(strength)}

    lanes = []
    for learner in learners:
        copies = [row for row in rows if row.parent == learner.player and row.player not in heights]
        now = [dot(learner, end if learner.state == "learning" else learner.created_at)]
        lanes.append(
            {
                "name": learner.player,
                "role": learner.role,
                "y": heights[learner.player],
                "begin": x(learner.created_at),
                "from_y": heights.get(_lane_of(learner.parent, known, heights) or ""),
                "dots": [dot(row, row.created_at) for row in copies] + now,
                "resets": [x(e.at) for e in resets if e.player == learner.player],
            }
        )
    context = {
        "tab": "Lineage",
        "run": run_as_json(run),
        "lanes": lanes,
        "left": LEFT,
        "right": WIDTH - RIGHT,
        "width": WIDTH,
        "height": TOP + LANE * max(len(lanes), 1),
        "ticks": [
            (x(begin + k / TICKS * (end - begin)), duration(k / TICKS * (end - begin)))
            for k in range(TICKS + 1)
        ],
        "count": len(rows),
        "scale": [f"rgb{stop}" for stop in SCALE],
        "weakest": low,
        "strongest": low + spread,
    }
    return templates.TemplateResponse(request, "lineage.html", context)


def colour(strength: float) -> str:
    """Returns the colour of a strength in [0, 1]."""
    place = min(max(strength, 0.0), 1.0) * (len(SCALE) - 1)
    k = min(int(place), len(SCALE) - 2)
    mixed = (round(a + (b - a) * (place - k)) for a, b in zip(SCALE[k], SCALE[k + 1], strict=True))
    return "rgb({},{},{})".format(*mixed)


def _has_lane(row: Standing, known: dict[str, Standing]) -> bool:
    """Whoever learns or has learnt, and whoever came from outside."""
    if row.role in ("anchor", "guest"):
        return False
    return row.role != "historical" or row.parent is None or row.parent not in known


def _lane_of(player: str | None, known: dict[str, Standing], heights: dict[str, int]) -> str | None:
    """Returns whose lane a player is on: its own, or that of whom it is a copy of."""
    while player is not None and player not in heights:
        row = known.get(player)
        player = row.parent if row else None
    return player
