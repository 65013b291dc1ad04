"""Pages of games that are not two against each other."""

from __future__ import annotations

from collections.abc import Callable

from fastapi.testclient import TestClient

from league.bootstrap import Stores
from league.config import RunConfig
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
