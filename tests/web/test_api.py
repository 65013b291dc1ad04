"""The API over a league that was really played."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest
from fastapi.testclient import TestClient
from sqlalchemy import text

from league.bootstrap import Stores


def test_a_finished_league_is_readable(client: TestClient, played_run: str) -> None:
    (run,) = client.get("/api/v1/runs").json()["items"]
    whole = client.get(f"/api/v1/runs/{played_run}").json()
    assert whole.pop("config")["game"] == run["game"]
    assert run == whole
    assert run["state"] == "finished"
    body = client.get(f"/api/v1/runs/{played_run}/standings").json()
    standings = body["standings"]
    assert body["run"]["id"] == played_run
    assert [s["rank"] for s in standings] == list(range(1, len(standings) + 1))
    order = [(s["provisional"], -s["conservative"]) for s in standings]
    assert order == sorted(order)
    for row in standings:
        assert row["conservative"] == pytest.approx(
            row["trueskill_mu"] - 3 * row["trueskill_sigma"], abs=0.01
        )
        assert row["games"] == row["wins"] + row["draws"] + row["losses"]
    payoffs = client.get(f"/api/v1/runs/{played_run}/payoffs").json()
    assert payoffs["players"] == [s["player"] for s in standings]
    for i, row in enumerate(payoffs["win_rates"]):
        for j, rate in enumerate(row):
            assert rate < 0 or payoffs["games"][i][j] > 0
            assert 0.0 <= payoffs["low"][i][j] < payoffs["high"][i][j] <= 1.0
    for system in ("openskill", "bradley_terry", "nash", "alpha_rank"):
        answer = client.get(f"/api/v1/runs/{played_run}/ratings", params={"system": system})
        assert answer.json()["series"], system
    ratings = client.get(f"/api/v1/runs/{played_run}/ratings", params={"system": "elo"}).json()
    for series in ratings["series"]:
        assert series["steps"] == sorted(series["steps"])
        assert (
            len(series["steps"]) == len(series["moves"]) == len(series["mu"]) == len(series["play_seconds"])
        )
    assert {s["player"] for s in ratings["series"]} == {s["player"] for s in standings}
    assert client.get(f"/api/v1/runs/{played_run}/metrics").status_code == 200


def test_events_are_streamed_and_resumed(client: TestClient, played_run: str, stores: Stores) -> None:
    recorded = stores.service().events(played_run)
    lines = _stream(client, played_run, {}, len(recorded))
    assert [int(e["id"]) for e in lines] == [e.id for e in recorded]
    assert [json.loads(e["data"])["kind"] for e in lines] == [e.kind for e in recorded]
    resumed = _stream(client, played_run, {"Last-Event-ID": str(recorded[0].id)}, len(recorded) - 1)
    assert [e["id"] for e in resumed] == [e["id"] for e in lines[1:]]


def _stream(client: TestClient, played_run: str, headers: dict[str, str], count: int) -> list[dict[str, str]]:
    """Reads recorded events off the stream's generator: the test client cannot read endless bodies."""
    import anyio

    from league.control.access import LOCAL
    from web.api.events import Wanted
    from web.hub import EventHub

    async def read() -> list[dict[str, str]]:
        found: list[dict[str, str]] = []
        last = int(headers.get("Last-Event-ID", "0"))
        services = client.app.state.services  # type: ignore[attr-defined]
        hub = EventHub(services.league, 10)
        stream = Wanted().stream(services.league, hub, services.access, LOCAL, played_run, last)
        async for event in stream:
            if event.id is not None:
                found.append({"id": str(event.id), "data": str(event.data)})
            if len(found) == count:
                break
        await stream.aclose()  # type: ignore[attr-defined]
        return found

    return anyio.run(read)


@pytest.mark.parametrize(
    "path",
    [
        "/api/v1/runs/nope",
        "/api/v1/runs/nope/standings",
        "/api/v1/runs/nope/payoffs",
        "/api/v1/runs/nope/events",
        "/api/v1/runs/nope/ratings",
        "/api/v1/nothing",
    ],
)
def test_what_is_not_there_is_a_problem_404(client: TestClient, path: str) -> None:
    answer = client.get(path)
    assert answer.status_code == 404
    assert answer.headers["content-type"] == "application/problem+json"
    assert answer.json()["status"] == 404


def test_a_wrong_method_or_parameter_is_a_problem(client: TestClient, played_run: str) -> None:
    answer = client.delete("/api/v1/runs")
    assert (answer.status_code, answer.headers["allow"]) == (405, "GET, POST")
    answer = client.get(f"/api/v1/runs/{played_run}/ratings", params={"system": "glicko"})
    assert answer.status_code == 422
    assert "trueskill" in answer.json()["detail"]
    assert answer.headers["content-type"] == "application/problem+json"


def test_health(client: TestClient, stores: Stores) -> None:
    assert client.get("/livez").json() == {"status": "ok"}
    assert client.get("/readyz").json() == {"status": "ok"}
    with stores.open_database(upgrade=False).write() as session:
        session.execute(text("update alembic_version set version_num = '9999'"))
    answer = client.get("/readyz")
    assert answer.status_code == 503
    assert "newer than this program" in answer.json()["detail"]
    assert client.get("/livez").status_code == 200


def test_pages_are_complete_without_script(client: TestClient, played_run: str) -> None:
    assert f'href="/runs/{played_run}"' in client.get("/").text
    page = client.get(f"/runs/{played_run}").text
    for row in client.get(f"/api/v1/runs/{played_run}/standings").json()["standings"]:
        assert f'data-player="{row["player"]}"' in page
    assert "went back to its initial weights" in page
    assert client.get("/runs/nope").status_code == 404


def test_nothing_may_run_that_does_not_come_from_here(client: TestClient, played_run: str) -> None:
    page = client.get(f"/runs/{played_run}")
    policy = page.headers["content-security-policy"]
    assert "script-src 'self';" in policy
    assert "unsafe-eval" not in policy
    assert "http://" not in page.text
    assert "https://" not in page.text
    assert client.get("/plotly/plotly.min.js").status_code == 200
    assert client.get("/static/../app.py").status_code == 404


def test_the_openapi_document_names_every_route(client: TestClient) -> None:
    paths = set(client.get("/api/v1/openapi.json").json()["paths"])
    assert {
        "/api/v1/runs",
        "/api/v1/runs/{run_id}",
        "/api/v1/runs/{run_id}/standings",
        "/api/v1/runs/{run_id}/payoffs",
        "/api/v1/runs/{run_id}/events",
        "/livez",
        "/readyz",
    } <= paths


def test_more_streams_than_the_server_holds_are_refused(client: TestClient, played_run: str) -> None:
    from web.hub import EventHub

    client.app.state.hub = EventHub(client.app.state.services.league, 0)  # type: ignore[attr-defined]
    answer = client.get(f"/api/v1/runs/{played_run}/events")
    assert (answer.status_code, answer.json()["type"]) == (503, "/problems/unavailable")


def test_the_dashboard_asks_for_figures_that_there_are(client: TestClient) -> None:
    board = json.loads((Path(__file__).parents[2] / "docs" / "grafana.json").read_text())
    exposed = client.get("/metrics").text
    for panel in board["panels"]:
        for target in panel["targets"]:
            for name in re.findall(r"league_[a-z_]+", target["expr"]):
                assert f"# TYPE {name.removesuffix('_bucket')} " in exposed, name
