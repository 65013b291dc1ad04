"""`plugin:NAME(parameters)`: a game that another package brings, by entry point group `league.games`."""

from __future__ import annotations

from importlib.metadata import entry_points
from typing import Any

from envs.errors import UnknownGameError
from envs.families.python import made_by
from envs.family import GameFamily
from envs.ids import split_parameters
from envs.vector_game import VectorGame

GROUP = "league.games"


class PluginFamily(GameFamily):
    prefix = "plugin"
    usage = "plugin:NAME"

    def names(self) -> list[str]:
        return [point.name for point in entry_points(group=GROUP)]

    def make(self, name: str, num_envs: int, seed: int | None, **options: Any) -> VectorGame:
        short, parameters = split_parameters(name)
        points = {point.name: point for point in entry_points(group=GROUP)}
        game_id = f"{self.prefix}:{name}"
        if short not in points:
            known = ", ".join(points) or "none"
            raise UnknownGameError(f"{game_id}: no entry point of that name; known: {known}")
        return made_by(game_id, points[short].load(), parameters, num_envs, seed, **options)

    def versions(self) -> dict[str, str]:
        brought = [point.dist for point in entry_points(group=GROUP) if point.dist is not None]
        return {dist.name: dist.version for dist in brought}
