"""`act` plays as the player does."""

from __future__ import annotations

import asyncio
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest
from fastapi.testclient import TestClient

from agents.acting.policy import NetworkPolicy, probabilities
from agents.networks import weights
from league.bootstrap import Services

API = "/api/v1"


def direct(client: TestClient, run: str, name: str) -> NetworkPolicy:
    network, _ = weights.load_network(client.get(f"{API}/players/{run}:{name}/checkpoint").content)
    return NetworkPolicy(network)


def test_answers_are_those_of_the_policy_itself(client: TestClient, played_run: str) -> None:
    obs = np.random.default_rng(0).random((20, 84)).astype(np.float32)
    for name in ("main.0", "main.0.v1"):
        heads = direct(client, played_run, name).heads(obs)
        legal = np.ones((20, 7), np.bool_)
        legal[:, 3:5] = False
        for temperature in (0.0, 0.5, 1.0):
            body = {
                "observation": obs.tolist(),
                "legal": [[0, 1, 2, 5, 6]] * 20,
                "temperature": temperature,
                "details": True,
            }
            answer = client.post(f"{API}/players/{played_run}:{name}/act", json=body).json()
            expected = probabilities(heads[:, :-1], legal, temperature)
            np.testing.assert_allclose(answer["probabilities"], expected, atol=1e-5)
            np.testing.assert_allclose(answer["values"], heads[:, -1], atol=1e-5)
            assert not set(answer["actions"]) & {3, 4}
            if temperature == 0.0:
                assert answer["actions"] == expected.argmax(axis=1).tolist()


def test_callers_at_the_same_time_each_get_their_own_answer(client: TestClient, played_run: str) -> None:
    obs = np.random.default_rng(1).random((64, 84)).astype(np.float32)
    heads = direct(client, played_run, "main.0").heads(obs)
    best = heads[:, :-1].argmax(axis=1).tolist()

    def ask(k: int) -> int:
        body = {"observation": obs[k].tolist(), "temperature": 0}
        answer = client.post(f"{API}/players/{played_run}:main.0/act", json=body).json()
        found: int = answer["actions"][0]
        return found

    with ThreadPoolExecutor(16) as pool:
        assert list(pool.map(ask, range(64))) == best


def test_requests_that_wait_together_are_one_forward(services: Services, played_run: str) -> None:
    obs = np.random.default_rng(2).random((32, 84)).astype(np.float32)
    acting = services.acting

    async def all_at_once() -> list[int]:
        await acting.act(played_run, "main.0", obs[0].tolist(), None, 0.0)
        policy = next(iter(acting._loaded.values())).policy
        sizes = []
        heads = policy.heads

        def counted(rows: np.ndarray) -> np.ndarray:  # type: ignore[type-arg]
            sizes.append(len(rows))
            return heads(rows)

        policy.heads = counted  # type: ignore[method-assign]
        await asyncio.gather(*(acting.act(played_run, "main.0", o.tolist(), None, 0.0) for o in obs))
        return sizes

    assert asyncio.run(all_at_once()) == [32]


@pytest.mark.parametrize(
    ("body", "why"),
    [
        ({"observation": [0] * 83}, "84 numbers"),
        ({"observation": []}, "84 numbers"),
        ({"observation": [["a"] * 84]}, "84 numbers"),
        ({"observation": [[0] * 84, [0] * 83]}, "84 numbers"),
        ({"observation": [None] * 84}, "finite"),
        ({"observation": [0] * 84, "legal": [7]}, "0 to 6"),
        ({"observation": [0] * 84, "legal": []}, "needs an action"),
        ({"observation": [0] * 84, "legal": [[0], [1]]}, "2 rows for 1"),
        ({"observation": [0] * 84, "legal": [{"a": 1}]}, "0 to 6"),
        ({"observation": [[0] * 84] * 2, "legal": [[0], 3]}, "0 to 6"),
        ({"observation": [0] * 84, "temperature": -1}, "temperature"),
        ({"observations": [0] * 84}, "observation"),
    ],
)
def test_rows_that_do_not_fit_are_refused(
    client: TestClient, played_run: str, body: object, why: str
) -> None:
    answer = client.post(f"{API}/players/{played_run}:main.0/act", json=body)
    assert answer.status_code in (400, 422), answer.text
    assert why in answer.json()["detail"]


def test_a_bot_that_looks_at_the_game_cannot_act_on_observations(client: TestClient, played_run: str) -> None:
    answer = client.post(f"{API}/players/{played_run}:random/act", json={"observation": [0] * 84})
    assert answer.status_code == 409
