"""`python:package.module:factory(parameters)`: a user's own game, by its module and factory."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from envs.errors import GameError
from envs.family import GameFamily
from envs.ids import split_parameters
from envs.importing import imported
from envs.tables.batch import from_factory
from envs.vector_game import VectorGame


class PythonFamily(GameFamily):
    prefix = "python"
    usage = "python:MODULE:FACTORY"

    def names(self) -> list[str]:
        return []  # nobody knows what there is

    def make(self, name: str, num_envs: int, seed: int | None, **options: Any) -> VectorGame:
        path, parameters = split_parameters(name)
        game_id = f"{self.prefix}:{name}"
        return made_by(game_id, imported(game_id, path), parameters, num_envs, seed, **options)


def made_by(
    game_id: str,
    factory: Callable[..., Any],
    parameters: dict[str, Any],
    num_envs: int,
    seed: int | None,
    *,
    forfeit_illegal: bool = False,
    **options: Any,
) -> VectorGame:
    """Makes a batch of what a user brings: a `VectorGame`'s class, or what makes a PettingZoo environment.

    Raises:
      GameError: it cannot be made.
    """
    if isinstance(factory, type) and issubclass(factory, VectorGame):
        try:
            return factory(num_envs, seed, forfeit_illegal=forfeit_illegal, **parameters)  # type: ignore[call-arg]
        except GameError:
            raise
        except Exception as error:
            raise GameError(f"{game_id} cannot be made: {type(error).__name__}: {error}") from error
    return from_factory(
        game_id, factory, parameters, num_envs, seed, forfeit_illegal=forfeit_illegal, **options
    )
