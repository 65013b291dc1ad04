"""Says what is wrong with a config so that it can be put right: field, value, what is allowed, nearest."""

from __future__ import annotations

import difflib
import typing
from typing import Any

from pydantic import BaseModel, ValidationError


def explain_all(model: type[BaseModel], error: ValidationError) -> list[str]:
    """Returns a line for each mistake in data that should have been a `model`."""
    errors = error.errors()
    # A list whose only item is wrong is also said to be too short.
    inner = [e["loc"] for e in errors if e["type"] != "too_short"]
    real = [
        e
        for e in errors
        if e["type"] != "too_short" or not any(loc[: len(e["loc"])] == e["loc"] for loc in inner)
    ]
    return [_explain(model, e) for e in real]


def nearest(word: str, allowed: typing.Iterable[str]) -> str:
    close = difflib.get_close_matches(word, list(allowed), n=1, cutoff=0.5)
    return f", did you mean {close[0]}?" if close else ""


def _explain(model: type[BaseModel], error: Any) -> str:
    """One line for one pydantic error: field, value, what is allowed, nearest word."""
    where = ""
    for part in error["loc"]:
        where += f"[{part}]" if isinstance(part, int) else f".{part}" if where else str(part)
    kind, value = error["type"], error["input"]
    if kind == "extra_forbidden":
        allowed = _fields_at(model, error["loc"][:-1])
        return f"{where}: unknown key{nearest(str(error['loc'][-1]), allowed)}; allowed: {', '.join(allowed)}"
    if kind == "missing":
        return f"{where}: missing; it has no default"
    if kind == "literal_error":
        allowed = [w.strip("' ") for w in error["ctx"]["expected"].replace(" or ", ", ").split(",")]
        return f"{where}: {value!r}{nearest(str(value), allowed)} allowed: {', '.join(allowed)}"
    message = error["msg"].removeprefix("Value error, ")
    if kind == "value_error":
        return f"{where}: {message}" if where else message
    shown = repr(value) if len(repr(value)) < 60 else repr(value)[:57] + "…"
    return f"{where}: {shown}: {message[0].lower()}{message[1:]}"


def _fields_at(model: type[BaseModel], loc: tuple[int | str, ...]) -> list[str]:
    """Returns the keys that the section at `loc` takes."""
    section: Any = model
    for part in loc:
        if isinstance(part, str) and isinstance(section, type) and issubclass(section, BaseModel):
            section = section.model_fields[part].annotation if part in section.model_fields else None
        candidates = [section, *typing.get_args(section)]
        section = next((c for c in candidates if isinstance(c, type) and issubclass(c, BaseModel)), None)
    return list(section.model_fields) if section is not None else []
