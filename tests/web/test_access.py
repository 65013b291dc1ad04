"""Who gets in, and what they may do."""

from __future__ import annotations

import logging
import time
from collections.abc import Iterator
from typing import Any

import jsonschema
import pytest
from fastapi.testclient import TestClient

from league.bootstrap import Services, Stores
from league.control.access import LOCAL, AccessService
from league.errors import UnauthorizedError
from web.app import create_app

API = "/api/v1"


@pytest.fixture
def tokens(services: Services) -> dict[str, str]:
    return {
        scope: services.access.create(scope, scope, None, LOCAL)[1] for scope in ("read", "operate", "admin")
    }


@pytest.fixture
def client(services: Services, tokens: dict[str, str]) -> Iterator[TestClient]:
    """Of a server that asks for tokens."""
    with TestClient(
        create_app(services), raise_server_exceptions=False, base_url="http://localhost"
    ) as client:
        yield client


def bearer(token: str) -> dict[str, str]:
    return {"Authorization": f"Bearer {token}"}


def routes(client: TestClient) -> list[tuple[str, str]]:
    found = [
        (method, path)
        for path, operations in client.get("/api/v1/openapi.json").json()["paths"].items()
        for method in operations
    ]
    assert len(found) > 40
    return found


def test_nobody_gets_in_without_a_token(client: TestClient, played_run: str) -> None:
    for method, path in routes(client):
        if path in ("/livez", "/readyz"):
            continue
        place = path.replace("{run_id}", played_run).replace("{player_id}", f"{played_run}:main.0")
        place = place.replace("{game_id}", "native:pong")
        for name in ("command_id", "episode_id", "tournament_id"):
            place = place.replace(f"{{{name}}}", "1")
        place = place.replace("{play_id}", "0" * 16)
        for name in ("token_id", "webhook_id"):
            place = place.replace(f"{{{name}}}", "0123456789ab")
        body = {"name": "x"} if method in ("post", "patch") else None
        answer = client.request(method, place, json=body)
        # A body that does not fit may be refused before it is asked who sends it.
        assert answer.status_code in (401, 422), (method, path, answer.text)
        if answer.status_code == 401:
            assert answer.headers["www-authenticate"].startswith("Bearer")


def test_a_viewer_changes_nothing(
    client: TestClient, services: Services, tokens: dict[str, str], played_run: str
) -> None:
    viewer = bearer(tokens["read"])
    assert client.get(f"{API}/runs", headers=viewer).status_code == 200
    before = services.league.run(played_run), services.league.players(played_run, limit=500)
    bodies = {
        "/runs": {"config": {"game": "native:connect_four"}},
        "/runs/{run_id}/players": {"name": "x", "bot": "random"},
        "/runs/{run_id}/clone": {},
        "/runs/{run_id}/plays": {"player": "random", "name": "ada"},
        "/plays/{play_id}/moves": {"action": 3},
        "/runs/{run_id}/tournaments": {"players": ["main.0", "random"]},
        "/players/{player_id}/rollback": {"to": "main.0.v1"},
        "/players/{player_id}/branch": {"name": "y"},
        "/tokens": {"name": "x", "scope": "admin"},
        "/webhooks": {"url": "http://example.org"},
    }
    tried = 0
    for method, path in routes(client):
        if method == "get" or path.endswith(("/act", "/check")):
            continue
        place = path.replace("{run_id}", played_run).replace("{player_id}", f"{played_run}:main.0")
        place = (
            place.replace("{tournament_id}", "1")
            .replace("{token_id}", "0" * 12)
            .replace("{webhook_id}", "0" * 12)
        )
        place = place.replace("{play_id}", "0" * 16)
        body = bodies.get(path.removeprefix(API), {"name": "z"} if path.endswith("{run_id}") else {})
        answer = client.request(method, place, json=body, headers=viewer)
        assert answer.status_code == 403, (method, path, answer.text)
        tried += 1
    assert tried > 20
    operator = bearer(tokens["operate"])
    assert client.get(f"{API}/tokens", headers=operator).status_code == 403
    assert client.get(f"{API}/audit", headers=operator).status_code == 403
    assert (services.league.run(played_run), services.league.players(played_run, limit=500)) == before


def test_a_bad_token_gets_a_challenge(
    client: TestClient, services: Services, tokens: dict[str, str], monkeypatch: pytest.MonkeyPatch
) -> None:
    import league.control.access

    monkeypatch.setattr(league.control.access, "BELIEVED_SECONDS", 0.0)
    _, short = services.access.create("short", "read", "1s", LOCAL)
    assert client.get(f"{API}/runs", headers=bearer(short)).status_code == 200
    time.sleep(1.1)
    revoked, token = services.access.create("gone", "read", None, LOCAL)
    client.post(f"{API}/tokens/{revoked.id}/revoke", headers=bearer(tokens["admin"]))
    other = tokens["read"][:-1] + ("a" if tokens["read"][-1] != "a" else "b")
    for bad in (short, token, other, "nonsense", "", "league_0123456789ab_" + "x" * 43, "\x00", "é" * 10):
        answer = client.get(f"{API}/runs", headers={"Authorization": f"Bearer {bad}".encode()})
        assert answer.status_code == 401, bad
        assert answer.headers["www-authenticate"].startswith("Bearer")
        assert answer.headers["content-type"] == "application/problem+json"
    assert client.get(f"{API}/runs", headers={"Authorization": f"Basic {short}"}).status_code == 401


