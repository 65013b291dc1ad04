"""What a user's id names by module and name: a game, a network."""

from __future__ import annotations

import importlib
import os
import sys
from collections.abc import Callable
from typing import Any

from envs.errors import GameError, UnknownGameError


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
