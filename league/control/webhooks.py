"""Events sent to URLs, signed, in order, again until they arrive.

Headers and signature are those of the Standard Webhooks specification (standardwebhooks.com): HMAC-SHA256
over `ID.TIMESTAMP.BODY` with the key that the secret encodes after `whsec_`. A receiver that fails is tried
again after 5 s, then twice as long each time, an hour at most; nothing is passed over.
"""

from __future__ import annotations

import base64
import contextlib
import hashlib
import hmac
import ipaddress
import json
import secrets
import socket
import threading
import time
from collections.abc import Sequence
from urllib.parse import urlsplit

import httpx

from league.control.access import AccessService, Principal
from league.control.inputs import require_host
from league.errors import BadRequestError, DatabaseError, ForbiddenError
from league.pool.records import EventRecord, WebhookRecord
from league.settings import Settings
from league.store.repositories.webhooks import WebhookRepository
from league.store.session import Database

FIRST_WAIT_SECONDS, LONGEST_WAIT_SECONDS = 5.0, 3600.0
TIMEOUT_SECONDS = 5.0
POLL_SECONDS = 1.0
MOST_WEBHOOKS = 50
MOST_KINDS = 50
PREFIX = "whsec_"


class WebhookService:
    """Webhooks added, listed, removed and served."""

    def __init__(self, database: Database, access: AccessService, settings: Settings) -> None:
        self._repository = WebhookRepository(database)
        self._access, self._settings = access, settings

    def add(
        self, url: str, kinds: Sequence[str], run_id: str | None, by: Principal
    ) -> tuple[WebhookRecord, str]:
        """Adds one; returns it with its secret, which is shown this once.

        Raises:
          BadRequestError, ForbiddenError: the URL. NotFoundError: no such run.
        """
        require_host(url, self._settings.webhook_hosts, "LEAGUE_WEBHOOK_HOSTS")
        if len(kinds) > MOST_KINDS or not all(1 <= len(k) <= 32 for k in kinds):
            raise BadRequestError(f"kinds: {MOST_KINDS} at most, each 1 to 32 characters")
        if len(self._repository.all()) >= MOST_WEBHOOKS:
            raise BadRequestError(f"there are {MOST_WEBHOOKS} webhooks already; delete one")
        secret = PREFIX + base64.b64encode(secrets.token_bytes(32)).decode()
        record = self._repository.add(url, secret, kinds, run_id, by.name)
        self._access.audit(by, "webhook.add", record.id, {"host": urlsplit(url).hostname or ""})
        return record, secret

    def all(self) -> list[WebhookRecord]:
        """Returns every webhook, newest first."""
        return self._repository.all()

    def get(self, webhook_id: str) -> WebhookRecord:
        """Raises: NotFoundError."""
        return self._repository.get(webhook_id)

    def delete(self, webhook_id: str, by: Principal) -> None:
        """Raises: NotFoundError."""
        self._repository.delete(webhook_id)
        self._access.audit(by, "webhook.delete", webhook_id)

    def deliver(self) -> None:
        """Sends whatever is due, each webhook its next events, until one of them fails."""
        for webhook_id in self._repository.due():
            taken = self._repository.take(webhook_id)
            if taken is None:
                continue
            webhook, secret, events = taken
            for run_id, event in events:
                try:
                    self._send(webhook, secret, run_id, event)
                except (httpx.HTTPError, OSError, ForbiddenError) as error:
                    wait = min(FIRST_WAIT_SECONDS * 2.0**webhook.failures, LONGEST_WAIT_SECONDS)
                    self._repository.failed(webhook_id, f"{type(error).__name__}: {error}", wait)
                    break
                self._repository.delivered(webhook_id, event.id)

    def _send(self, webhook: WebhookRecord, secret: str, run_id: str, event: EventRecord) -> None:
        _require_reachable(webhook.url)
        data = {"run": run_id, "player": event.player, "actor": event.actor, **event.data}
        body = json.dumps({"type": event.kind, "timestamp": event.at, "id": event.id, "data": data}).encode()
        number, now = f"evt_{event.id}", str(int(time.time()))
        headers = {
            "Content-Type": "application/json",
            "webhook-id": number,
            "webhook-timestamp": now,
            "webhook-signature": signature(secret, number, now, body),
        }
        answer = httpx.post(
            webhook.url, content=body, headers=headers, timeout=TIMEOUT_SECONDS, trust_env=False
        )
        if answer.status_code >= 300:
            raise httpx.HTTPError(f"answered {answer.status_code}")


class WebhookSender:
    """A thread that delivers."""

    def __init__(self, service: WebhookService) -> None:
        self._service = service
        self._stop = threading.Event()
        self._thread = threading.Thread(target=self._run, name="webhooks", daemon=True)

    def __enter__(self) -> WebhookSender:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._stop.set()

    def _run(self) -> None:
        while not self._stop.wait(POLL_SECONDS):
            with contextlib.suppress(DatabaseError):
                self._service.deliver()


def signature(secret: str, message_id: str, timestamp: str, body: bytes) -> str:
    """Returns the `webhook-signature` of a message (Standard Webhooks, symmetric, version 1)."""
    key = base64.b64decode(secret.removeprefix(PREFIX))
    signed = f"{message_id}.{timestamp}.".encode() + body
    return "v1," + base64.b64encode(hmac.new(key, signed, hashlib.sha256).digest()).decode()


def _require_reachable(url: str) -> None:
    """Raises: ForbiddenError: the host is link-local, where clouds keep their machines' credentials."""
    host = urlsplit(url).hostname or ""
    for *_, address in socket.getaddrinfo(host, None, proto=socket.IPPROTO_TCP):
        if ipaddress.ip_address(str(address[0]).partition("%")[0]).is_link_local:
            raise ForbiddenError(f"{host} is link-local")