def test_secrets_are_kept_nowhere_and_shown_once(
    client: TestClient,
    services: Services,
    tokens: dict[str, str],
    stores: Stores,
    caplog: pytest.LogCaptureFixture,
) -> None:
    admin = bearer(tokens["admin"])
    with caplog.at_level(logging.DEBUG):
        made = client.post(
            f"{API}/tokens", json={"name": "ci", "scope": "read", "expires": "30d"}, headers=admin
        )
        hook = client.post(f"{API}/webhooks", json={"url": "http://127.0.0.1:1/x"}, headers=admin).json()
        token = made.json()["token"]
        client.get(f"{API}/runs", headers=bearer(token))
        shown = (
            client.get(f"{API}/tokens", headers=admin).text + client.get(f"{API}/audit", headers=admin).text
        )
        shown += (
            client.get(f"{API}/webhooks", headers=admin).text + client.get("/metrics", headers=admin).text
        )
        shown += client.get(f"{API}/runs/nope", headers=bearer(token)).text
    secret = token.split("_", 2)[2]  # it may hold underscores itself
    assert made.status_code == 201
    for hidden in (secret, hook["secret"]):
        assert hidden not in shown
        assert hidden not in caplog.text
    dump = stores.database_url.removeprefix("sqlite:///")
    from pathlib import Path

    kept = b"".join(p.read_bytes() for p in Path(dump).parent.glob("league.db*"))
    assert secret.encode() not in kept
    assert "last_used_at" in shown


def test_a_login_is_a_cookie_that_needs_its_token_to_change_anything(
    client: TestClient, tokens: dict[str, str], played_run: str
) -> None:
    assert client.get("/", follow_redirects=False).headers["location"].startswith("/login?to=/")
    wrong = client.post("/login", data={"token": "league_wrong", "to": "/"})
    assert (wrong.status_code, "not a valid token" in wrong.text) == (401, True)
    away = client.post(
        "/login", data={"token": tokens["operate"], "to": "//evil.example/x"}, follow_redirects=False
    )
    assert (away.status_code, away.headers["location"]) == (303, "/")
    cookie = away.headers["set-cookie"]
    assert "HttpOnly" in cookie
    assert "SameSite=strict" in cookie
    assert client.get("/").status_code == 200
    page = client.get(f"/runs/{played_run}").text
    freeze = f"{API}/players/{played_run}:main.0/freeze"
    assert client.post(freeze).status_code == 403
    csrf = page.split('name="csrf" content="')[1].split('"')[0]
    assert client.post(freeze, headers={"X-CSRF-Token": "wrong"}).status_code == 403
    assert client.post(freeze, headers={"X-CSRF-Token": csrf}).status_code == 200
    client.cookies.set("league_session", away.cookies["league_session"][:-2] + "xx")
    client.cookies.clear()
    client.cookies.set("league_session", away.cookies["league_session"][:-2] + "xx")
    assert client.get(f"{API}/runs").status_code == 401


def test_beyond_loopback_the_server_wants_tokens(stores: Stores) -> None:
    access = AccessService(stores.open_database(upgrade=False), loopback=False)
    assert not access.is_open()
    with pytest.raises(UnauthorizedError, match="league token create"):
        access.require_tokens_to_listen_elsewhere()
    access.create("first", "admin", None, LOCAL)
    access.require_tokens_to_listen_elsewhere()


def test_no_other_web_page_reaches_an_open_server(services: Services, played_run: str) -> None:
    with TestClient(create_app(services), base_url="http://localhost") as client:
        services.access._open = (time.monotonic(), True)
        assert client.get(f"{API}/runs", headers={"Host": "evil.example"}).status_code == 403
        freeze = f"{API}/players/{played_run}:main.0/freeze"
        for origin in ("http://evil.example", "null"):
            assert client.post(freeze, headers={"Origin": origin}).status_code == 403
        assert services.league.player(played_run, "main.0").state == "learning"
        assert client.post(freeze, headers={"Origin": "http://localhost"}).status_code == 200


def test_every_operation_says_what_it_needs_and_shows_how_it_looks(services: Services) -> None:
    services.access.create("any", "read", None, LOCAL)
    document = create_app(services).openapi()
    assert document["openapi"].startswith("3.1")

    def refer(schema: dict[str, Any]) -> dict[str, Any]:
        return {**schema, "components": document["components"]}

    for path, operations in document["paths"].items():
        for method, operation in operations.items():
            if path not in ("/livez", "/readyz"):
                assert operation["security"] == [{"token": []}], (method, path)
            assert "401" in operation["responses"], (method, path)
            assert operation["summary"], (method, path)
            assert operation["description"], (method, path)
            for code, answer in operation["responses"].items():
                content = answer.get("content", {}).get("application/json")
                if code.startswith("2") and content is not None:
                    jsonschema.validate(content["example"], refer(content["schema"]))
            asked = operation.get("requestBody", {}).get("content", {}).get("application/json")
            if asked is not None:
                jsonschema.validate(asked["example"], refer(asked["schema"]))
            parameters = [p for p in operation.get("parameters", ()) if p["in"] == "path"]
            assert all(
                p.get("example") or p["schema"].get("examples") or "integer" in str(p) or "pattern" in str(p)
                for p in parameters
            ), (method, path)


def test_an_open_server_says_that_no_token_is_needed(services: Services) -> None:
    document = create_app(services).openapi()
    assert document["paths"]["/api/v1/runs"]["get"]["security"] == [{"token": []}, {}]


def test_no_token_locks_itself_out(client: TestClient, tokens: dict[str, str]) -> None:
    mine = tokens["admin"].split("_")[1]
    answer = client.post(f"{API}/tokens/{mine}/revoke", headers=bearer(tokens["admin"]))
    assert answer.status_code == 409
