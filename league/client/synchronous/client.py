"""A typed client of the control plane.

league = LeagueClient("http://127.0.0.1:8000")
run = league.launch({"game": "native:connect_four", "stop": {"minutes": 5}, "players": [...]})
for event in league.events(run.id):
    print(event.kind, event.player)
"""

from __future__ import annotations

from league.client.synchronous.matches import Matches
from league.client.synchronous.players import Players
from league.client.synchronous.runs import Runs
from league.client.synchronous.server import Server


class LeagueClient(Runs, Players, Matches, Server):
    """Everything that the REST API offers. Players are named by (run, name).

    A request that finds the server busy or away is sent again, a POST with an idempotency key of its own, so
    that it is done once. Every method raises `ApiError`, which says what the server said.
    """
