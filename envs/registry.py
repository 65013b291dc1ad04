"""From a game id to a batch of games."""

from __future__ import annotations

import difflib
from collections.abc import Callable
from typing import Any

import pyspiel

from envs.errors import UnknownGameError
from envs.native.connect_four import ConnectFour
from envs.native.matrix import TABLES, MatrixGame
from envs.openspiel import OpenSpielGame
from envs.vector_game import VectorGame

NATIVE: dict[str, Callable[..., VectorGame]] = {"connect_four": ConnectFour}


def make(game_id: str, num_envs: int, seed: int | None = None, **kwargs: Any) -> VectorGame:
    """Makes `num_envs` independent games.

    Args:
      game_id: `native:NAME`; `native:matrix(TABLE)`, see `envs.native.matrix`; or `openspiel:NAME` with
        OpenSpiel's parameters (`openspiel:go(board_size=9)`).
      num_envs: games in the batch, ≥ 1.
      seed: of everything random in the games.
      **kwargs: `forfeit_illegal=True` makes an illegal action lose the game instead of raising.

    Raises:
      UnknownGameError: names the id, what is known and the nearest of it.
    """
    family, _, name = game_id.partition(":")
    if family == "native" and name in NATIVE:
        return NATIVE[name](num_envs, seed, **kwargs)
    if family == "native" and name.startswith("matrix(") and name.endswith(")"):
        return MatrixGame(name.removeprefix("matrix(").removesuffix(")"), num_envs, seed, **kwargs)
    if family == "openspiel" and name:
        try:
            return OpenSpielGame(name, num_envs, seed, **kwargs)
        except UnknownGameError as error:
            raise UnknownGameError(f"{error}{_nearest(game_id)}") from error
    raise UnknownGameError(
        f"unknown game {game_id!r}{_nearest(game_id)}; ids are native:NAME ({', '.join(NATIVE)}), "
        "native:matrix(TABLE) or openspiel:NAME"
    )


def known_ids() -> list[str]:
    """Returns every id that `make` takes without parameters."""
    native = [*NATIVE, *(f"matrix({name})" for name in TABLES)]
    return [f"native:{name}" for name in native] + [f"openspiel:{n}" for n in pyspiel.registered_names()]


def _nearest(game_id: str) -> str:
    wanted = game_id.split("(", 1)[0]
    candidates = [i for i in known_ids() if i.startswith(wanted + "_")][:1]
    if not candidates:
        candidates = difflib.get_close_matches(wanted, known_ids(), n=1, cutoff=0.8)
    if not candidates:  # a bare name, or the wrong family
        tail = wanted.rpartition(":")[2]
        candidates = [i for i in known_ids() if i.partition(":")[2] == tail][:1]
    return f"; did you mean {candidates[0]}?" if candidates else ""
