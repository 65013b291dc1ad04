"""Players and runs steered over REST. Nobody runs the league: the parts that would carry commands out."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from fastapi.testclient import TestClient

from league.bootstrap import Services, Stores
from league.store.check import check_run
from league.store.checkpoints import CheckpointStore

API = "/api/v1"


def post(client: TestClient, path: str, body: Any = None, status: int = 200) -> dict[str, Any]:
    answer = client.post(API + path, json=body)
    assert answer.status_code == status, answer.text
    found: dict[str, Any] = answer.json()
    return found


def player(client: TestClient, run: str, name: str) -> dict[str, Any]:
    found: dict[str, Any] = client.get(f"{API}/players/{run}:{name}").json()
    return found


def test_every_command_does_what_it_says(
    client: TestClient, played_run: str, stores: Stores, services: Services
) -> None:
    run = played_run
    post(client, f"/runs/{run}/players", {"name": "search", "bot": "mcts:3", "label": "A search"}, 201)
    assert player(client, run, "search")["label"] == "A search"
    post(client, f"/players/{run}:main.0/branch", {"name": "keepsake"}, 201)
    assert player(client, run, "keepsake")["role"] == "historical"

    learnt = services.league.player(run, "main.0")
    post(client, f"/players/{run}:main.0/freeze")
    frozen = services.league.player(run, "main.0")
    assert (frozen.state, frozen.steps) == ("frozen", learnt.steps)
    assert frozen.checkpoint is not None
    post(client, f"/players/{run}:main.0/unfreeze")
    again = services.league.player(run, "main.0")
    assert (again.state, again.steps, again.checkpoint) == ("learning", learnt.steps, None)
    # Weights, optimiser and counters are bit for bit those from before.
    assert again.learner_state == learnt.learner_state

    post(client, f"/players/{run}:main.0/branch", {"learn": True, "share": 0.5}, 201)
    branched = services.league.player(run, "main.1")
    assert (branched.state, branched.parent, branched.steps) == ("learning", "main.0", 0)
    assert services.league.run(run).config["players"][-1]["share"] == 0.5

    post(client, f"/players/{run}:keepsake/pin")
    assert player(client, run, "keepsake")["role"] == "anchor"
    post(client, f"/players/{run}:keepsake/unpin")
    assert player(client, run, "keepsake")["role"] == "historical"

    generation = again.generation
    post(client, f"/players/{run}:main.0/rollback", {"to": "keepsake"})
    back = services.league.player(run, "main.0")
    assert back.generation == generation + 1
    assert client.get(f"{API}/players/{run}:main.0/opponents").json()["items"] == []
    weights = client.get(f"{API}/players/{run}:main.0/checkpoint").content
    assert weights == client.get(f"{API}/players/{run}:keepsake/checkpoint").content

    post(client, f"/players/{run}:search/retire")
    assert player(client, run, "search")["state"] == "retired"
    log = client.get(f"{API}/runs/{run}/events/log", params={"limit": 12}).json()["items"]
    assert {e["kind"] for e in log if e["by"] == "local"} >= {
        "added", "branched", "frozen", "unfrozen", "pinned", "unpinned", "rolled_back_by_hand", "retired",
    }  # fmt: skip
    assert check_run(stores.open_database(upgrade=False), CheckpointStore(stores.checkpoint_url), run) == []


@pytest.mark.parametrize(
    ("path", "body", "why"),
    [
        ("mcts:2/freeze", None, "does not learn"),
        ("main.0/unfreeze", None, "not frozen"),
        ("random/unfreeze", None, "never learnt"),
        ("main.0/retire", None, "the last main"),
        ("main.0/pin", None, "pin a snapshot"),
        ("main.0/unpin", None, "is no anchor"),
        ("random/branch", {"learn": True}, "no network"),
        ("main.0.v1/branch", {"name": "main.0"}, "already"),
        ("main.0/rollback", {"to": "random"}, "snapshots of main.0: main.0.v1"),
        ("mian.0/freeze", None, "did you mean main"),
    ],
)
def test_what_cannot_be_done_is_refused_with_the_reason(
    client: TestClient, played_run: str, path: str, body: Any, why: str
) -> None:
    before = client.get(f"{API}/runs/{played_run}/players").json()
    answer = client.post(f"{API}/players/{played_run}:{path}", json=body)
    assert answer.status_code in (400, 404, 409), answer.text
    assert why in answer.json()["detail"]
    assert client.get(f"{API}/runs/{played_run}/players").json() == before


def test_a_run_is_renamed_edited_cloned_and_deleted(
    client: TestClient, played_run: str, stores: Stores
) -> None:
    run = played_run
    read = client.get(f"{API}/runs/{run}")
    etag = read.headers["etag"]
    change = {"name": "another", "tags": ["kept"], "config": {"players": {"0": {"share": 3}}}}
    answer = client.patch(f"{API}/runs/{run}", json=change, headers={"If-Match": etag})
    assert answer.status_code == 200, answer.text
    assert (answer.json()["name"], answer.json()["config"]["players"][0]["share"]) == ("another", 3)
    assert len(answer.json()["config"]["players"]) == 2
    stale = client.patch(f"{API}/runs/{run}", json={"name": "mine"}, headers={"If-Match": etag})
    assert stale.status_code == 412
    for part, why in (
        ({"game": "native:tic_tac_toe"}, "clone the run with the other game"),
        ({"seed": 3}, "another seed"),
        ({"network": {"hidden": [64]}}, "weights are of this network"),
        ({"players": [{"role": "main"}]}, "leave by retire"),
        ({"learner": {"entropy": {"begin": 1}}}, "did you mean"),
    ):
        refused = client.patch(f"{API}/runs/{run}", json={"config": part})
        assert refused.status_code in (409, 422)
        assert why in refused.json()["detail"]
    clone = post(client, f"/runs/{run}/clone", {"name": "copy", "config": {"seed": 7}}, 201)
    assert (clone["seed"], clone["name"], clone["tags"], clone["state"]) == (7, "copy", ["kept"], "pending")
    assert [r["name"] for r in client.get(f"{API}/runs", params={"tag": "kept"}).json()["items"]] == [
        "copy",
        "another",
    ]
    assert post(client, f"/runs/{clone['id']}/stop")["state"] == "finished"
    assert post(client, f"/runs/{clone['id']}/resume")["state"] == "paused"
    assert client.post(f"{API}/runs/{run}/resume").status_code == 409

    checkpoints = CheckpointStore(stores.checkpoint_url)
    sha = client.get(f"{API}/players/{run}:main.0.v1").json()["checkpoint"]
    assert client.delete(f"{API}/runs/{run}", params={"confirm": "wrong"}).status_code == 409
    assert client.delete(f"{API}/runs/{run}", params={"confirm": "another"}).status_code == 204
    assert client.get(f"{API}/runs/{run}").status_code == 404
    with pytest.raises(Exception, match="is not in"):
        checkpoints.get(sha)
    assert any(a["action"] == "run.delete" for a in client.get(f"{API}/audit").json()["items"])


def test_pages_follow_each_other_without_gap_or_repeat(client: TestClient, played_run: str) -> None:
    for path, key in (
        (f"/runs/{played_run}/players", "name"),
        (f"/runs/{played_run}/matches", "number"),
        (f"/runs/{played_run}/events/log", "id"),
        (f"/runs/{played_run}/standings", "rank"),
    ):
        whole = client.get(API + path, params={"limit": 500}).json()
        rows = whole.get("items", whole.get("standings"))[:23]
        found: list[Any] = []
        cursor = None
        while len(found) < len(rows):
            params = {"limit": 5} | ({"cursor": cursor} if cursor else {})
            page = client.get(API + path, params=params).json()
            found += page.get("items", page.get("standings"))
            cursor = page["next_cursor"]
            if cursor is None:
                break
        assert [x[key] for x in found[: len(rows)]] == [x[key] for x in rows], path
    for cursor in ("nonsense", "WzFd", "eyJhIjoxfQ", "W251bGwsbnVsbCxudWxsXQ"):
        answer = client.get(f"{API}/runs/{played_run}/matches", params={"cursor": cursor})
        assert answer.status_code == 400, cursor


def test_matches_are_filtered(client: TestClient, played_run: str) -> None:
    def ask(**filters: Any) -> list[dict[str, Any]]:
        answer = client.get(f"{API}/runs/{played_run}/matches", params={"limit": 500, **filters})
        assert answer.status_code == 200, answer.text
        found: list[dict[str, Any]] = answer.json()["items"]
        return found

    every = ask()
    mine = ask(player="main.0", purpose="evaluation")
    assert [
        m for m in every if "main.0" in (m["first"], m["second"]) and m["purpose"] == "evaluation"
    ] == mine
    won = ask(player="main.0", purpose="evaluation", outcome="won")
    assert won
    assert won == [m for m in mine if (m["wins"] - m["losses"]) * (1 if m["first"] == "main.0" else -1) > 0]
    middle = every[len(every) // 2]["at"]
    assert {m["number"] for m in ask(since=middle)} == {m["number"] for m in every if m["at"] >= middle}
    assert {m["number"] for m in ask(until=middle)} == {m["number"] for m in every if m["at"] < middle}
    pair = ask(player="main.0", opponent="random")
    assert all({m["first"], m["second"]} == {"main.0", "random"} for m in pair)


def test_a_game_can_be_replayed_move_by_move(client: TestClient, played_run: str) -> None:
    listed = client.get(f"{API}/runs/{played_run}/episodes").json()["items"]
    assert listed
    game = client.get(f"{API}/runs/{played_run}/episodes/{listed[0]['id']}").json()
    assert len(game["moves"]) == game["length"]
    assert sum(game["returns"]) == 0
    import envs

    board = envs.make("native:connect_four", 1)
    for move in game["moves"]:
        (legal,) = board.turns().legal
        assert move["legal"] == legal.nonzero()[0].tolist()
        assert move["player"] == game["players"][move["seat"]]
        if "probabilities" in move:
            assert sum(move["probabilities"]) == pytest.approx(1.0, abs=0.01)
        step = board.step(np.array([move["action"]]))
    assert step.ended[0]
    assert step.returns[0].tolist() == game["returns"]


def test_a_post_sent_twice_is_done_once(client: TestClient, played_run: str) -> None:
    key = {"Idempotency-Key": "only-once"}
    path = f"{API}/runs/{played_run}/clone"
    first = client.post(path, json={"name": "a"}, headers=key)
    second = client.post(path, json={"name": "a"}, headers=key)
    assert (first.status_code, first.json()) == (second.status_code, second.json())
    assert len(client.get(f"{API}/runs").json()["items"]) == 2
    other = client.post(path, json={"name": "b"}, headers=key)
    assert other.status_code == 422
    assert other.json()["type"] == "/problems/idempotency-key-reused"


def test_standings_need_not_be_sent_twice(client: TestClient, played_run: str) -> None:
    path = f"{API}/runs/{played_run}/standings"
    etag = client.get(path).headers["etag"]
    assert client.get(path, headers={"If-None-Match": etag}).status_code == 304
    client.post(f"{API}/players/{played_run}:main.0/freeze")
    assert client.get(path, headers={"If-None-Match": etag}).status_code == 200
