"""`pettingzoo:FAMILY.NAME(parameters)`: the environments of PettingZoo and its kin."""

from __future__ import annotations

import importlib
import importlib.util
from pathlib import Path
from typing import Any

from envs.errors import GameError, UnknownGameError
from envs.family import GameFamily, versions_of
from envs.ids import split_parameters
from envs.tables.batch import PettingZooGame, from_factory

# Where PettingZoo's environments of each family live; its particle worlds are a package of their own now.
PACKAGES = {
    "classic": "pettingzoo.classic",
    "butterfly": "pettingzoo.butterfly",
    "sisl": "pettingzoo.sisl",
    "mpe2": "mpe2",
}
# Games whose seats all win and lose together.
COOPERATIVE = (
    "cooperative_pong", "knights_archers_zombies", "pistonball", "multiwalker", "pursuit", "waterworld",
    "hanabi", "simple_spread", "simple_speaker_listener", "simple_reference", "simple_formation",
    "simple_line", "simple", "collect_treasure",
)  # fmt: skip
# Those of one team by what their names begin with; everybody else is the other team.
OPPOSED = {
    "simple_adversary": "adversary", "simple_crypto": "eve", "simple_push": "adversary",
    "simple_tag": "adversary", "simple_world_comm": ("adversary", "leadadversary"),
}  # fmt: skip
ZERO_SUM = ("chess", "connect_four", "go", "tictactoe", "rps", "leduc_holdem", "texas_holdem")


class PettingZooFamily(GameFamily):
    prefix = "pettingzoo"
    usage = "pettingzoo:FAMILY.NAME"

    def names(self) -> list[str]:
        """Returns the environments that are installed here, by their files: importing them takes seconds."""
        result = []
        for package, path in PACKAGES.items():
            spec = importlib.util.find_spec(path.partition(".")[0])
            for root in (spec.submodule_search_locations or []) if spec else []:
                folder = Path(root, *path.split(".")[1:])
                result += sorted(f"{package}.{file.stem}" for file in folder.glob("*_v*.py"))
        return result

    def make(self, name: str, num_envs: int, seed: int | None, **options: Any) -> PettingZooGame:
        """Makes `classic.connect_four_v3`, `mpe2.simple_tag_v3(max_cycles=50)`, …

        Parameters that `PettingZooGame` knows are its own, the others go to the environment.

        Raises:
          UnknownGameError: no such module. GameError: it cannot be made or played.
        """
        path, parameters = split_parameters(name)
        game_id = f"pettingzoo:{name}"
        package, _, module_name = path.partition(".")
        if package not in PACKAGES or not module_name:
            raise UnknownGameError(
                f"{game_id}: expected one of {', '.join(PACKAGES)}, a dot and a module's name"
            )
        module_path = f"{PACKAGES[package]}.{module_name}"
        try:
            module = importlib.import_module(module_path)
        except ModuleNotFoundError as error:
            if error.name == module_path:
                raise UnknownGameError(f"{game_id}: {package} has no environment of that name") from error
            raise UnknownGameError(
                f"{game_id}: {error}; the environments come with pip install 'selfplay-league[games]'"
            ) from error
        except ImportError as error:
            raise GameError(f"{game_id} cannot be imported: {error}") from error
        factory = getattr(module, "parallel_env", None) or getattr(module, "env", None)
        if factory is None:
            raise UnknownGameError(f"{game_id}: {module_path} has neither parallel_env nor env")
        short = module_name.rpartition("_v")[0]
        if short in COOPERATIVE:
            options.setdefault("teams", "all")
        elif short in OPPOSED:
            options.setdefault("teams", OPPOSED[short])
        options.setdefault("zero_sum", short.startswith(ZERO_SUM))
        if short == "cooperative_pong":  # without it the agents see black
            parameters.setdefault("render_mode", "rgb_array")
        return from_factory(game_id, factory, parameters, num_envs, seed, **options)

    def versions(self) -> dict[str, str]:
        return versions_of("pettingzoo", "mpe2")
