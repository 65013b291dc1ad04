"""`openspiel:NAME(parameters)`: any game of OpenSpiel's that shows its players tensors."""

from __future__ import annotations

from typing import Any

import pyspiel

from envs.family import GameFamily, versions_of
from envs.openspiel.game import OpenSpielGame


class OpenSpielFamily(GameFamily):
    prefix = "openspiel"
    usage = "openspiel:NAME"

    def names(self) -> list[str]:
        return list(pyspiel.registered_names())

    def make(
        self, name: str, num_envs: int, seed: int | None, *, forfeit_illegal: bool = False, **_: Any
    ) -> OpenSpielGame:
        return OpenSpielGame(name, num_envs, seed, forfeit_illegal=forfeit_illegal)

    def versions(self) -> dict[str, str]:
        return versions_of("open_spiel")
