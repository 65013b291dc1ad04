"""The contract of a game family: every game whose id begins with one prefix.

A family is one file with one class, found by `envs.registry` under its prefix. Nothing of its games is
imported before one of them, or the list of them, is asked for.
"""

from __future__ import annotations

from collections.abc import Sequence
from importlib import metadata
from typing import Any, ClassVar, Protocol

from envs.spec import GameSpec
from envs.vector_game import VectorGame


class GameFamily(Protocol):
    """A kind of game.

    Attributes:
      prefix: of its ids, before the colon. usage: how they read, for whoever has mistyped one.
    """

    prefix: ClassVar[str]
    usage: ClassVar[str]

    def names(self) -> Sequence[str]:
        """Returns the games that can be had here without parameters, without the prefix."""
        ...

    def make(self, name: str, num_envs: int, seed: int | None, **options: Any) -> VectorGame:
        """Makes a batch of games.

        Args:
          name: what stands behind the prefix, with parameters. num_envs: 1 at least.
          **options: those of `envs.make`; one that says nothing to this family is passed over.

        Raises:
          UnknownGameError: no such game, or a parameter that it does not take. GameError: it cannot be made.
        """
        ...

    def spec(self, name: str, **options: Any) -> GameSpec:
        """Returns what a game is like; by default by making one. Raises: as `make`."""
        game = self.make(name, 1, None, **options)
        game.close()
        return game.spec

    def versions(self) -> dict[str, str]:
        """Returns the packages that its games come from, with their versions. By default none."""
        return {}


def versions_of(*packages: str) -> dict[str, str]:
    """Returns the versions of those of these packages that are installed."""
    result = {}
    for package in packages:
        try:
            result[package] = metadata.version(package)
        except metadata.PackageNotFoundError:
            continue
    return result
