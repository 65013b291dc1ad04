"""`native:NAME(parameters)`: League's own games, written for batches."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from typing import Any

from envs.errors import UnknownGameError
from envs.family import GameFamily, versions_of
from envs.ids import split_parameters
from envs.native.breakthrough import Breakthrough
from envs.native.connect_four import ConnectFour
from envs.native.kuhn_poker import KuhnPoker
from envs.native.leduc_poker import LeducPoker
from envs.native.matrix import TABLES, MatrixGame
from envs.native.pong import Pong
from envs.native.tic_tac_toe import TicTacToe
from envs.vector_game import VectorGame

GAMES: dict[str, Callable[..., VectorGame]] = {
    "breakthrough": Breakthrough,
    "connect_four": ConnectFour,
    "kuhn_poker": KuhnPoker,
    "leduc_poker": LeducPoker,
    "pong": Pong,
    "tic_tac_toe": TicTacToe,
}


class NativeFamily(GameFamily):
    prefix = "native"
    usage = f"native:NAME ({', '.join(GAMES)}), native:matrix(TABLE)"

    def names(self) -> list[str]:
        return [*GAMES, *(f"matrix({name})" for name in TABLES)]

    def make(
        self, name: str, num_envs: int, seed: int | None, *, forfeit_illegal: bool = False, **_: Any
    ) -> VectorGame:
        if name.startswith("matrix(") and name.endswith(")"):
            table = name.removeprefix("matrix(").removesuffix(")")
            return MatrixGame(table, num_envs, seed, forfeit_illegal=forfeit_illegal)
        if name.partition("(")[0] not in GAMES:
            raise UnknownGameError(f"unknown game 'native:{name}'")
        short, parameters = split_parameters(name)
        game = GAMES[short]
        of_all = ("num_envs", "seed", "forfeit_illegal")
        known = [p for p in inspect.signature(game).parameters if p not in of_all]
        for key in parameters:
            if key not in known:
                takes = f"it takes {', '.join(known)}" if known else "it takes none"
                raise UnknownGameError(f"native:{name}: unknown parameter {key!r}; {takes}")
        return game(num_envs, seed, forfeit_illegal=forfeit_illegal, **parameters)

    def versions(self) -> dict[str, str]:
        return versions_of("selfplay-league")
