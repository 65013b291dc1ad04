"""The services of a request, and who asks.

What a route depends on is asynchronous where it does no I/O: the others each take a turn in a thread.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import Annotated

from fastapi import Depends, Request, Security
from fastapi.security import HTTPAuthorizationCredentials, HTTPBearer
from starlette.concurrency import run_in_threadpool

from league.bootstrap import Services
from league.control.access import LOCAL, AccessService, Principal, Scope
from league.control.services import LeagueService
from league.control.steering import ControlService
from league.control.webhooks import WebhookService
from league.errors import ForbiddenError, UnauthorizedError
from league.serving.playing import PlayService
from web.sessions import COOKIE, CSRF_HEADER, SAFE_METHODS, Sessions

bearer = HTTPBearer(
    auto_error=False, scheme_name="token", description="An access token: `league token create`."
)


async def _services(request: Request) -> Services:
    services: Services = request.app.state.services
    return services


AllServices = Annotated[Services, Depends(_services)]


async def _league(services: AllServices) -> LeagueService:
    return services.league


async def _control(services: AllServices) -> ControlService:
    return services.control


async def _access(services: AllServices) -> AccessService:
    return services.access


async def _plays(services: AllServices) -> PlayService:
    return services.plays


async def _webhooks(services: AllServices) -> WebhookService:
    return services.webhooks


def principal_of(request: Request, services: Services) -> Principal:
    """Returns who asks: by bearer token, by the cookie of a login, or anybody on an open server.

    Raises:
      UnauthorizedError: nobody known. ForbiddenError: a change by cookie without its CSRF token.
    """
    header = request.headers.get("authorization")
    if header is not None:
        kind, _, token = header.partition(" ")
        if kind.lower() != "bearer":
            raise UnauthorizedError("Authorization: Bearer TOKEN is the only way in")
        return services.access.principal(token.strip())
    cookie = request.cookies.get(COOKIE)
    if cookie is not None:
        session = Sessions(services).read(cookie)
        if session is not None:
            if request.method not in SAFE_METHODS and request.headers.get(CSRF_HEADER) != session.csrf:
                raise ForbiddenError(f"a change by cookie needs the header {CSRF_HEADER}")
            return services.access.principal_of(session.token_id)
    if services.access.is_open():
        return LOCAL
    raise UnauthorizedError("an access token is needed: Authorization: Bearer TOKEN")


async def who_asks(request: Request, services: Services, scope: Scope) -> Principal:
    """The same, who must have a scope; without a thread where it is known already.

    Raises:
      UnauthorizedError, ForbiddenError.
    """
    who = _remembered(request, services)
    if who is None:
        who = await run_in_threadpool(principal_of, request, services)
    if who.scope < scope:
        raise ForbiddenError(f"this needs the scope {scope.name}, the token has {who.scope.name}")
    return who


def _remembered(request: Request, services: Services) -> Principal | None:
    """Returns who asks, if a token was looked up a moment ago, or the server is open; None: look."""
    header = request.headers.get("authorization")
    if header is not None:
        return services.access.remembered(header.removeprefix("Bearer "))
    if COOKIE in request.cookies or not services.access.is_open():
        return None
    return LOCAL


def _require(scope: Scope) -> Callable[..., Awaitable[Principal]]:
    async def principal(
        request: Request,
        services: AllServices,
        _: Annotated[HTTPAuthorizationCredentials | None, Security(bearer)] = None,
    ) -> Principal:
        return await who_asks(request, services, scope)

    return principal


League = Annotated[LeagueService, Depends(_league)]
Control = Annotated[ControlService, Depends(_control)]
Access = Annotated[AccessService, Depends(_access)]
Plays = Annotated[PlayService, Depends(_plays)]
Webhooks = Annotated[WebhookService, Depends(_webhooks)]
Reader = Annotated[Principal, Depends(_require(Scope.read))]
Operator = Annotated[Principal, Depends(_require(Scope.operate))]
Admin = Annotated[Principal, Depends(_require(Scope.admin))]
