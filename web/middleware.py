"""What holds for every request, before anything of the app is reached. Plain ASGI: `act` is asked often."""

from __future__ import annotations

import contextlib
import time
from urllib.parse import urlsplit

from limits import RateLimitItemPerSecond
from limits.storage import MemoryStorage
from limits.strategies import SlidingWindowCounterRateLimiter
from starlette.datastructures import Headers, MutableHeaders
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from league.bootstrap import Services
from web.metrics import RequestMetrics
from web.problems import problem
from web.sessions import SAFE_METHODS

# Nothing runs here that does not come from here. Plotly sets styles on the elements it draws, which is
# why styles alone may be inline; images may be data for its "download as PNG".
SECURITY_HEADERS = {
    "Content-Security-Policy": (
        "default-src 'none'; script-src 'self'; style-src 'self' 'unsafe-inline'; "
        "img-src 'self' data: blob:; "
        "connect-src 'self'; font-src 'self'; base-uri 'none'; form-action 'self'; frame-ancestors 'none'"
    ),
    "X-Content-Type-Options": "nosniff",
    "Referrer-Policy": "same-origin",
}
UPLOADS = "/api/v1/checkpoints"
BURST_SECONDS = 2


class Guard:
    """Host, origin, size and rate of a request; security headers of the answer."""

    def __init__(self, app: ASGIApp, metrics: RequestMetrics) -> None:
        self._app, self._metrics = app, metrics
        self._limiter = SlidingWindowCounterRateLimiter(MemoryStorage())
        self._rates: dict[float, RateLimitItemPerSecond] = {}

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        services: Services = scope["app"].state.services
        headers, path = Headers(scope=scope), scope["path"]
        begin, status, started = time.perf_counter(), 500, False

        async def answer(message: Message) -> None:
            nonlocal status, started
            if message["type"] == "http.response.start":
                status, started = message["status"], True
                out = MutableHeaders(scope=message)
                for name, value in SECURITY_HEADERS.items():
                    out.setdefault(name, value)
                if path.startswith("/plotly/"):
                    out["Cache-Control"] = "public, max-age=86400"
                elif path.startswith("/api/") and scope["method"] not in SAFE_METHODS:
                    out.setdefault("Cache-Control", "no-store")
            await send(message)

        try:
            refusal = self._refusal(services, scope, headers, path)
            if refusal is not None:
                code, detail, more = refusal
                await problem(code, detail, headers=more)(scope, receive, answer)
                return
            settings = services.settings
            most = settings.max_upload_bytes if path == UPLOADS else settings.max_body_bytes
            limited = _Limited(receive, most)

            async def unless_cut_off(message: Message) -> None:
                if started or not limited.is_too_large:
                    await answer(message)

            with contextlib.suppress(_TooLargeError):
                await self._app(scope, limited, unless_cut_off)
            if limited.is_too_large and not started:  # whatever the app made of a body that was cut off
                detail = f"the body may have {most:,} bytes at most"
                await problem(413, detail, headers={"Connection": "close"})(scope, receive, answer)
        finally:
            self._metrics.observe(scope, status, time.perf_counter() - begin)

    def _refusal(
        self, services: Services, scope: Scope, headers: Headers, path: str
    ) -> tuple[int, str, dict[str, str]] | None:
        settings = services.settings
        host = headers.get("host", "")
        if services.access.is_open() and _name(host) not in settings.allowed_hosts:
            return (
                403,
                f"this server does not answer as {host[:100]!r}; LEAGUE_ALLOWED_HOSTS lists its names",
                {},
            )
        origin = headers.get("origin")
        if scope["method"] not in SAFE_METHODS and origin is not None:
            own = urlsplit(origin).netloc == host
            if not own and origin not in settings.cors_origins:
                return 403, f"a page of {origin[:100]} may change nothing here", {}
        most = settings.max_upload_bytes if path == UPLOADS else settings.max_body_bytes
        length = headers.get("content-length", "0")
        if not length.isdecimal() or len(length) > 15 or int(length) > most:
            return 413, f"the body may have {most:,} bytes at most", {"Connection": "close"}
        rate = settings.act_rate_limit if path.endswith("/act") else settings.rate_limit
        client = headers.get("authorization") or (scope.get("client") or ("",))[0]
        key = f"{hash(client)}{path[-4:] == '/act'}"
        if path.startswith("/api/") and not self._limiter.hit(self._item(rate), key):
            return 429, f"more than {rate:g} requests a second; wait a moment", {"Retry-After": "1"}
        return None

    def _item(self, rate: float) -> RateLimitItemPerSecond:
        item = self._rates.get(rate)
        if item is None:
            item = RateLimitItemPerSecond(max(1, int(rate * BURST_SECONDS)), BURST_SECONDS)
            self._rates[rate] = item
        return item


class _TooLargeError(Exception):
    """More came than was said or allowed."""


class _Limited:
    """Counts a body as it comes: a chunked one has no length to believe."""

    def __init__(self, receive: Receive, most: int) -> None:
        self._receive, self._left = receive, most

    @property
    def is_too_large(self) -> bool:
        return self._left < 0

    async def __call__(self) -> Message:
        message = await self._receive()
        if message["type"] == "http.request":
            self._left -= len(message.get("body", b""))
            if self.is_too_large:
                raise _TooLargeError
        return message


def _name(host: str) -> str:
    """Returns a host without its port."""
    return host[: host.rfind(":")] if ":" in host and not host.endswith("]") else host
