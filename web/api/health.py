"""Whether the control plane lives, whether it can answer, and figures for Prometheus."""

from __future__ import annotations

from fastapi import APIRouter, Request, Response

from league.client.schemas import Health
from web.metrics import exposition
from web.problems import responses
from web.services import League, Reader

router = APIRouter(tags=["health"])
TEXT = "text/plain; version=0.0.4; charset=utf-8"


@router.get("/livez", responses=responses())
def livez() -> Health:
    """Answers as long as the process does."""
    return Health(status="ok")


@router.get("/readyz", responses=responses(503))
def readyz(league: League) -> Health:
    """Answers ok when the database can be read and is at this program's schema."""
    league.require_ready()
    return Health(status="ok")


@router.get(
    "/metrics",
    response_class=Response,
    responses={200: {"content": {"text/plain": {"schema": {"type": "string"}}}}, **responses()},
)
def metrics(request: Request, league: League, who: Reader) -> Response:
    """Requests and runs in Prometheus' text format."""
    return Response(exposition(request.app.state.metrics, league), media_type=TEXT)
