"""Templates, and how numbers and times are written on pages."""

from __future__ import annotations

import datetime
from importlib.resources import files
from typing import Any

from fastapi import Request
from fastapi.templating import Jinja2Templates

from web.sessions import COOKIE, Sessions


def _login(request: Request) -> dict[str, Any]:
    """What every page knows of whoever looks at it: the token that its changes must bring along."""
    cookie = request.cookies.get(COOKIE)
    session = Sessions(request.app.state.services).read(cookie) if cookie else None
    return {"csrf": session.csrf if session else None}


templates = Jinja2Templates(directory=str(files("web") / "templates"), context_processors=[_login])


def duration(seconds: float) -> str:
    """Returns minutes:seconds, with hours where there are any."""
    minutes, rest = divmod(int(seconds), 60)
    hours, minutes = divmod(minutes, 60)
    return f"{hours}:{minutes:02d}:{rest:02d}" if hours else f"{minutes}:{rest:02d}"


def clock(at: float) -> str:
    """Returns the time of day, the server's."""
    return datetime.datetime.fromtimestamp(at).strftime("%H:%M:%S")


def compact(number: float) -> str:
    """Returns a large number in three digits and a unit."""
    for size, unit in ((1e9, "G"), (1e6, "M"), (1e3, "k")):
        if number >= size:
            return f"{number / size:.{1 if number < 100 * size else 0}f} {unit}"
    return f"{number:.0f}"


templates.env.filters |= {"duration": duration, "clock": clock, "compact": compact}
