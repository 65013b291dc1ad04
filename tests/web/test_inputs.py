"""What people send by mistake or on purpose: a clear answer each time, and nothing of it stays."""

from __future__ import annotations

import io
import json
import pickle
import struct
import zipfile
from typing import Any

import numpy as np
import pytest
import torch
from fastapi.testclient import TestClient
from safetensors.torch import save

from agents.networks.build import build
from agents.networks.spec import NetworkSpec
from agents.networks.weights import dump_network
from league.bootstrap import Services

API = "/api/v1"
SPEC = {"observation_size": 84, "num_actions": 7, "hidden": [32]}
BYTES = {"Content-Type": "application/octet-stream"}


def upload(client: TestClient, data: bytes, **params: str) -> Any:
    return client.post(f"{API}/checkpoints", content=data, headers=BYTES, params=params)


def refused(answer: Any, *statuses: int) -> str:
    assert answer.status_code in (statuses or (400, 413, 422)), answer.text
    assert answer.headers["content-type"] == "application/problem+json"
    detail: str = answer.json()["detail"]
    assert "Traceback" not in detail
    assert len(answer.content) < 10_000
    return detail


def zipped(files: dict[str, bytes]) -> bytes:
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, data in files.items():
            archive.writestr(name, data)
    return out.getvalue()


class Evil:
    def __reduce__(self) -> tuple[Any, tuple[str]]:
        return exec, ("raise SystemExit('run!')",)


def test_a_pickle_is_never_read(client: TestClient) -> None:
    assert "pickle" in refused(upload(client, pickle.dumps(Evil())))
    out = io.BytesIO()
    torch.save({"weights": Evil()}, out)
    assert "torch.save makes pickles" in refused(upload(client, out.getvalue()))


def test_a_zip_bomb_is_not_unpacked(client: TestClient) -> None:
    bomb = zipped({"model/constants.pkl": b"\0" * 200_000_000})
    assert len(bomb) < 1_000_000
    assert "unpacks to" in refused(upload(client, bomb))
    assert "damaged" in refused(upload(client, bomb[:1000]))


