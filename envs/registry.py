"""From a game id to a batch of games: families by prefix, League's own and other packages'."""

from __future__ import annotations

import difflib
from collections.abc import Callable
from functools import cache
from importlib.metadata import EntryPoint, entry_points
from typing import Any, TypeVar

from envs.errors import GameError, UnknownGameError
from envs.family import GameFamily
from envs.spec import GameSpec
from envs.vector_game import VectorGame

T = TypeVar("T")

GROUP = "league.game_families"
OWN = {
    "native": "envs.families.native:NativeFamily",
    "openspiel": "envs.families.openspiel:OpenSpielFamily",
    "pettingzoo": "envs.families.pettingzoo:PettingZooFamily",
    "python": "envs.families.python:PythonFamily",
    "plugin": "envs.families.plugin:PluginFamily",
}


@cache
def _points() -> dict[str, EntryPoint]:
    own = {prefix: EntryPoint(prefix, path, GROUP) for prefix, path in OWN.items()}
    return own | {point.name: point for point in entry_points(group=GROUP) if point.name not in own}


def family_prefixes() -> tuple[str, ...]:
    """Returns the prefixes that an id can have, League's own first."""
    return tuple(_points())


@cache
def family(prefix: str) -> GameFamily:
    """Returns a family, imported now if it was not before.

    Raises:
      UnknownGameError: no such prefix. GameError: importing it fails.
    """
    if prefix not in _points():
        raise UnknownGameError(f"no family of games {prefix!r}; families: {', '.join(_points())}")
    point = _points()[prefix]
    try:
        result: GameFamily = point.load()()
    except Exception as error:
        reason = f"{type(error).__name__}: {error}"
        raise GameError(f"games {prefix}:… cannot be had ({point.value}): {reason}") from error
    return result


def make(game_id: str, num_envs: int, seed: int | None = None, **options: Any) -> VectorGame:
    """Makes `num_envs` independent games.

    Args:
      game_id: `PREFIX:NAME(parameters)`, by the families of `family_prefixes`, such as
        `native:connect_four`, `openspiel:go(board_size=9)`, `pettingzoo:mpe2.simple_tag_v3`,
        `python:package.module:factory`.
      num_envs: games in the batch, ≥ 1.
      seed: of everything random in the games.
      **options: `forfeit_illegal=True` makes an illegal action lose the game instead of raising;
        `isolation="process"` runs each environment that is no batch in a process of its own.

    Raises:
      UnknownGameError: names the id, what is known and the nearest of it.
      GameError: the game cannot be made or played.
    """
    return _of_family(game_id, lambda kind, name: kind.make(name, num_envs, seed, **options))


def spec(game_id: str, **options: Any) -> GameSpec:
    """Returns what a game is like. Args, Raises: as `make`."""
    return _of_family(game_id, lambda kind, name: kind.spec(name, **options))


def known_ids(prefix: str | None = None) -> list[str]:
    """Returns every id that `make` takes without parameters, of all families or of one, alone loaded then.

    Raises:
      UnknownGameError: no such family.
    """
    prefixes = family_prefixes() if prefix is None else (prefix,)
    return [f"{p}:{name}" for p in prefixes for name in family(p).names()]


def _of_family(game_id: str, ask: Callable[[GameFamily, str], T]) -> T:
    prefix, _, name = game_id.partition(":")
    if prefix not in _points() or not name:
        usages = ", ".join(family(p).usage for p in family_prefixes())
        raise UnknownGameError(f"unknown game {game_id!r}{_nearest(game_id)}; ids are {usages}")
    try:
        return ask(family(prefix), name)
    except UnknownGameError as error:
        raise UnknownGameError(f"{error}{_nearest(game_id)}") from error


def _nearest(game_id: str) -> str:
    wanted, known = game_id.split("(", 1)[0], known_ids()
    if wanted in known:  # the name is right; something else is not
        return ""
    candidates = [i for i in known if i.startswith(wanted + "_")][:1]
    if not candidates:
        candidates = difflib.get_close_matches(wanted, known, n=1, cutoff=0.8)
    if not candidates:  # a bare name, or the wrong family
        tail = wanted.rpartition(":")[2]
        candidates = [i for i in known if i.partition(":")[2] == tail][:1]
    return f"; did you mean {candidates[0]}?" if candidates else ""
