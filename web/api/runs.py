"""Runs: launched, listed, steered, removed; and what is known of them."""

from __future__ import annotations

from typing import Annotated, Any, Literal

import orjson
from fastapi import APIRouter, Path, Query, Request, Response

from league.client.schemas import (
    RUN_ID,
    AnchorScores,
    AnchorSeries,
    CloneRun,
    Cycle,
    CycleList,
    Doing,
    EditRun,
    LaunchRun,
    Mark,
    Metrics,
    Payoffs,
    RatingHistory,
    RatingSeries,
    Run,
    RunDetails,
    RunList,
    Standings,
    System,
)
from league.control.cache import Kept
from league.control.services import LeagueService
from league.pool.records import RunRecord
from web.cursors import PLAIN, Cursor, Limit, Words, decode, encode
from web.etags import IfMatch, etag_of, json_answer, require_match
from web.idempotency import IdempotencyKey, IdempotentRoute
from web.problems import responses
from web.services import Control, League, Operator, Reader

router = APIRouter(prefix="/runs", tags=["runs"], route_class=IdempotentRoute)

RunPath = Annotated[str, Path(pattern=RUN_ID, examples=["1a2b3c4d"])]
Sort = Literal["created_at", "updated_at", "name", "moves", "games"]
SORT_KINDS = {"name": str, "moves": int, "games": int}


def run_etag(run: RunRecord) -> str:
    """Returns the ETag of what people can change of a run."""
    return etag_of(run.id, run.name, run.tags, run.config_revision, run.desired_state)


@router.get("", responses=responses())
def list_runs(
    league: League,
    who: Reader,
    limit: Limit = 50,
    cursor: Cursor = None,
    state: Literal["pending", "running", "paused", "finished", "failed"] | None = None,
    game: Words = None,
    tag: Words = None,
    text: Annotated[Words, Query(description="a part of the name")] = None,
    sort: Sort = "created_at",
    order: Literal["asc", "desc"] = "desc",
) -> RunList:
    """The runs, newest first."""
    after = decode(cursor, SORT_KINDS.get(sort, float), str)
    runs = league.runs_page(
        limit=limit + 1,
        after=None if after is None else (after[0], after[1]),
        sort=sort,
        descending=order == "desc",
        state=state,
        game=game,
        tag=tag,
        text=text,
    )
    more = encode(getattr(runs[limit - 1], sort), runs[limit - 1].id) if len(runs) > limit else None
    return RunList(items=[Run.of(r) for r in runs[:limit]], next_cursor=more)


@router.post("", status_code=201, responses=responses(409))
def launch_run(
    body: LaunchRun, control: Control, who: Operator, response: Response, key: IdempotencyKey = None
) -> RunDetails:
    """Writes down a run; a supervisor that is free runs it."""
    config = control.parse(body.config if body.config is not None else body.yaml or "", who)
    run = control.launch(config, who, body.tags)
    response.headers["Location"] = f"/api/v1/runs/{run.id}"
    return RunDetails.of(run)


@router.get("/{run_id}", responses=responses(404))
def get_run(run_id: RunPath, league: League, who: Reader, response: Response) -> RunDetails:
    """One run with its config."""
    run = league.run(run_id)
    response.headers["ETag"] = run_etag(run)
    return RunDetails.of(run)


@router.patch("/{run_id}", responses=responses(404, 409, 412))
def edit_run(
    run_id: RunPath,
    body: EditRun,
    control: Control,
    who: Operator,
    response: Response,
    if_match: IfMatch = None,
) -> RunDetails:
    """Renames, tags, or changes the config.

    A running league takes sampler weights, learning rates, entropy, workers and the like over within a
    second. What may not change is refused with the reason.
    """
    run = control.edit(
        run_id,
        who,
        name=body.name,
        tags=body.tags,
        patch=body.config,
        unchanged=lambda known: require_match(if_match, run_etag(known)),
    )
    response.headers["ETag"] = run_etag(run)
    return RunDetails.of(run)


@router.delete("/{run_id}", status_code=204, responses=responses(404, 409))
def delete_run(
    run_id: RunPath,
    control: Control,
    who: Operator,
    confirm: Annotated[str | None, Query(max_length=100, description="the run's name")] = None,
) -> None:
    """Removes a run with its players, results and checkpoints, for good."""
    control.delete(run_id, confirm, who)


@router.post("/{run_id}/pause", responses=responses(404, 409))
def pause_run(run_id: RunPath, control: Control, who: Operator, key: IdempotencyKey = None) -> Run:
    """Saves the learners and ends the run's processes, until it is resumed."""
    return Run.of(control.want(run_id, "paused", who))


@router.post("/{run_id}/resume", responses=responses(404, 409))
def resume_run(run_id: RunPath, control: Control, who: Operator, key: IdempotencyKey = None) -> Run:
    """Lets a run go on that was paused, stopped by hand, or has failed."""
    return Run.of(control.want(run_id, "running", who))


@router.post("/{run_id}/stop", responses=responses(404, 409))
def stop_run(run_id: RunPath, control: Control, who: Operator, key: IdempotencyKey = None) -> Run:
    """Ends a run before its stop rule does."""
    return Run.of(control.want(run_id, "stopped", who))


@router.post("/{run_id}/clone", status_code=201, responses=responses(404, 409))
def clone_run(
    run_id: RunPath, body: CloneRun, control: Control, who: Operator, key: IdempotencyKey = None
) -> RunDetails:
    """Launches another run from this one's config, with changes."""
    return RunDetails.of(control.clone(run_id, body.name, body.config, who))


