"""The server itself: config checks, access tokens, the audit log, webhooks, games."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from league.client import schemas
from league.client.synchronous.transport import Transport, given, path_part


class Server(Transport):
    """The server itself: config checks, access tokens, the audit log, webhooks, games."""

    def check_config(self, config: dict[str, Any] | str) -> schemas.CheckedConfig:
        """Says whether a config would do; launches nothing. Args: config: as data or as YAML text."""
        source = {"yaml": config} if isinstance(config, str) else {"config": config}
        return self._post(schemas.CheckedConfig, "/configs/check", source, once=False)

    def tokens(self) -> schemas.TokenList:
        """Returns access tokens without themselves."""
        return self._get(schemas.TokenList, "/tokens")

    def create_token(self, name: str, scope: str, expires: str | None = None) -> schemas.NewToken:
        """Makes an access token; it is shown this once."""
        body = given({"name": name, "scope": scope, "expires": expires})
        return self._post(schemas.NewToken, "/tokens", body, once=False)

    def revoke_token(self, token_id: str) -> schemas.Token:
        """Ends an access token."""
        return self._post(schemas.Token, f"/tokens/{path_part(token_id)}/revoke")

    def audit(self, limit: int = 100, cursor: str | None = None) -> schemas.AuditList:
        """Returns who did what, newest first."""
        return self._get(schemas.AuditList, "/audit", limit=limit, cursor=cursor)

    def webhooks(self) -> schemas.WebhookList:
        """Returns where events are sent."""
        return self._get(schemas.WebhookList, "/webhooks")

    def add_webhook(self, url: str, kinds: Sequence[str] = (), run: str | None = None) -> schemas.NewWebhook:
        """Sends events to a URL; the secret that signs them is shown this once."""
        body = given({"url": url, "kinds": list(kinds), "run": run})
        return self._post(schemas.NewWebhook, "/webhooks", body, once=False)

    def delete_webhook(self, webhook_id: str) -> None:
        """Sends no more there."""
        self._request("DELETE", f"/webhooks/{path_part(webhook_id)}")

    def games(self, family: str | None = None) -> schemas.GameList:
        """Returns games by id."""
        return self._get(schemas.GameList, "/games", family=family)

    def game(self, game: str) -> schemas.Game:
        """Returns what a game is like."""
        return self._get(schemas.Game, f"/games/{path_part(game)}")
