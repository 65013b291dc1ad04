"""POSTs with an Idempotency-Key: sent twice, done once, answered the same."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Coroutine
from typing import Annotated, Any

from fastapi import Header, Request, Response
from fastapi.routing import APIRoute
from starlette.concurrency import run_in_threadpool

from league.bootstrap import Services
from web.problems import problem
from web.services import principal_of

HEADER = "idempotency-key"
LONGEST_KEY = 255
KEPT_HEADERS = ("content-type", "location", "etag")
# Answers that say nothing has been done: the same key may try again.
TRANSIENT = frozenset({401, 403, 429, 500, 502, 503, 504})

IdempotencyKey = Annotated[
    str | None,
    Header(
        min_length=1,
        max_length=LONGEST_KEY,
        pattern=r"^[\x21-\x7e]+$",
        alias="Idempotency-Key",
        description="Any unique text; the same request again within a day gets the first one's answer",
    ),
]


class IdempotentRoute(APIRoute):
    """A route whose POST is done once a key."""

    def get_route_handler(self) -> Callable[[Request], Coroutine[Any, Any, Response]]:
        handle = super().get_route_handler()

        async def once(request: Request) -> Response:
            key = request.headers.get(HEADER)
            if request.method != "POST" or not key or len(key) > LONGEST_KEY:
                return await handle(request)
            services: Services = request.app.state.services
            who = await run_in_threadpool(principal_of, request, services)
            digest = hashlib.sha256(f"{request.url.path}?{request.url.query}\n".encode())
            digest.update(await request.body())
            answers, actor = services.idempotency, who.token_id or who.name
            known = await run_in_threadpool(answers.begin, key, actor, digest.hexdigest())
            if known is not None:
                if known.request != digest.hexdigest():
                    return problem(
                        422, "this Idempotency-Key came with another request", "idempotency-key-reused"
                    )
                if known.status is None:
                    return problem(
                        409, "the first request with this Idempotency-Key is still being worked on"
                    )
                return Response(known.body, known.status, {**known.headers, "idempotent-replay": "true"})
            try:
                response = await handle(request)
            except BaseException:
                await run_in_threadpool(answers.forget, key, actor)
                raise
            if response.status_code in TRANSIENT:
                await run_in_threadpool(answers.forget, key, actor)
            else:
                headers = {k: v for k, v in response.headers.items() if k in KEPT_HEADERS}
                await run_in_threadpool(
                    answers.finish, key, actor, response.status_code, headers, bytes(response.body)
                )
            return response

        return once