@router.get("/{run_id}/standings", response_model=Standings, responses=responses(404))
def get_standings(
    run_id: RunPath,
    request: Request,
    league: League,
    who: Reader,
    limit: Annotated[int, Query(ge=1, le=5000)] = 500,
    cursor: Cursor = None,
) -> Response:
    """The players, best first."""
    stamp = league.stamp(run_id)
    place = decode(cursor, int)
    begin = max(0, place[0]) if place else 0

    def work_out() -> bytes:
        rows = league.standings_json(run_id)
        more = encode(begin + limit) if begin + limit < len(rows) else None
        run = Run.of(league.run(run_id)).model_dump()
        return orjson.dumps({"run": run, "standings": rows[begin : begin + limit], "next_cursor": more})

    kept: Kept[bytes] = request.app.state.kept
    return json_answer(
        request, kept.get((run_id, begin, limit), stamp, work_out), etag_of(stamp, begin, limit)
    )


@router.get("/{run_id}/payoffs", response_model=Payoffs, responses=responses(404))
def get_payoffs(
    run_id: RunPath,
    request: Request,
    league: League,
    who: Reader,
    limit: Annotated[int, Query(ge=1, le=200, description="of the best players")] = 60,
) -> Response:
    """Win rates between the best players, in the order of the standings."""
    stamp = league.stamp(run_id)
    kept: Kept[bytes] = request.app.state.kept
    content = kept.get(("payoffs", run_id, limit), stamp, lambda: orjson.dumps(league.payoffs(run_id, limit)))
    return json_answer(request, content, etag_of(stamp, limit))


@router.get(
    "/{run_id}/payoffs/map",
    response_class=Response,
    responses={
        200: {"content": {"application/octet-stream": {"schema": {"type": "string", "format": "binary"}}}},
        **responses(404),
    },
)
def get_payoff_map(
    run_id: RunPath,
    request: Request,
    league: League,
    who: Reader,
    limit: Annotated[int, Query(ge=1, le=2000, description="of the best players")] = 500,
) -> Response:
    """The same for many players as one binary: its layout is in docs/rest.md."""
    answer = json_answer(request, league.payoff_map(run_id, limit), etag_of(league.stamp(run_id), limit))
    if answer.status_code == 200:
        answer.headers["Content-Type"] = "application/octet-stream"
    return answer


@router.get("/{run_id}/ratings", responses=responses(404))
def get_ratings(
    run_id: RunPath,
    league: League,
    who: Reader,
    system: System = "trueskill",
    player: Annotated[
        list[Annotated[str, Query(pattern=PLAIN)]],
        Query(max_length=50, description="of these alone; once for each"),
    ] = [],
) -> RatingHistory:
    """Each player's rating over the seconds of play, the run's moves and its own steps."""
    return rating_history(league, run_id, system, player or None)


@router.get("/{run_id}/metrics", responses=responses(404))
def get_metrics(run_id: RunPath, league: League, who: Reader) -> Metrics:
    """Throughput, lag and each learner's losses over the run."""
    return Metrics(items=league.metrics(run_id))


@router.get("/{run_id}/anchors", responses=responses(404))
def get_anchor_scores(run_id: RunPath, league: League, who: Reader) -> AnchorScores:
    """What the best mains scored against the anchors in rating games, over time."""
    return AnchorScores(
        items=[
            AnchorSeries(
                player=player,
                anchor=anchor,
                play_seconds=[round(at, 1) for at, _, _ in points],
                scores=[round(score, 4) for _, score, _ in points],
                games=[games for _, _, games in points],
            )
            for (player, anchor), points in league.anchor_scores(run_id).items()
        ]
    )


@router.get("/{run_id}/cycles", responses=responses(404))
def get_cycles(run_id: RunPath, league: League, who: Reader) -> CycleList:
    """Three of the best players each, of whom A beats B beats C beats A; clearest first."""
    result = league.cycles(run_id)
    return CycleList(
        items=[Cycle(players=[*c.players], scores=[round(x, 4) for x in c.scores]) for c in result]
    )


@router.get("/{run_id}/doing", responses=responses(404))
def get_doing(run_id: RunPath, league: League, who: Reader) -> Doing:
    """What is played and learnt just now, by process."""
    return Doing.model_validate(league.doing(run_id))


def rating_history(
    league: LeagueService, run_id: str, system: str, players: list[str] | None
) -> RatingHistory:
    """Returns rating histories, of all players or these, as the API shows them. Raises: NotFoundError."""
    marks = [
        Mark(kind=kind, player=who, play_seconds=round(at, 1))
        for kind, who, at in league.marks(run_id)
        if who is None or players is None or who in players
    ]
    result = league.rating_history(run_id, system, players)
    return RatingHistory(system=system, series=_rating_series(result), marks=marks)


def _rating_series(history: dict[str, list[tuple[float, ...]]]) -> list[RatingSeries]:

    def column(points: list[tuple[float, ...]], k: int, digits: int) -> list[Any]:
        return [round(p[k], digits) if digits else int(p[k]) for p in points]

    return [
        RatingSeries(
            player=player,
            play_seconds=column(points, 0, 1),
            moves=column(points, 1, 0),
            steps=column(points, 2, 0),
            mu=column(points, 3, 3),
            sigma=column(points, 4, 3),
        )
        for player, points in history.items()
    ]