def test_weights_that_lie_about_themselves_are_refused(client: TestClient) -> None:
    good = dump_network(build(NetworkSpec(84, 7, (32,)), 0), NetworkSpec(84, 7, (32,)))
    assert upload(client, good).status_code == 201
    board = NetworkSpec(84, 7, (16,), kind="cnn", observation_shape=(2, 6, 7), channels=8, blocks=1)
    assert upload(client, dump_network(build(board, 0), board)).status_code == 201
    assert "cut off" in refused(upload(client, good[: len(good) // 2]))
    refused(upload(client, struct.pack("<Q", 2**62) + b"{"))
    refused(upload(client, b"{" * 5000))
    header = json.dumps({"w": {"dtype": "F32", "shape": [2**40], "data_offsets": [0, 2**42]}}).encode()
    refused(upload(client, struct.pack("<Q", len(header)) + header))
    tensors = dict(build(NetworkSpec(84, 7, (32,)), 0).state_dict())
    plain = save(tensors)
    assert "give it as ?network=" in refused(upload(client, plain))
    made = upload(client, plain, network=json.dumps(SPEC))
    assert made.status_code == 201, made.text
    huge = {"observation_size": 999_999, "num_actions": 999_999, "hidden": [8192] * 16}
    assert "numbers, the file" in refused(upload(client, plain, network=json.dumps(huge)))
    for wrong in (
        {"hidden": []},
        {"hidden": [True]},
        {"layers": 3},
        {"observation_size": -1},
        {"scale": 1e400},
        {"kind": "cnn"},
        {"kind": "rnn"},
        {"kind": "cnn", "observation_shape": [2, 6, 7], "channels": 10**9},
        {"kind": "cnn", "observation_shape": [2, 6, 7], "blocks": 10**9},
        {"kind": "cnn", "observation_shape": [84, 10**9, 1]},
    ):
        refused(upload(client, plain, network=json.dumps({**SPEC, **wrong})))
    for broken in ("[", "null", "[" * 3000, '"x"'):
        refused(upload(client, plain, network=broken))
    refused(upload(client, plain, network=json.dumps({**SPEC, "hidden": [64]})))
    tensors["head.bias"] = torch.full_like(tensors["head.bias"], float("nan"))
    assert "not finite" in refused(upload(client, save(tensors), network=json.dumps(SPEC)))
    assert "empty" in refused(upload(client, b""))
    refused(upload(client, b"\x08\x07 not a model at all"))


def test_a_player_that_does_not_fit_the_game_does_not_join(client: TestClient, played_run: str) -> None:
    wrong = NetworkSpec(10, 3, (8,))
    sha = upload(client, dump_network(build(wrong, 0), wrong)).json()["sha256"]
    body = {"name": "misfit", "checkpoint": sha}
    assert "10 numbers and 3 actions" in refused(client.post(f"{API}/runs/{played_run}/players", json=body))
    for body, why in (
        ({"name": "x", "bot": "mtcs:3"}, "unknown bot"),
        ({"name": "x", "checkpoint": "0" * 64}, "no upload"),
        ({"name": "x"}, "exactly one of"),
        ({"name": "x", "bot": "random", "url": "http://127.0.0.1/"}, "exactly one of"),
        ({"name": "x", "url": "file:///etc/passwd"}, "http://HOST"),
        ({"name": "x", "url": "http://169.254.169.254/"}, "LEAGUE_REMOTE_HOSTS"),
        ({"name": "x", "url": "http://user:pw@127.0.0.1/"}, "without a user"),
        ({"name": "x", "from": {"player": "nobody"}}, "no player"),
        ({"name": "../../etc", "bot": "random"}, "name"),
        ({"name": "a b", "bot": "random"}, "name"),
    ):
        answer = client.post(f"{API}/runs/{played_run}/players", json=body)
        assert why in refused(answer, 400, 403, 404, 422)
    names = {p["name"] for p in client.get(f"{API}/runs/{played_run}/players").json()["items"]}
    assert not names & {"misfit", "x"}


@pytest.mark.parametrize("number", ["NaN", "Infinity", "-Infinity", "1e999"])
def test_numbers_that_are_none_are_refused(client: TestClient, played_run: str, number: str) -> None:
    headers = {"Content-Type": "application/json"}
    act = f'{{"observation": [{number}{",0" * 83}]}}'
    refused(client.post(f"{API}/players/{played_run}:main.0/act", content=act, headers=headers))
    launch = (
        f'{{"config": {{"game": "native:connect_four", "stop": {{"minutes": {number}}}, "players": []}}}}'
    )
    refused(client.post(f"{API}/runs", content=launch, headers=headers))
    share = f'{{"learn": true, "share": {number}}}'
    refused(client.post(f"{API}/players/{played_run}:main.0/branch", content=share, headers=headers))


def test_bodies_too_large_or_too_deep_are_refused(client: TestClient, played_run: str) -> None:
    headers = {"Content-Type": "application/json"}
    name = json.dumps({"name": "x" * 10_000_000})
    assert "1,048,576 bytes at most" in refused(
        client.patch(f"{API}/runs/{played_run}", content=name, headers=headers)
    )

    def endless() -> Any:
        for _ in range(40):
            yield b" " * 100_000

    assert "at most" in refused(client.post(f"{API}/runs", content=endless(), headers=headers))
    refused(client.post(f"{API}/runs", content="[" * 100_000, headers=headers))
    refused(client.post(f"{API}/runs", content='{"yaml": "' + "- " * 20_000 + '"}', headers=headers))
    bomb = "a: &a [x,x,x,x]\n" + "".join(
        f"{c}: &{c} [*{p},*{p},*{p},*{p}]\n" for p, c in zip("abcdefgh", "bcdefghi", strict=True)
    )
    assert "references" in refused(client.post(f"{API}/runs", json={"yaml": bomb}))
    refused(client.post(f"{API}/runs", content=b'{"yaml": "\xff\xfe"}', headers=headers))
    refused(client.post(f"{API}/runs", content="not json", headers=headers))
    refused(client.post(f"{API}/runs", content="game=x", headers={"Content-Type": "text/plain"}), 415, 422)


def test_sql_paths_and_nulls_in_filters_find_nothing(client: TestClient, played_run: str) -> None:
    for text in ("' OR 1=1 --", "%", "_", '"; DROP TABLE runs; --', "\x00", "\\", "x" * 90):
        for params in ({"text": text}, {"tag": text}, {"game": text}):
            answer = client.get(f"{API}/runs", params=params)
            assert answer.status_code in (200, 422), answer.text
            if answer.status_code == 200:
                assert answer.json()["items"] == []
        answer = client.get(f"{API}/runs/{played_run}/players", params={"text": text.replace("_", "__")})
        assert answer.status_code in (200, 422)
        assert not (answer.status_code == 200 and answer.json()["items"])
    for path in (
        "/static/../app.py",
        "/static/%2e%2e/app.py",
        "/swagger/..%2f..%2fpyproject.toml",
        "/plotly//etc/passwd",
    ):
        assert client.get(path).status_code in (404, 405)
    for name in ("..%2f..%2fetc%2fpasswd", "%00", "a%20b", "ä"):
        answer = client.get(f"{API}/players/{played_run}:{name}/checkpoint")
        assert answer.status_code in (404, 422)
    assert client.get(f"{API}/runs").json()["items"]


def test_a_config_from_elsewhere_names_no_code_of_ours(services: Services, played_run: str) -> None:
    from league.control.access import LOCAL
    from web.app import create_app

    _, token = services.access.create("someone", "operate", None, LOCAL)
    with TestClient(create_app(services), base_url="http://localhost") as client:
        body = {"config": {"game": "python:os:getcwd", "stop": {"minutes": 1}, "players": [{"role": "main"}]}}
        headers = {"Authorization": f"Bearer {token}"}
        assert "LEAGUE_PYTHON_MODULES" in refused(client.post(f"{API}/runs", json=body, headers=headers), 403)
        for network in ({"kind": "python:os:getcwd"}, {"kind": "python:subprocess:run"}):
            good = {"stop": {"minutes": 1}, "players": [{"role": "main"}]}
            own = {"stop": {"minutes": 1}, "players": [{"role": "main", "network": network}]}
            for config in ({**good, "network": network}, own):
                answer = client.post(f"{API}/runs", json={"config": config}, headers=headers)
                assert "LEAGUE_PYTHON_MODULES" in refused(answer, 403)
        answer = client.get(f"{API}/games/python:os:getcwd", headers=headers)
        assert answer.status_code == 403
        answer = client.post(
            f"{API}/runs/{played_run}/clone", json={"config": body["config"]}, headers=headers
        )
        assert answer.status_code == 403
        script = torch.jit.script(torch.nn.Linear(84, 8))  # type: ignore[no-untyped-call]
        out = io.BytesIO()
        torch.jit.save(script, out)
        answer = client.post(f"{API}/checkpoints", content=out.getvalue(), headers={**headers, **BYTES})
        assert "admin scope" in refused(answer, 403)


def test_too_many_requests_are_told_to_wait(services: Services) -> None:
    from dataclasses import replace

    from web.app import create_app

    slow = replace(services, settings=services.settings.model_copy(update={"rate_limit": 5.0}))
    with TestClient(create_app(slow), base_url="http://localhost") as client:
        answers = [client.get(f"{API}/runs") for _ in range(15)]
        assert answers[0].status_code == 200
        last = answers[-1]
        assert (last.status_code, last.headers["retry-after"]) == (429, "1")
        assert client.get("/livez").status_code == 200


def test_exported_models_join_and_play(client: TestClient, played_run: str, services: Services) -> None:
    """An ONNX graph and a TorchScript module of the same layer answer alike, and as the layer does."""
    import onnx
    from onnx import TensorProto, helper, numpy_helper

    torch.manual_seed(0)
    layer = torch.nn.Linear(84, 8)
    out = io.BytesIO()
    torch.jit.save(torch.jit.script(layer), out)  # type: ignore[no-untyped-call]
    graph = helper.make_graph(
        [helper.make_node("Gemm", ["obs", "w", "b"], ["heads"], transB=1)],
        "policy",
        [helper.make_tensor_value_info("obs", TensorProto.FLOAT, ["rows", 84])],
        [helper.make_tensor_value_info("heads", TensorProto.FLOAT, ["rows", 8])],
        [
            numpy_helper.from_array(layer.weight.detach().numpy(), "w"),
            numpy_helper.from_array(layer.bias.detach().numpy(), "b"),
        ],
    )
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=9)
    onnx.checker.check_model(model)
    answers = []
    obs = np.random.default_rng(0).random(84).tolist()
    for name, data in (("onnx", model.SerializeToString()), ("torchscript", out.getvalue())):
        made = upload(client, data)
        assert (made.status_code, made.json().get("kind")) == (201, name), made.text
        body = {"name": name, "checkpoint": made.json()["sha256"]}
        assert client.post(f"{API}/runs/{played_run}/players", json=body).status_code == 201
        body = {"observation": obs, "details": True, "temperature": 0}
        answers.append(client.post(f"{API}/players/{played_run}:{name}/act", json=body).json())
    logits = layer(torch.tensor(obs)).detach().numpy()
    for answer in answers:
        assert answer["actions"] == [int(logits[:7].argmax())]
        assert answer["values"][0] == pytest.approx(logits[7], abs=1e-5)
    from league.store.checkpoints import CheckpointStore
    from league.study.tournaments import TournamentRules
    from matchmaking.sequential import StopRule

    store = CheckpointStore(services.control._checkpoint_url)
    rules = TournamentRules(
        "round-robin", ("onnx", "torchscript", "random"), stop=StopRule(min_games=2, max_games=16)
    )
    played = services.league.tournament(played_run, store, rules)
    assert played.complete
    assert played.games >= 48
