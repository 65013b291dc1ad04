"""A user's own game: by its module and factory, or by an entry point of the package that brings it."""

from __future__ import annotations

import importlib
import os
import sys
from collections.abc import Callable
from importlib.metadata import entry_points
from typing import Any

from envs.errors import GameError, UnknownGameError
from envs.ids import split_parameters
from envs.pettingzoo import from_factory
from envs.vector_game import VectorGame


def make_foreign(
    family: str, name: str, num_envs: int, seed: int | None, *, isolation: str, forfeit_illegal: bool = False
) -> VectorGame:
    """Makes `python:MODULE:FACTORY(parameters)` or `plugin:NAME(parameters)`.

    Raises:
      UnknownGameError: there is no such module, factory or entry point. GameError: it cannot be made.
    """
    path, parameters = split_parameters(name)
    game_id = f"{family}:{name}"
    factory = imported(game_id, path) if family == "python" else _plugged(game_id, path)
    if isinstance(factory, type) and issubclass(factory, VectorGame):
        try:
            return factory(num_envs, seed, forfeit_illegal=forfeit_illegal, **parameters)  # type: ignore[call-arg]
        except GameError:
            raise
        except Exception as error:
            raise GameError(f"{game_id} cannot be made: {type(error).__name__}: {error}") from error
    return from_factory(
        game_id, factory, parameters, num_envs, seed, forfeit_illegal=forfeit_illegal, isolation=isolation
    )


def imported(game_id: str, path: str) -> Callable[..., Any]:
    """Returns what `package.module:name` is, looked for in the working folder too.

    Args:
      game_id: how the user has named it, for errors.

    Raises:
      UnknownGameError: there is no such module or name. GameError: importing it raised.
    """
    module_name, colon, factory_name = path.partition(":")
    if not colon or not module_name or not factory_name:
        raise UnknownGameError(f"{game_id}: expected python:package.module:name")
    if os.getcwd() not in sys.path:  # the installed command does not look where it is run
        sys.path.insert(0, os.getcwd())
    try:
        module = importlib.import_module(module_name)
    except ImportError as error:
        raise UnknownGameError(f"{game_id}: {error} (looked in {os.getcwd()} too)") from error
    except Exception as error:
        raise GameError(f"{game_id}: importing it raised {type(error).__name__}: {error}") from error
    factory = getattr(module, factory_name, None)
    if not callable(factory):
        names = [n for n, v in vars(module).items() if callable(v) and not n.startswith("_")]
        raise UnknownGameError(f"{game_id}: {module_name} has no {factory_name}; it has {', '.join(names)}")
    return factory  # type: ignore[no-any-return]


def _plugged(game_id: str, name: str) -> Callable[..., Any]:
    points = {point.name: point for point in entry_points(group="league.games")}
    if name not in points:
        raise UnknownGameError(
            f"{game_id}: no entry point of that name; known: {', '.join(points) or 'none'}"
        )
    factory: Callable[..., Any] = points[name].load()
    return factory
