"""A typed client of the control plane, for asyncio. `league.client.LeagueClient` is the same without it.

async with AsyncLeagueClient("http://127.0.0.1:8000") as league:
    run = await league.launch({"game": "native:connect_four", "stop": {"minutes": 5}, "players": [...]})
    async for event in league.events(run.id):
        print(event.kind, event.player)
"""

from __future__ import annotations

from league.client.asynchronous.matches import AsyncMatches
from league.client.asynchronous.players import AsyncPlayers
from league.client.asynchronous.runs import AsyncRuns
from league.client.asynchronous.server import AsyncServer


class AsyncLeagueClient(AsyncRuns, AsyncPlayers, AsyncMatches, AsyncServer):
    """Everything that the REST API offers. Players are named by (run, name).

    A request that finds the server busy or away is sent again, a POST with an idempotency key of its own, so
    that it is done once. Every method raises `ApiError`, which says what the server said.
    """
