"""From a game id to a batch of games."""

from __future__ import annotations

import difflib
import importlib.util
import inspect
from collections.abc import Callable
from importlib.metadata import entry_points
from pathlib import Path
from typing import Any

import pyspiel

from envs.errors import UnknownGameError
from envs.foreign import make_foreign
from envs.ids import split_parameters
from envs.native.breakthrough import Breakthrough
from envs.native.connect_four import ConnectFour
from envs.native.kuhn_poker import KuhnPoker
from envs.native.leduc_poker import LeducPoker
from envs.native.matrix import TABLES, MatrixGame
from envs.native.pong import Pong
from envs.native.tic_tac_toe import TicTacToe
from envs.openspiel import OpenSpielGame
from envs.pettingzoo import PACKAGES, make_pettingzoo
from envs.vector_game import VectorGame

NATIVE: dict[str, Callable[..., VectorGame]] = {
    "breakthrough": Breakthrough,
    "connect_four": ConnectFour,
    "kuhn_poker": KuhnPoker,
    "leduc_poker": LeducPoker,
    "pong": Pong,
    "tic_tac_toe": TicTacToe,
}


def make(game_id: str, num_envs: int, seed: int | None = None, **kwargs: Any) -> VectorGame:
    """Makes `num_envs` independent games.

    Args:
      game_id: `native:NAME(parameters)`; `native:matrix(TABLE)`, see `envs.native.matrix`; `openspiel:NAME`
        with OpenSpiel's parameters (`openspiel:go(board_size=9)`); `pettingzoo:FAMILY.NAME`
        (`pettingzoo:mpe2.simple_tag_v3`); `python:package.module:factory`, a VectorGame's class or anything
        that makes a PettingZoo environment; `plugin:NAME`, the same by entry point `league.games`.
      num_envs: games in the batch, ≥ 1.
      seed: of everything random in the games.
      **kwargs: `forfeit_illegal=True` makes an illegal action lose the game instead of raising;
        `isolation="process"` runs each foreign environment in a process of its own.

    Raises:
      UnknownGameError: names the id, what is known and the nearest of it.
      GameError: the game cannot be made or played.
    """
    family, _, name = game_id.partition(":")
    isolation = kwargs.pop("isolation", "none")
    if family == "native" and name.startswith("matrix(") and name.endswith(")"):
        return MatrixGame(name.removeprefix("matrix(").removesuffix(")"), num_envs, seed, **kwargs)
    if family == "native" and name.partition("(")[0] in NATIVE:
        short, parameters = split_parameters(name)
        return _native(game_id, NATIVE[short], parameters, num_envs, seed, kwargs)
    if family == "openspiel" and name:
        try:
            return OpenSpielGame(name, num_envs, seed, **kwargs)
        except UnknownGameError as error:
            raise UnknownGameError(f"{error}{_nearest(game_id)}") from error
    if family == "pettingzoo" and name:
        try:
            return make_pettingzoo(name, num_envs, seed, isolation=isolation, **kwargs)
        except UnknownGameError as error:
            raise UnknownGameError(f"{error}{_nearest(game_id)}") from error
    if family in ("python", "plugin") and name:
        return make_foreign(family, name, num_envs, seed, isolation=isolation, **kwargs)
    raise UnknownGameError(
        f"unknown game {game_id!r}{_nearest(game_id)}; ids are native:NAME ({', '.join(NATIVE)}), "
        "native:matrix(TABLE), openspiel:NAME, pettingzoo:FAMILY.NAME, python:MODULE:FACTORY or plugin:NAME"
    )


def _native(
    game_id: str,
    game: Callable[..., VectorGame],
    parameters: dict[str, Any],
    num_envs: int,
    seed: int | None,
    kwargs: dict[str, Any],
) -> VectorGame:
    known = [
        p for p in inspect.signature(game).parameters if p not in ("num_envs", "seed", "forfeit_illegal")
    ]
    for key in parameters:
        if key not in known:
            takes = f"it takes {', '.join(known)}" if known else "it takes none"
            raise UnknownGameError(f"{game_id}: unknown parameter {key!r}; {takes}")
    return game(num_envs, seed, **parameters, **kwargs)


def known_ids() -> list[str]:
    """Returns every id that `make` takes without parameters."""
    native = [*NATIVE, *(f"matrix({name})" for name in TABLES)]
    return [
        *(f"native:{name}" for name in native),
        *(f"openspiel:{name}" for name in pyspiel.registered_names()),
        *(f"pettingzoo:{name}" for name in _pettingzoo_names()),
        *(f"plugin:{point.name}" for point in entry_points(group="league.games")),
    ]


def _pettingzoo_names() -> list[str]:
    """Returns the environments that are installed here, by their files: importing them takes seconds."""
    found = []
    for package, path in PACKAGES.items():
        spec = importlib.util.find_spec(path.partition(".")[0])
        for root in (spec.submodule_search_locations or []) if spec else []:
            folder = Path(root, *path.split(".")[1:])
            found += sorted(f"{package}.{file.stem}" for file in folder.glob("*_v*.py"))
    return found


def _nearest(game_id: str) -> str:
    wanted = game_id.split("(", 1)[0]
    if wanted in known_ids():  # the name is right; something else is not
        return ""
    candidates = [i for i in known_ids() if i.startswith(wanted + "_")][:1]
    if not candidates:
        candidates = difflib.get_close_matches(wanted, known_ids(), n=1, cutoff=0.8)
    if not candidates:  # a bare name, or the wrong family
        tail = wanted.rpartition(":")[2]
        candidates = [i for i in known_ids() if i.partition(":")[2] == tail][:1]
    return f"; did you mean {candidates[0]}?" if candidates else ""
