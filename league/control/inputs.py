"""Checks of what people send: tags, labels, URLs, and the code that a config names."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from typing import Any
from urllib.parse import urlsplit

from league.errors import BadRequestError, ForbiddenError
from league.settings import permits

TAG = re.compile(r"[\w][\w .:/+-]{0,49}")
MOST_TAGS = 20


def named_code(data: dict[str, Any]) -> Iterator[tuple[str, str]]:
    """Yields where a config names a game or a network, and which; whatever else is wrong with it."""
    yield "game", str(data.get("game", ""))
    players = data.get("players")
    entries = players if isinstance(players, list) else []
    for where, section in (("network", data), *((f"players[{k}].network", e) for k, e in enumerate(entries))):
        network = section.get("network") if isinstance(section, dict) else None
        if isinstance(network, dict):
            yield f"{where}.kind", str(network.get("kind", ""))


def checked_tags(tags: Sequence[str]) -> tuple[str, ...]:
    """Returns tags, each once. Raises: BadRequestError."""
    unique = tuple(dict.fromkeys(tags))
    if len(unique) > MOST_TAGS or not all(TAG.fullmatch(tag) for tag in unique):
        raise BadRequestError(
            f"tags: {MOST_TAGS} at most, each 1 to 50 letters, digits, spaces and . : / + - _"
        )
    return unique


def checked_label(label: str | None) -> str | None:
    """Returns a label. Raises: BadRequestError."""
    if label is not None and not (1 <= len(label) <= 100 and label.isprintable()):
        raise BadRequestError("label: 1 to 100 printable characters")
    return label


def require_host(url: str, allowed: Sequence[str], variable: str) -> None:
    """Raises: BadRequestError: no http(s) URL. ForbiddenError: its host is not among those allowed."""
    try:
        parts = urlsplit(url)
        host, _ = parts.hostname, parts.port
    except ValueError as error:
        raise BadRequestError(f"url: {error}") from error
    if parts.scheme not in ("http", "https") or not host or len(url) > 2000 or not url.isprintable():
        raise BadRequestError("url: http://HOST/PATH or https://HOST/PATH")
    if parts.username or parts.password:
        raise BadRequestError("url: without a user and password; they would be kept and shown")
    if not permits(tuple(allowed), host):
        raise ForbiddenError(f"url: host {host!r} is not among those in {variable}")
