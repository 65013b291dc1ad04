"""A run's events as a stream: resumable, out of the database, so that any server can send them."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator
from typing import Annotated

from fastapi import APIRouter, Header, Query, Request
from sse_starlette import EventSourceResponse, ServerSentEvent
from starlette.concurrency import run_in_threadpool

from league.services import LeagueService, run_as_json
from web.service import Service

router = APIRouter(prefix="/runs", tags=["events"])

POLL_SECONDS = 0.5


@router.get(
    "/{run_id}/events",
    response_class=EventSourceResponse,
    responses={200: {"content": {"text/event-stream": {}}}, 404: {"description": "No such run"}},
)
async def stream_events(
    run_id: str,
    request: Request,
    service: Service,
    last_event_id: Annotated[int | None, Header(ge=0)] = None,
    after: Annotated[int, Query(ge=0, description="Send events with an id above this")] = 0,
) -> EventSourceResponse:
    """The run's events from the beginning, or after `Last-Event-ID`, and on as they come.

    Besides the recorded events, which carry ids, a `progress` message without one tells whenever the run's
    numbers have changed.
    """
    await run_in_threadpool(service.run, run_id)
    start = last_event_id if last_event_id is not None else after
    return EventSourceResponse(_stream(request, service, run_id, start), ping=15)


async def _stream(
    request: Request, service: LeagueService, run_id: str, last: int
) -> AsyncIterator[ServerSentEvent]:
    seen = -1.0
    while not await request.is_disconnected():
        for event in await run_in_threadpool(service.events, run_id, last):
            last = event.id
            data = {"kind": event.kind, "player": event.player, "at": event.at, **event.data}
            yield ServerSentEvent(json.dumps(data), event=event.kind, id=str(event.id))
        run = await run_in_threadpool(service.run, run_id)
        if run.updated_at != seen:
            seen = run.updated_at
            yield ServerSentEvent(json.dumps(run_as_json(run)), event="progress")
        await asyncio.sleep(POLL_SECONDS)
