"""A config's YAML as data."""

from __future__ import annotations

from typing import Any

import yaml

from league.errors import ConfigError


class _NoAliases(yaml.SafeLoader):
    """Safe YAML without references: a few lines of them can stand for more than fits into memory."""

    def compose_node(self, parent: Any, index: Any) -> Any:
        if self.check_event(yaml.AliasEvent):
            raise yaml.YAMLError("references (*name) are not allowed")
        return super().compose_node(parent, index)


def read_yaml(text: str, source: str) -> dict[str, Any]:
    """Returns a config's YAML as data. Raises: ConfigError: it is none, or no table of keys."""
    try:
        data = yaml.load(text, _NoAliases)  # noqa: S506  a SafeLoader
    except (yaml.YAMLError, RecursionError, ValueError) as error:
        raise ConfigError(f"{source}: not YAML: {' '.join(str(error).split())}") from error
    if not isinstance(data, dict):
        raise ConfigError(f"{source}: expected keys such as game, players, stop; got {type(data).__name__}")
    return data
