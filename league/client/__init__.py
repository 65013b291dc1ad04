"""The REST API from Python: a client, the same for asyncio, and the schemas both sides share."""

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from league.client.asynchronous.client import AsyncLeagueClient as AsyncLeagueClient
    from league.client.synchronous.client import LeagueClient as LeagueClient

__all__ = ["AsyncLeagueClient", "LeagueClient"]

_HOMES = {"AsyncLeagueClient": "asynchronous.client", "LeagueClient": "synchronous.client"}


def __getattr__(name: str) -> Any:
    # On first use: who imports the schemas need not wait for an HTTP client.
    if name in _HOMES:
        import importlib

        return getattr(importlib.import_module(f"league.client.{_HOMES[name]}"), name)
    raise AttributeError(f"module 'league.client' has no attribute {name!r}")
