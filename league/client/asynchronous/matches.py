"""What was played: series, games, tournaments, events, and games against people."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator, Sequence
from typing import Any

import httpx

from league.client import schemas
from league.client.asynchronous.transport import (
    API,
    FIRST_WAIT_SECONDS,
    AsyncTransport,
    error_of,
    given,
    path_part,
)


class AsyncMatches(AsyncTransport):
    """What was played: series, games, tournaments, events, and games against people."""

    async def matches(
        self, run: str, limit: int = 100, cursor: str | None = None, **filters: Any
    ) -> schemas.MatchList:
        """Returns a page of series. Args: filters: player, opponent, purpose, outcome, since, until."""
        return await self._get(
            schemas.MatchList, f"/runs/{path_part(run)}/matches", limit=limit, cursor=cursor, **filters
        )

    async def episodes(
        self, run: str, limit: int = 50, cursor: str | None = None, player: str | None = None
    ) -> schemas.EpisodeList:
        """Returns games that were written down."""
        return await self._get(
            schemas.EpisodeList, f"/runs/{path_part(run)}/episodes", limit=limit, cursor=cursor, player=player
        )

    async def replay(self, run: str, episode: int) -> schemas.Replay:
        """Returns a game move by move."""
        return await self._get(schemas.Replay, f"/runs/{path_part(run)}/episodes/{episode}")

    async def ask_tournament(self, run: str, players: Sequence[str], **rules: Any) -> schemas.Tournament:
        """Asks for a tournament. Args: rules: form, opponents, rounds, greedy, max_games, precision, …"""
        body = {"players": list(players), **rules}
        return await self._post(schemas.Tournament, f"/runs/{path_part(run)}/tournaments", body)

    async def tournament(self, tournament: int) -> schemas.Tournament:
        """Returns a tournament as far as it has been played."""
        return await self._get(schemas.Tournament, f"/tournaments/{tournament}")

    async def tournaments(
        self, run: str, limit: int = 50, cursor: str | None = None
    ) -> schemas.TournamentList:
        """Returns a page of a run's tournaments."""
        return await self._get(
            schemas.TournamentList, f"/runs/{path_part(run)}/tournaments", limit=limit, cursor=cursor
        )

    async def cancel_tournament(self, tournament: int) -> schemas.Tournament:
        """Breaks a tournament off."""
        return await self._post(schemas.Tournament, f"/tournaments/{tournament}/cancel")

    async def wait_for_tournament(self, tournament: int, poll_seconds: float = 1.0) -> schemas.Tournament:
        """Returns a tournament when it is over."""
        while (result := await self.tournament(tournament)).state in ("pending", "running"):
            await asyncio.sleep(poll_seconds)
        return result

    async def past_events(
        self, run: str, limit: int = 100, cursor: str | None = None, **filters: Any
    ) -> schemas.EventList:
        """Returns a page of events, newest first. Args: filters: kind (a list), player."""
        return await self._get(
            schemas.EventList, f"/runs/{path_part(run)}/events/log", limit=limit, cursor=cursor, **filters
        )

    async def events(
        self, run: str, after: int = 0, kinds: Sequence[str] = (), player: str | None = None
    ) -> AsyncIterator[schemas.Event]:
        """Yields a run's events from after one on, as they come; a stream that breaks is taken up again."""
        last = after
        while True:
            params = given({"after": last, "kind": list(kinds), "player": player})
            path = f"{API}/runs/{path_part(run)}/events"
            try:
                async with self._http.stream("GET", path, params=params, timeout=60.0) as answer:
                    if answer.status_code != 200:
                        await answer.aread()
                        raise error_of(answer)
                    fields: dict[str, str] = {}
                    async for line in answer.aiter_lines():
                        name, _, value = line.partition(":")
                        if name:
                            fields[name] = value.removeprefix(" ")
                        elif not line:
                            if "id" in fields:
                                last = int(fields["id"])
                                yield event_of(last, json.loads(fields["data"]))
                            fields = {}
            except httpx.TransportError:
                pass
            await asyncio.sleep(FIRST_WAIT_SECONDS)

    async def begin_play(
        self, run: str, player: str, name: str, *, seat: int = 0, rated: bool = False
    ) -> schemas.Play:
        """Begins a game against a player. Args: name: yours. seat: yours. rated: the result counts."""
        body = {"player": player, "name": name, "seat": seat, "rated": rated}
        return await self._post(schemas.Play, f"/runs/{path_part(run)}/plays", body)

    async def play(self, play: str) -> schemas.Play:
        """Returns a game as it stands."""
        return await self._get(schemas.Play, f"/plays/{path_part(play)}")

    async def move(self, play: str, action: int) -> schemas.Play:
        """Plays your move and the player's answer."""
        return await self._post(schemas.Play, f"/plays/{path_part(play)}/moves", {"action": action})

    async def undo(self, play: str) -> schemas.Play:
        """Takes your last move back."""
        return await self._post(schemas.Play, f"/plays/{path_part(play)}/undo")

    async def resign(self, play: str) -> schemas.Play:
        """Gives a game up."""
        return await self._post(schemas.Play, f"/plays/{path_part(play)}/resign")

    async def hint(self, play: str) -> schemas.Hint:
        """Returns what the player would do in your place."""
        return await self._get(schemas.Hint, f"/plays/{path_part(play)}/hint")


def event_of(number: int, data: dict[str, Any]) -> schemas.Event:
    known = {name: data.pop(name, None) for name in ("kind", "player", "by", "at")}
    return schemas.Event(id=number, data=data, **known)
