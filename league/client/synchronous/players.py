"""Players of a run: who is in the pool, who joins or leaves, what they would play."""

from __future__ import annotations

import json
import secrets
from collections.abc import Sequence
from typing import Any

from league.client import schemas
from league.client.synchronous.transport import Transport, given, path_part, player_path


class Players(Transport):
    """Players of a run: who is in the pool, who joins or leaves, what they would play."""

    def players(
        self, run: str, limit: int = 100, cursor: str | None = None, **filters: Any
    ) -> schemas.PlayerList:
        """Returns a page of a run's players. Args: filters: role, state, parent, text."""
        return self._get(
            schemas.PlayerList, f"/runs/{path_part(run)}/players", limit=limit, cursor=cursor, **filters
        )

    def player(self, run: str, name: str) -> schemas.Player:
        """Returns a player."""
        return self._get(schemas.Player, player_path(run, name))

    def add_player(
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
        return self._post(
            schemas.Command, f"/runs/{path_part(run)}/players", {"name": name, "tags": list(tags), **body}
        )

    def describe_player(
        self, run: str, name: str, *, label: str | None = None, tags: Sequence[str] | None = None
    ) -> schemas.Command:
        """Gives a player a label or tags."""
        body = given({"label": label, "tags": None if tags is None else list(tags)})
        return self._patch(schemas.Command, player_path(run, name), body)

    def freeze(self, run: str, name: str) -> schemas.Command:
        """Ends a player's learning."""
        return self._post(schemas.Command, f"{player_path(run, name)}/freeze")

    def unfreeze(self, run: str, name: str) -> schemas.Command:
        """Lets a frozen learner go on."""
        return self._post(schemas.Command, f"{player_path(run, name)}/unfreeze")

    def retire(self, run: str, name: str) -> schemas.Command:
        """Takes a player out of every match."""
        return self._post(schemas.Command, f"{player_path(run, name)}/retire")

    def pin(self, run: str, name: str) -> schemas.Command:
        """Makes a frozen player an anchor."""
        return self._post(schemas.Command, f"{player_path(run, name)}/pin")

    def unpin(self, run: str, name: str) -> schemas.Command:
        """Makes an anchor what it was."""
        return self._post(schemas.Command, f"{player_path(run, name)}/unpin")

    def roll_back(self, run: str, name: str, to: str) -> schemas.Command:
        """Lets a learner go on from another player's weights."""
        return self._post(schemas.Command, f"{player_path(run, name)}/rollback", {"to": to})

    def branch(
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
        return self._post(schemas.Command, f"{player_path(run, name)}/branch", body)

    def command(self, run: str, command: int) -> schemas.Command:
        """Returns whether something asked for has been done."""
        return self._get(schemas.Command, f"/runs/{path_part(run)}/commands/{command}")

    def checkpoint(self, run: str, name: str) -> bytes:
        """Returns a player's weights, safetensors."""
        return (self._request("GET", f"{player_path(run, name)}/checkpoint")).content

    def upload(self, data: bytes, network: dict[str, Any] | None = None) -> schemas.Checkpoint:
        """Uploads weights; returns their sha256. Args: network: what they are of, if they do not say it."""
        params = {} if network is None else {"network": json.dumps(network)}
        headers = {"Content-Type": "application/octet-stream", "Idempotency-Key": secrets.token_hex(16)}
        answer = self._request("POST", "/checkpoints", params=params, content=data, headers=headers)
        return schemas.Checkpoint.model_validate_json(answer.content)

    def standing(self, run: str, name: str) -> schemas.Standing:
        """Returns a player's row of the standings."""
        return self._get(schemas.Standing, f"{player_path(run, name)}/standing")

    def player_ratings(self, run: str, name: str, system: str = "trueskill") -> schemas.RatingHistory:
        """Returns a player's rating over time."""
        return self._get(schemas.RatingHistory, f"{player_path(run, name)}/ratings", system=system)

    def opponents(self, run: str, name: str) -> schemas.HeadToHead:
        """Returns what a player scored against everybody it has met."""
        return self._get(schemas.HeadToHead, f"{player_path(run, name)}/opponents")

    def lineage(self, run: str, name: str) -> schemas.PlayerList:
        """Returns a player and whom it was copied from."""
        return self._get(schemas.PlayerList, f"{player_path(run, name)}/lineage")

    def act(
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
        return self._post(schemas.Acted, f"{player_path(run, name)}/act", body, once=False)
