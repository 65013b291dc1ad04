"""Pages of games that are not two against each other."""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Callable

import numpy as np
from fastapi.testclient import TestClient

from league.bootstrap import Stores
from league.config.run import RunConfig
from league.settings import Settings
from tests.serial_league import play


def test_a_game_without_opponents_is_shown_by_score(
    stores: Stores, small_config: Callable[..., RunConfig]
) -> None:
    players = [{"role": "main", "snapshot": {"min_steps": 2_000, "max_steps": 4_000}}]
    changes = {"players": players, "anchors": ["random"], "stop": {"moves": 20_000}}
    run_id = play(stores, small_config(game="openspiel:tiny_hanabi", **changes)).id
    from web.app import create_app

    with TestClient(
        create_app(stores.services(Settings(loopback=True))), base_url="http://127.0.0.1"
    ) as client:
        page = client.get(f"/runs/{run_id}").text
        assert "ranked by mean score" in page
        assert 'data-system="score"' in page
        assert "Heat map" not in page
        history = client.get(f"/api/v1/runs/{run_id}/ratings", params={"system": "score"}).json()
        assert all(abs(mu) <= 10 for series in history["series"] for mu in series["mu"])
        assert all(sigma < 100 for series in history["series"] for sigma in series["sigma"])
        rows = client.get(f"/api/v1/runs/{run_id}/standings").json()["standings"]
        assert [r["rank"] for r in rows] == sorted(r["rank"] for r in rows)
        assert rows[0]["score"] >= rows[-1]["score"]


def test_the_map_says_what_the_table_says(client: TestClient, played_run: str) -> None:
    table = client.get(f"/api/v1/runs/{played_run}/payoffs").json()
    answer = client.get(f"/api/v1/runs/{played_run}/payoffs/map")
    assert answer.headers["content-type"] == "application/octet-stream"
    length = int.from_bytes(answer.content[:4], "little")
    header = json.loads(answer.content[4 : 4 + length])
    n = len(header["players"])
    assert header["players"] == table["players"]
    assert len(header["roles"]) == n
    rates = np.frombuffer(answer.content, np.uint8, n * n, 4 + length).reshape(n, n)
    games = np.frombuffer(answer.content, np.uint32, n * n, 4 + length + n * n).reshape(n, n)
    assert games.tolist() == table["games"]
    for i in range(n):
        for j in range(n):
            rate = table["win_rates"][i][j]
            assert (rates[i, j] == 255) == (rate < 0)
            if rate >= 0:
                assert abs(rates[i, j] / 200 - rate) <= 0.0026
    again = client.get(
        f"/api/v1/runs/{played_run}/payoffs/map", headers={"If-None-Match": answer.headers["etag"]}
    )
    assert again.status_code == 304


def test_every_page_is_there_and_filters_are_in_its_address(client: TestClient, played_run: str) -> None:
    base = f"/runs/{played_run}"
    anchors = client.get(f"{base}?role=anchor&by=elo").text
    assert 'data-player="random"' in anchors
    assert 'data-player="main.0"' not in anchors
    assert 'data-player="main.0.v1"' in client.get(f"{base}?text=0.v1").text
    table = list(csv.DictReader(io.StringIO(client.get(f"{base}/standings.csv").text)))
    standings = client.get(f"/api/v1/runs/{played_run}/standings").json()["standings"]
    assert [row["player"] for row in table] == [row["player"] for row in standings]
    for path, said in (
        ("/charts", "Throughput"),
        ("/now", "what is played and learnt, by process"),
        ("/compare?player=main.0&player=random", "Against each other"),
        ("/compare", "Tick two players"),
        ("/payoffs", "Arrow keys move"),
        ("/players/main.0", "Freeze"),
        ("/players/main.0.v1", "Pin as anchor"),
        ("/players/main.0/against/random", "In the first seat"),
        ("/matches?player=main.0&outcome=won", "main.0"),
        ("/matches?outcome=won", "name one"),
        ("/games", "replay"),
        ("/lineage", "main_exploiter.0"),
        ("/players/main.0.v1", "snapshot:"),
        ("/events", "joined the pool"),
        ("/events?kind=reset", "went back to its initial weights"),
        ("/play", "New game"),
    ):
        page = client.get(base + path)
        assert page.status_code == 200, path
        assert said in page.text, path
    for path in (
        "/compare?player=nobody",
        "/players/nobody",
        "/players/main.0/against/nobody",
        "/games/999999",
    ):
        assert client.get(base + path).status_code == 404, path
