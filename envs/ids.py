"""Game ids: `family:name(parameter=value, …)`."""

from __future__ import annotations

import ast
from typing import Any

from envs.errors import UnknownGameError


def split_parameters(text: str) -> tuple[str, dict[str, Any]]:
    """Returns the name and the parameters of `NAME` or `NAME(a=1, b=word)`.

    Raises:
      UnknownGameError: the brackets hold something else.
    """
    name, bracket, rest = text.partition("(")
    if not bracket:
        return text.strip(), {}
    if not rest.rstrip().endswith(")"):
        raise UnknownGameError(f"{text}: the bracket is not closed")
    parameters: dict[str, Any] = {}
    for part in _parts(rest.rstrip()[:-1]):
        key, equals, value = part.partition("=")
        if not equals or not key.strip().isidentifier():
            raise UnknownGameError(f"{text}: expected parameter=value, got {part.strip()!r}")
        parameters[key.strip()] = _value(value.strip())
    return name.strip(), parameters


def _parts(text: str) -> list[str]:
    """Splits at commas that are in no bracket."""
    parts, depth = [""], 0
    for character in text:
        depth += (character in "([{") - (character in ")]}")
        if character == "," and depth == 0:
            parts.append("")
        else:
            parts[-1] += character
    return [p for p in parts if p.strip()]


def _value(text: str) -> Any:
    known = {"true": True, "false": False, "none": None}
    if text.lower() in known:
        return known[text.lower()]
    try:
        return ast.literal_eval(text)
    except (ValueError, SyntaxError):
        return text
