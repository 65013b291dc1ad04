"""Players of a run: who is in the pool, who joins or leaves, what they would play."""

from __future__ import annotations

import json
import secrets
from collections.abc import Sequence
from typing import Any

from league.client import schemas
from league.client.asynchronous.transport import AsyncTransport, given, path_part, player_path


class AsyncPlayers(AsyncTransport):
    """Players of a run: who is in the pool, who joins or leaves, what they would play."""

    async def players(
        self, run: str, limit: int = 100, cursor: str | None = None, **filters: Any
    ) -> schemas.PlayerList:
        """Returns a page of a run's players. Args: filters: role, state, parent, text."""
        return await self._get(
            schemas.PlayerList, f"/runs/{path_part(run)}/players", limit=limit, cursor=cursor, **filters
        )

    async def player(self, run: str, name: str) -> schemas.Player:
        """Returns a player."""
        return await self._get(schemas.Player, player_path(run, name))

    async def add_player(
        self,
        run: str,
        name: str,
        *,
        checkpoint: str | None = None,
        source: tuple[str | None, str] | None = None,
        bot: str | None = None,
        url: str | None = None,
        search: int | None = None,
        label: str | None = None,
        tags: Sequence[str] = (),
    ) -> schemas.Command:
        """Takes somebody into the pool; give one of checkpoint (sha256), source (run, player), bot, url.

        Args: search: positions that a checkpoint's or a source's network looks at before each move.
        """
        body = given({"checkpoint": checkpoint, "bot": bot, "url": url, "search": search, "label": label})
        if source is not None:
            body["from"] = given({"run": source[0], "player": source[1]})
        return await self._post(
            schemas.Command, f"/runs/{path_part(run)}/players", {"name": name, "tags": list(tags), **body}
        )

    async def describe_player(
        self, run: str, name: str, *, label: str | None = None, tags: Sequence[str] | None = None
    ) -> schemas.Command:
        """Gives a player a label or tags."""
        body = given({"label": label, "tags": None if tags is None else list(tags)})
        return await self._patch(schemas.Command, player_path(run, name), body)

    async def freeze(self, run: str, name: str) -> schemas.Command:
        """Ends a player's learning."""
        return await self._post(schemas.Command, f"{player_path(run, name)}/freeze")

    async def unfreeze(self, run: str, name: str) -> schemas.Command:
        """Lets a frozen learner go on."""
        return await self._post(schemas.Command, f"{player_path(run, name)}/unfreeze")

    async def retire(self, run: str, name: str) -> schemas.Command:
        """Takes a player out of every match."""
        return await self._post(schemas.Command, f"{player_path(run, name)}/retire")

    async def pin(self, run: str, name: str) -> schemas.Command:
        """Makes a frozen player an anchor."""
        return await self._post(schemas.Command, f"{player_path(run, name)}/pin")

    async def unpin(self, run: str, name: str) -> schemas.Command:
        """Makes an anchor what it was."""
        return await self._post(schemas.Command, f"{player_path(run, name)}/unpin")

    async def roll_back(self, run: str, name: str, to: str) -> schemas.Command:
        """Lets a learner go on from another player's weights."""
        return await self._post(schemas.Command, f"{player_path(run, name)}/rollback", {"to": to})

    async def branch(
        self,
        run: str,
        name: str,
        *,
        copy: str | None = None,
        learn: bool = False,
        role: str | None = None,
        share: float | None = None,
    ) -> schemas.Command:
        """Copies a player.

        Args:
          copy: the copy's name, of one that stays as it is. role, share: of one that learns.
        """
        body = given({"name": copy, "learn": learn, "role": role, "share": share})
        return await self._post(schemas.Command, f"{player_path(run, name)}/branch", body)

    async def command(self, run: str, command: int) -> schemas.Command:
        """Returns whether something asked for has been done."""
        return await self._get(schemas.Command, f"/runs/{path_part(run)}/commands/{command}")

    async def checkpoint(self, run: str, name: str) -> bytes:
        """Returns a player's weights, safetensors."""
        return (await self._request("GET", f"{player_path(run, name)}/checkpoint")).content

    async def upload(self, data: bytes, network: dict[str, Any] | None = None) -> schemas.Checkpoint:
        """Uploads weights; returns their sha256. Args: network: what they are of, if they do not say it."""
        params = {} if network is None else {"network": json.dumps(network)}
        headers = {"Content-Type": "application/octet-stream", "Idempotency-Key": secrets.token_hex(16)}
        answer = await self._request("POST", "/checkpoints", params=params, content=data, headers=headers)
        return schemas.Checkpoint.model_validate_json(answer.content)

    async def standing(self, run: str, name: str) -> schemas.Standing:
        """Returns a player's row of the standings."""
        return await self._get(schemas.Standing, f"{player_path(run, name)}/standing")

    async def player_ratings(self, run: str, name: str, system: str = "trueskill") -> schemas.RatingHistory:
        """Returns a player's rating over time."""
        return await self._get(schemas.RatingHistory, f"{player_path(run, name)}/ratings", system=system)

    async def opponents(self, run: str, name: str) -> schemas.HeadToHead:
        """Returns what a player scored against everybody it has met."""
        return await self._get(schemas.HeadToHead, f"{player_path(run, name)}/opponents")

    async def lineage(self, run: str, name: str) -> schemas.PlayerList:
        """Returns a player and whom it was copied from."""
        return await self._get(schemas.PlayerList, f"{player_path(run, name)}/lineage")

    async def act(
        self,
        run: str,
        name: str,
        observation: Sequence[Any] | dict[str, Any],
        legal: Sequence[Any] | None = None,
        *,
        memory: Sequence[Any] | None = None,
        temperature: float = 1.0,
        details: bool = False,
    ) -> schemas.Acted:
        """Returns what a player would do. Args: memory: of the answer before, for a player with one."""
        body = {"observation": observation, "legal": legal, "temperature": temperature, "details": details}
        if memory is not None:
            body["memory"] = memory
        return await self._post(schemas.Acted, f"{player_path(run, name)}/act", body, once=False)
