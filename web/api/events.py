"""A run's events: a stream that can be resumed, and pages of the past."""

from __future__ import annotations

import asyncio
import json
import time
from collections.abc import AsyncIterator
from typing import Annotated, Any

import orjson
from fastapi import APIRouter, Header, Query, Request, Response
from sse_starlette import EventSourceResponse, ServerSentEvent
from starlette.concurrency import run_in_threadpool

from league.client.schemas import PLAYER_NAME, EventList, run_as_json
from league.control.access import AccessService, Principal
from league.control.services import LeagueService
from league.errors import UnauthorizedError
from league.pool.records import EventRecord
from web.api.runs import RunPath
from web.cursors import Cursor, Limit, decode, encode
from web.hub import EventHub
from web.problems import responses
from web.services import Access, League, Reader

router = APIRouter(prefix="/runs", tags=["events"])

CHECK_SECONDS = 10.0
SERVER_SENT = {"type": "object", "properties": {k: {"type": "string"} for k in ("id", "event", "data")}}

Kinds = Annotated[
    list[Annotated[str, Query(pattern=r"^[a-z_]{1,32}$")]],
    Query(max_length=50, description="only these; once for each"),
]
Who = Annotated[str | None, Query(pattern=PLAYER_NAME, description="only this player's")]


@router.get(
    "/{run_id}/events",
    response_class=EventSourceResponse,
    responses={200: {"content": {"text/event-stream": {"schema": SERVER_SENT}}}, **responses(404)},
)
async def stream_events(
    run_id: RunPath,
    request: Request,
    league: League,
    access: Access,
    who: Reader,
    last_event_id: Annotated[int | None, Header(ge=0, lt=2**53)] = None,
    after: Annotated[
        int | None, Query(ge=0, lt=2**53, description="send events with an id above this")
    ] = None,
    kind: Kinds = [],
    player: Who = None,
) -> EventSourceResponse:
    """The run's events from the beginning, or after `Last-Event-ID`, and on as they come.

    Besides the recorded events, which carry ids, a `progress` message without one tells whenever the run's
    numbers have changed.
    """
    await run_in_threadpool(league.run, run_id)
    start = last_event_id if last_event_id is not None else after or 0
    hub: EventHub = request.app.state.hub
    hub.require_room()
    wanted = Wanted(frozenset(kind), player)
    stream = wanted.stream(league, hub, access, who, run_id, start)
    return EventSourceResponse(stream, ping=15)


@router.get("/{run_id}/events/log", response_model=EventList, responses=responses(404))
def list_events(
    run_id: RunPath,
    league: League,
    who: Reader,
    limit: Limit = 100,
    cursor: Cursor = None,
    kind: Kinds = [],
    player: Who = None,
) -> Response:
    """Past events, newest first."""
    before = decode(cursor, int)
    result = league.past_events(
        run_id, limit=limit + 1, before=before[0] if before else None, kinds=tuple(kind), player=player
    )
    body = {
        "items": [
            {"id": e.id, "kind": e.kind, "player": e.player, "by": e.actor, "at": e.at, "data": e.data}
            for e in result[:limit]
        ],
        "next_cursor": encode(result[limit - 1].id) if len(result) > limit else None,
    }
    return Response(orjson.dumps(body), media_type="application/json")


class Wanted:
    """Which events somebody listens for."""

    def __init__(self, kinds: frozenset[str] = frozenset(), player: str | None = None) -> None:
        self._kinds, self._player = kinds, player

    def _wants(self, event: EventRecord) -> bool:
        return (not self._kinds or event.kind in self._kinds) and self._player in (None, event.player)

    async def stream(
        self,
        league: LeagueService,
        hub: EventHub,
        access: AccessService,
        who: Principal,
        run_id: str,
        last: int,
    ) -> AsyncIterator[ServerSentEvent]:
        """Yields what has happened since `last`, then what happens, for as long as the token is good."""
        async with hub.listen(run_id) as feed:
            while events := await run_in_threadpool(league.events, run_id, last):
                for event in events:
                    last = event.id
                    if self._wants(event):
                        yield _message(event)
            run = await run_in_threadpool(league.run, run_id)
            yield ServerSentEvent(json.dumps(run_as_json(run)), event="progress")
            checked = time.monotonic()
            while True:
                try:
                    item = await asyncio.wait_for(feed.waiting.get(), CHECK_SECONDS)
                except TimeoutError:
                    pass
                else:
                    if item is None:
                        return
                    if isinstance(item, EventRecord):
                        if item.id > last and self._wants(item):
                            yield _message(item)
                        last = max(last, item.id)
                    else:
                        yield ServerSentEvent(json.dumps(run_as_json(item)), event="progress")
                if who.token_id is not None and time.monotonic() - checked > CHECK_SECONDS:
                    checked = time.monotonic()
                    try:
                        await run_in_threadpool(access.principal_of, who.token_id)
                    except UnauthorizedError:
                        return


def _message(event: EventRecord) -> ServerSentEvent:
    data: dict[str, Any] = {"kind": event.kind, "player": event.player, "by": event.actor, "at": event.at}
    return ServerSentEvent(json.dumps({**event.data, **data}), event=event.kind, id=str(event.id))
