"""Pages by key: a cursor is the place where the last page ended, opaque to whoever passes it on."""

from __future__ import annotations

import base64
import binascii
import json
import math
from typing import Annotated, Any

from fastapi import Query

from league.errors import BadRequestError

Limit = Annotated[int, Query(ge=1, le=500, description="How many at most")]
# Part of a name: no control characters, which databases cut texts off at.
PLAIN = r"^[^\x00-\x1f\x7f]*$"
Words = Annotated[str | None, Query(max_length=200, pattern=PLAIN)]
Cursor = Annotated[
    str | None,
    Query(max_length=500, description="`next_cursor` of the page before", examples=["WzQyXQ"]),
]


def encode(*key: Any) -> str:
    """Returns the cursor of a place."""
    return base64.urlsafe_b64encode(json.dumps(key, separators=(",", ":")).encode()).decode().rstrip("=")


def decode(cursor: str | None, *kinds: type) -> list[Any] | None:
    """Returns the place that a cursor of ours stands for; None for the first page.

    Raises:
      BadRequestError: it is none of ours, or of another list.
    """
    if cursor is None:
        return None
    try:
        key = json.loads(base64.b64decode(cursor + "=" * (-len(cursor) % 4), altchars=b"-_", validate=True))
        fits = isinstance(key, list) and len(key) == len(kinds)
        if fits and all(_is(value, kind) for value, kind in zip(key, kinds, strict=True)):
            return list(key)
    except (binascii.Error, ValueError, RecursionError):
        pass
    raise BadRequestError("cursor: not one of this list's; leave it out for the first page")


def _is(value: Any, kind: type) -> bool:
    if kind is float:
        return type(value) in (int, float) and math.isfinite(value)
    if kind is int:
        return type(value) is int and abs(value) < 2**62
    return type(value) is kind
