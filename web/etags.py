"""Answers that need not be sent twice, and changes that must not overwrite another's."""

from __future__ import annotations

import hashlib
from typing import Annotated, Any

from fastapi import Header, Request, Response

from web.problems import PreconditionFailed

IfMatch = Annotated[
    str | None,
    Header(max_length=500, description="ETag of what the change was made of; 412 when it has changed since"),
]


def etag_of(*parts: Any) -> str:
    """Returns the ETag of a resource, by what of it can change."""
    digest = hashlib.blake2b(repr(parts).encode(), digest_size=10).hexdigest()
    return f'"{digest}"'


def require_match(if_match: str | None, etag: str) -> None:
    """Raises: PreconditionFailed: the resource is another by now."""
    if if_match is not None and if_match.strip() != "*" and etag not in _tags(if_match):
        raise PreconditionFailed("changed by somebody else since you read it; read it again")


def json_answer(request: Request, content: bytes, etag: str) -> Response:
    """Returns JSON, or 304 when whoever asks has it already."""
    headers = {"ETag": etag, "Cache-Control": "no-cache"}
    if etag in _tags(request.headers.get("if-none-match", "")):
        return Response(status_code=304, headers=headers)
    return Response(content, media_type="application/json", headers=headers)


def _tags(header: str) -> set[str]:
    return {tag.strip().removeprefix("W/") for tag in header.split(",")}
