"""Runs and what is known of them."""

from __future__ import annotations

from dataclasses import asdict
from typing import Literal

from fastapi import APIRouter

from league.services import Standing, run_as_json, standing_as_json
from web.schemas import Metrics, Payoffs, RatingHistory, RatingSeries, Run, RunList, Standings
from web.service import Service

System = Literal["trueskill", "elo", "openskill", "bradley_terry", "nash", "alpha_rank", "score"]

router = APIRouter(prefix="/runs", tags=["runs"], responses={404: {"description": "No such run"}})


@router.get("")
def list_runs(service: Service) -> RunList:
    """The runs, newest first."""
    return RunList(items=[Run(**run_as_json(r)) for r in service.runs()])


@router.get("/{run_id}")
def get_run(run_id: str, service: Service) -> Run:
    """One run."""
    return Run(**run_as_json(service.run(run_id)))


@router.get("/{run_id}/standings")
def get_standings(run_id: str, service: Service) -> Standings:
    """The players, best first."""
    run = Run(**run_as_json(service.run(run_id)))
    rows = [Standing(**standing_as_json(row)) for row in service.standings(run_id)]
    return Standings(run=run, standings=rows)


@router.get("/{run_id}/payoffs")
def get_payoffs(run_id: str, service: Service) -> Payoffs:
    """Win rates between the best players, in the order of the standings."""
    return Payoffs(**asdict(service.payoffs(run_id)))


@router.get("/{run_id}/ratings")
def get_ratings(
    run_id: str,
    service: Service,
    system: Literal[
        "trueskill", "elo", "openskill", "bradley_terry", "nash", "alpha_rank", "score"
    ] = "trueskill",
) -> RatingHistory:
    """Each player's rating over the seconds of play, the run's moves and its own steps."""
    history = service.rating_history(run_id, system)
    series = [
        RatingSeries(
            player=player,
            play_seconds=[round(p[0], 1) for p in points],
            moves=[int(p[1]) for p in points],
            steps=[int(p[2]) for p in points],
            mu=[round(p[3], 3) for p in points],
            sigma=[round(p[4], 3) for p in points],
        )
        for player, points in history.items()
    ]
    return RatingHistory(system=system, series=series)


@router.get("/{run_id}/metrics")
def get_metrics(run_id: str, service: Service) -> Metrics:
    """Throughput, lag and each learner's losses over the run."""
    return Metrics(items=service.metrics(run_id))
