"""Events arrive at a URL, signed, in order, and again until they do."""

from __future__ import annotations

import json
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

import pytest
from fastapi.testclient import TestClient

from league.bootstrap import Services
from league.control.webhooks import signature
from tests.command_line import wait_until

API = "/api/v1"


class Receiver(ThreadingHTTPServer):
    """Answers with the next of `codes`, 200 after them, and keeps what it got."""

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), Handler)
        self.codes: list[int] = []
        self.got: list[tuple[dict[str, str], bytes]] = []

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.server_port}/hook"


class Handler(BaseHTTPRequestHandler):
    server: Receiver

    def do_POST(self) -> None:
        body = self.rfile.read(int(self.headers["Content-Length"]))
        code = self.server.codes.pop(0) if self.server.codes else 200
        if code == 200:
            self.server.got.append((dict(self.headers.items()), body))
        self.send_response(code)
        if code == 302:
            self.send_header("Location", "http://127.0.0.1:1/")
        self.end_headers()

    def log_message(self, *_: Any) -> None:
        pass


@pytest.fixture
def receiver() -> Iterator[Receiver]:
    server = Receiver()
    threading.Thread(target=server.serve_forever, daemon=True).start()
    yield server
    server.shutdown()


def test_events_arrive_signed_and_in_order(
    client: TestClient, played_run: str, receiver: Receiver, monkeypatch: pytest.MonkeyPatch
) -> None:
    import league.control.webhooks

    monkeypatch.setattr(league.control.webhooks, "FIRST_WAIT_SECONDS", 0.2)
    receiver.codes = [500, 302]
    body = {"url": receiver.url, "kinds": ["frozen", "unfrozen", "retired"], "run": played_run}
    made = client.post(f"{API}/webhooks", json=body)
    assert made.status_code == 201, made.text
    for command in ("main.0/freeze", "main.0/unfreeze", "mcts:2/retire", "main.0.v1/pin"):
        assert client.post(f"{API}/players/{played_run}:{command}").status_code == 200
    wait_until(lambda: len(receiver.got) >= 3, "three events", 20)
    kinds = []
    for headers, data in receiver.got:
        names = {k.lower(): v for k, v in headers.items()}
        expected = signature(made.json()["secret"], names["webhook-id"], names["webhook-timestamp"], data)
        assert names["webhook-signature"] == expected
        event = json.loads(data)
        kinds.append(event["type"])
        assert (event["data"]["run"], event["data"]["actor"]) == (played_run, "local")
    assert kinds == ["frozen", "unfrozen", "retired"]
    wait_until(lambda: client.get(f"{API}/webhooks").json()["items"][0]["delivered"] == 3, "the record", 5)
    webhook = client.get(f"{API}/webhooks").json()["items"][0]
    assert (webhook["failures"], webhook["last_error"]) == (0, None)
    assert client.delete(f"{API}/webhooks/{webhook['id']}").status_code == 204


def test_the_signature_is_that_of_the_specification() -> None:
    """The worked example of the Standard Webhooks reference implementations' tests."""
    secret = "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw"  # noqa: S105  published
    message = b'{"test": 2432232314}'
    found = signature(secret, "msg_p5jXN8AQM9LWM0D4loKWxJek", "1614265330", message)
    assert found == "v1,g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE="


def test_where_clouds_keep_their_credentials_is_never_called(
    client: TestClient, services: Services, played_run: str
) -> None:
    made = client.post(f"{API}/webhooks", json={"url": "http://169.254.169.254/latest"}).json()
    client.post(f"{API}/players/{played_run}:main.0/freeze")

    def told() -> bool:
        return "link-local" in str(client.get(f"{API}/webhooks").json()["items"][0]["last_error"])

    wait_until(told, "the refusal", 10)
    for url in ("ftp://x/y", "http://", "http://a:b@c/", "http://[::1", "x" * 3000):
        assert client.post(f"{API}/webhooks", json={"url": url}).status_code in (400, 422)
    assert services.webhooks.get(made["id"]).delivered == 0
