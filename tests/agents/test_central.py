"""Networks in one place answer as they would where they are asked."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from torch import nn

import envs
from agents.acting.central import CentralPolicy, InferenceServer, Request
from agents.acting.collector import Collector
from agents.acting.policy import NetworkPolicy
from agents.acting.seating import Series
from agents.errors import DeviceError
from agents.networks.build import build
from agents.networks.spec import NetworkSpec
from agents.processor import resolve_device

SPEC = NetworkSpec(84, 7, (32,))
CPU = torch.device("cpu")


def server(loaded: list[str] | None = None) -> InferenceServer:
    def load(key: str) -> nn.Module:
        if loaded is not None:
            loaded.append(key)
        return build(SPEC, int(key))

    return InferenceServer(load, CPU, torch.float32)


def rows(count: int) -> np.ndarray:
    return np.random.default_rng(count).integers(0, 2, (count, 84), np.uint8)


def test_rows_of_several_requests_are_answered_each_by_its_network() -> None:
    first, second = rows(96), rows(64)
    requests = [
        Request((("1", 0, 32), ("2", 32, 96)), first),
        Request((("2", 0, 32), ("3", 32, 64)), second),
    ]
    answers = server().answer(requests)
    for request, answer in zip(requests, answers, strict=True):
        for key, begin, end in request.parts:
            expected = NetworkPolicy(build(SPEC, int(key))).heads(request.obs[begin:end])
            np.testing.assert_allclose(answer[begin:end], expected, rtol=1e-5, atol=1e-6)


def test_weights_of_a_learning_player_are_the_newest_and_never_older() -> None:
    centre = server()
    weights = [{k: v.numpy() for k, v in build(SPEC, seed).state_dict().items()} for seed in (1, 2, 3)]
    centre.put("main.0", (0, 5), SPEC, weights[0])
    centre.put("main.0", (0, 4), SPEC, weights[1])
    policy, obs = CentralPolicy("main.0", centre), rows(32)
    np.testing.assert_allclose(policy.heads(obs), NetworkPolicy(build(SPEC, 1)).heads(obs), rtol=1e-5)
    centre.put("main.0", (1, 0), SPEC, weights[2])
    np.testing.assert_allclose(policy.heads(obs), NetworkPolicy(build(SPEC, 3)).heads(obs), rtol=1e-5)
    assert centre.has("main.0", (0, 9))
    assert not centre.has("main.0", (1, 1))


def test_networks_nobody_asks_for_are_let_go_and_fetched_again(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("agents.acting.central.KEPT", 2)
    loaded: list[str] = []
    centre = server(loaded)
    for key in ("1", "2", "1", "3", "1", "2"):
        centre.hold(key)
    assert loaded == ["1", "2", "3", "2"], "the least lately used one went"


def test_a_collector_plays_the_same_games_wherever_its_networks_run() -> None:
    def play(central: bool) -> list[np.ndarray]:
        centre = server()
        collector = Collector(
            envs.make("native:connect_four", 64, 3), ["main"], fragment_length=8, fragment_lanes=32, seed=4
        )
        network = build(SPEC, 7)
        centre.put("main", (0, 0), SPEC, {k: v.numpy() for k, v in network.state_dict().items()})
        main = CentralPolicy("main", centre) if central else NetworkPolicy(network)
        collector.update_learner("main", main, 0, 0)
        for key in ("1", "2"):  # one here, one there
            elsewhere = central and key == "2"
            collector.put_policy(
                key, CentralPolicy(key, centre) if elsewhere else NetworkPolicy(build(SPEC, int(key)))
            )
        for number in range(8):
            players = ("main", str(1 + number % 2))
            collector.add_series(Series(number, players, (0, 0), (True, False), 16, "training", "test"))
        found: list[np.ndarray] = []
        while len(found) < 8:
            collector.tick()
            while collector.ready_fragments("main"):
                fragment = collector.take_fragment("main")
                found += [fragment.obs.copy(), fragment.actions.copy(), fragment.log_probs.copy()]
        return found

    for here, there in zip(play(central=False), play(central=True), strict=True):
        np.testing.assert_array_equal(here, there)


@pytest.mark.skipif(torch.cuda.is_available(), reason="there is a GPU here")
def test_a_gpu_that_is_not_there_is_said_to_be_missing() -> None:
    with pytest.raises(DeviceError, match="finds no GPU"):
        resolve_device("cuda")
    assert resolve_device("auto") == CPU
