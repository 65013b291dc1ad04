"""The client, of an app in this process and of a real server."""

from __future__ import annotations

import asyncio
from pathlib import Path

import httpx
import pytest

from league.bootstrap import Stores
from league.cli.connection import connect
from league.client import AsyncLeagueClient, LeagueClient
from league.client.writer import TARGET, written
from league.errors import ApiError, TransportError
from league.operations.web_server import BackgroundServer, bind
from tests.command_line import free_port


def test_the_client_without_asyncio_is_the_other_one_without_asyncio() -> None:
    assert {path.name: path.read_text() for path in TARGET.glob("*.py")} == written()


def test_a_league_is_steered_from_python(stores: Stores, played_run: str, tmp_path: Path) -> None:
    with connect(str(tmp_path / "home"), None) as league:
        (run,) = league.runs(state="finished").items
        assert run.id == played_run
        league.branch(run.id, "main.0", copy="keepsake")
        sha = league.upload(league.checkpoint(run.id, "keepsake")).sha256
        league.add_player(run.id, "again", checkpoint=sha, tags=["copy"])
        league.add_player(run.id, "twin", source=(run.id, "keepsake"))
        league.describe_player(run.id, "twin", label="The twin")
        assert league.player(run.id, "twin").label == "The twin"
        assert league.freeze(run.id, "main.0").state == "done"
        with pytest.raises(ApiError, match="does not learn") as refused:
            league.freeze(run.id, "main.0")
        assert (refused.value.status, refused.value.type) == (409, "/problems/cannot-be-done")
        assert league.standing(run.id, "twin").player == "twin"
        assert league.matches(run.id, limit=3, player="main.0").items
        episode = league.episodes(run.id, limit=1).items[0]
        assert league.replay(run.id, episode.id).moves
        assert len(league.act(run.id, "keepsake", [0.0] * 84, [0, 1]).actions) == 1
        assert league.lineage(run.id, "keepsake").items[1].name == "main.0"
        assert league.game("native:pong").seats == 2
        token = league.create_token("ci", "read", "1h")
        assert league.tokens().items[0].id == token.id
        assert league.revoke_token(token.id).revoked_at is not None
        assert {e.kind for e in league.past_events(run.id, limit=5).items} >= {"added", "frozen"}
        clone = league.clone(run.id, "copy", {"seed": 3})
        assert league.edit_run(clone.id, tags=["x"]).tags == ["x"]
        league.stop(clone.id)
        league.delete_run(clone.id, "copy")


def test_events_are_followed_over_the_network(
    stores: Stores, played_run: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("LEAGUE_DATABASE_URL", stores.database_url)
    monkeypatch.setenv("LEAGUE_CHECKPOINT_URL", stores.checkpoint_url)
    monkeypatch.setenv("LEAGUE_LOOPBACK", "true")
    port = free_port()
    url = f"http://127.0.0.1:{port}"
    with BackgroundServer(bind("127.0.0.1", port)), LeagueClient(url) as league:
        past = league.past_events(played_run, limit=1).items[0].id

        async def follow() -> list[str]:
            async with AsyncLeagueClient(url) as other:
                events = other.events(played_run, after=past, kinds=["frozen", "unfrozen"])
                kinds = []
                await other.freeze(played_run, "main.0")
                await other.pin(played_run, "main.0.v1")
                await other.unfreeze(played_run, "main.0")
                async for event in events:
                    assert event.by == "local"
                    kinds.append(event.kind)
                    if len(kinds) == 2:
                        return kinds
                return kinds

        assert asyncio.run(asyncio.wait_for(follow(), 20)) == ["frozen", "unfrozen"]
        shut = LeagueClient("http://127.0.0.1:1")
        monkeypatch.setattr("league.client.synchronous.transport.FIRST_WAIT_SECONDS", 0.01)
        with pytest.raises(TransportError, match=r"127\.0\.0\.1:1"):
            shut.runs()


def test_a_busy_server_is_asked_again(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("league.client.synchronous.transport.FIRST_WAIT_SECONDS", 0.01)
    seen: list[str | None] = []

    def answer(request: httpx.Request) -> httpx.Response:
        seen.append(request.headers.get("idempotency-key"))
        if len(seen) < 3:
            return httpx.Response(503, text="busy")
        return httpx.Response(
            200,
            json={
                "error": None,
                "kind": "freeze",
                "id": 1,
                "run": "r",
                "player": "p",
                "state": "done",
                "by": "me",
                "at": 0.0,
            },
        )

    with LeagueClient("http://x", transport=httpx.MockTransport(answer)) as league:
        assert league.freeze("r", "p").state == "done"
    assert len(seen) == 3
    assert len(set(seen)) == 1
