"""A whole league in one process: real games, real learning, a real database."""

from __future__ import annotations

import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import torch

from agents.errors import DeviceError
from league.bootstrap import Stores
from league.config.run import RunConfig
from league.control.services import LeagueService
from league.errors import RunBusyError
from league.runtime.learning import LearnerPool
from league.runtime.messages import RunStatus
from league.runtime.supervisor import Supervisor
from league.store.check import check_run
from league.store.checkpoints import CheckpointStore
from league.store.repositories.league_state import LeagueRepository
from league.study.standings import standing_as_json
from tests.serial_league import play

Make = Callable[..., RunConfig]


def rows(service: LeagueService, run_id: str) -> list[dict[str, Any]]:
    return [
        {key: value for key, value in standing_as_json(row).items() if key != "created_at"}
        for row in service.standings(run_id)
    ]


def test_a_league_plays_learns_copies_resets_and_rates(stores: Stores, small_config: Make) -> None:
    record = play(stores, small_config())
    service = stores.service()
    assert (record.state, record.stop_reason) == ("finished", "reached its stop rule")
    assert record.moves >= 120_000
    standings = {row["player"]: row for row in rows(service, record.id)}
    assert {"main.0", "main_exploiter.0", "random", "mcts:2", "main.0.v1", "main_exploiter.0.v1"} <= set(
        standings
    )
    assert standings["main.0"]["steps"] > 30_000
    assert standings["main_exploiter.0"]["generation"] >= 1
    assert all(standings[p]["rated_games"] > 0 for p in ("main.0", "main.0.v1", "random", "mcts:2"))
    events = [e.kind for e in service.events(record.id)]
    assert events[0] == "run_started"
    assert events.count("snapshot") == sum(row["role"] == "historical" for row in standings.values())
    payoffs = service.payoffs(record.id)
    for i, row in enumerate(payoffs.win_rates):
        for j, rate in enumerate(row):
            if rate >= 0:
                assert rate + payoffs.win_rates[j][i] == pytest.approx(1.0, abs=1e-3)


def test_the_same_seed_gives_the_same_standings(stores: Stores, small_config: Make) -> None:
    first = play(stores, small_config(stop={"moves": 60_000}))
    second = play(stores, small_config(stop={"moves": 60_000}))
    other = play(stores, small_config(stop={"moves": 60_000}, seed=1))
    service = stores.service()
    assert rows(service, first.id) == rows(service, second.id)
    assert rows(service, first.id) != rows(service, other.id)


def test_networks_in_one_place_play_the_same_league(stores: Stores, small_config: Make) -> None:
    here = play(stores, small_config(stop={"moves": 60_000}))
    there = play(stores, small_config(stop={"moves": 60_000}, inference={"where": "central"}))
    service = stores.service()
    assert rows(service, here.id) == rows(service, there.id)


@pytest.mark.skipif(torch.cuda.is_available(), reason="there is a GPU here")
@pytest.mark.parametrize(
    "section", [{"learner": {"device": "cuda", "minibatch": 512}}, {"inference": {"device": "cuda"}}]
)
def test_a_run_for_a_gpu_that_is_not_there_fails_at_once(
    stores: Stores, small_config: Make, section: dict[str, Any]
) -> None:
    with pytest.raises(DeviceError, match="use auto or cpu"):
        play(stores, small_config(**section))
    (record,) = stores.service().runs()
    assert (record.state, "finds no GPU" in (record.stop_reason or "")) == ("failed", True)


def test_players_learn_by_algorithms_and_networks_of_their_own(stores: Stores, small_config: Make) -> None:
    snapshot = {"min_steps": 4_000, "max_steps": 8_000}
    common = {"role": "main", "snapshot": snapshot}
    players = [
        {**common, "learner": {"algorithm": "ppo", "minibatch": 512, "magnet": {"start": 0.1, "end": 0.1}}},
        {**common, "learner": {"algorithm": "impala", "minibatch": 512}},
        {**common, "learner": {"algorithm": "appo", "minibatch": 512, "epochs": 2}},
        {
            **common,
            "learner": {"algorithm": "alphastar", "minibatch": 512},
            "network": {"kind": "cnn", "channels": 4, "blocks": 1, "hidden": [16]},
        },
        {**common, "learner": {"algorithm": "r2d2", "minibatch": 512}},
    ]
    record = play(stores, small_config(players=players))
    standings = {row["player"]: row for row in rows(stores.service(), record.id)}
    for k in range(5):
        assert standings[f"main.{k}"]["steps"] > 8_000
        assert f"main.{k}.v1" in standings
        assert standings[f"main.{k}"]["rated_games"] > 0


def test_an_interrupted_league_goes_on_where_it_was(stores: Stores, small_config: Make) -> None:
    config = small_config()
    paused = play(stores, config, stop_at=50_000)
    assert (paused.state, paused.stop_reason) == ("paused", "interrupted")
    service = stores.service()
    before = rows(service, paused.id)
    seen: list[list[dict[str, Any]]] = []

    supervisor = Supervisor(stores.database_url, stores.checkpoint_url)
    service.want(paused.id, "running")
    stop = threading.Event()
    token = supervisor.wait_for_claim(paused.id, stop, lambda _: None)
    assert rows(service, paused.id) == before  # claiming changes nothing

    def first_status(_: RunStatus) -> None:
        seen.append(rows(service, paused.id))

    final = supervisor.supervise(paused.id, token, stop, first_status)
    learners = [(r["player"], r["steps"], r["generation"]) for r in before if r["state"] == "learning"]
    resumed = [(r["player"], r["steps"], r["generation"]) for r in seen[0] if r["state"] == "learning"]
    assert sorted(resumed) == sorted(learners)
    assert final.state == "finished"
    assert final.moves >= 120_000
    # A service of its own: on a busy machine the other one may answer as of two seconds ago.
    after = {row["player"]: row for row in rows(stores.service(), final.id)}
    assert {row["player"] for row in before} <= set(after)
    assert after["main.0"]["steps"] > {p: s for p, s, _ in learners}["main.0"]


def go_on(stores: Stores, run_id: str) -> None:
    supervisor = Supervisor(stores.database_url, stores.checkpoint_url)
    stores.service().want(run_id, "running")
    stop = threading.Event()
    token = supervisor.wait_for_claim(run_id, stop, lambda _: None)
    supervisor.supervise(run_id, token, stop, lambda _: None)


@pytest.mark.parametrize("damaged", [1, 2])
def test_a_damaged_state_is_put_aside_and_the_one_before_or_the_initial_weights_are_used(
    stores: Stores, small_config: Make, damaged: int
) -> None:
    run_id = play(stores, small_config(), stop_at=60_000).id
    service, store = stores.service(), CheckpointStore(stores.checkpoint_url)
    main = service.player(run_id, "main.0")
    assert main.learner_state != main.previous_state
    files = []
    for sha in (main.learner_state, main.previous_state)[:damaged]:
        assert sha is not None
        (file,) = Path(stores.checkpoint_url).rglob(f"{sha}.safetensors")
        file.write_bytes(file.read_bytes()[:-100])
        files.append(file)
    go_on(stores, run_id)
    (event,) = [e for e in service.events(run_id) if e.kind == "checkpoint_damaged"]
    assert event.player == "main.0"
    assert (main.learner_state or "") in event.data["reason"]
    assert ("the state before" if damaged == 1 else "initial weights") in event.data["reason"]
    for file in files:
        assert Path(f"{file}.damaged").exists()
    after = service.player(run_id, "main.0")
    assert after.steps > main.steps
    assert after.generation == main.generation
    assert after.learner_state is not None
    assert store.get(after.learner_state)
    assert check_run(stores.open_database(upgrade=False), store, run_id) == []


def test_a_frozen_player_whose_weights_are_damaged_is_retired_and_the_league_goes_on(
    stores: Stores, small_config: Make
) -> None:
    run_id = play(stores, small_config(), stop_at=60_000).id
    service = stores.service()
    sha = service.player(run_id, "main.0.v1").checkpoint
    (file,) = Path(stores.checkpoint_url).rglob(f"{sha}.safetensors")
    file.write_bytes(b"x" + file.read_bytes()[1:])
    before = service.standing(run_id, "main.0.v1").games
    go_on(stores, run_id)
    lost = service.player(run_id, "main.0.v1")
    assert lost.state == "retired"
    (event,) = [e for e in service.events(run_id) if e.kind == "lost"]
    assert (event.player, sha in event.data["reason"]) == ("main.0.v1", True)
    assert Path(f"{file}.damaged").exists()
    assert service.run(run_id).state == "finished"
    assert service.standing(run_id, "main.0.v1").games == before, "what was not played counts for nothing"
    assert service.standing(run_id, "main_exploiter.0.v1").games > 0


def test_a_live_owner_keeps_its_run(stores: Stores, small_config: Make) -> None:
    service = stores.service()
    run_id = service.launch(small_config()).id
    first, second = (Supervisor(stores.database_url, stores.checkpoint_url) for _ in range(2))
    token = first.wait_for_claim(run_id, threading.Event(), lambda _: None)
    over = threading.Event()

    def keep() -> None:
        while not over.wait(0.4):
            first._runs.heartbeat(run_id, token, 10)

    thread = threading.Thread(target=keep)
    thread.start()
    try:
        with pytest.raises(RunBusyError, match="is being run by"):
            second.wait_for_claim(run_id, threading.Event(), lambda _: None)
    finally:
        over.set()
        thread.join()


def test_a_learner_that_diverges_goes_back_and_says_so(
    stores: Stores, small_config: Make, monkeypatch: pytest.MonkeyPatch
) -> None:
    real, calls = LearnerPool.learn, [0]

    def poisoned(self: LearnerPool, fragment: Any) -> None:
        calls[0] += 1
        if calls[0] == 20:
            fragment.rewards[:] = float("nan")
        real(self, fragment)

    monkeypatch.setattr(LearnerPool, "learn", poisoned)
    record = play(stores, small_config(stop={"moves": 60_000}))
    events = [e for e in stores.service().events(record.id) if e.kind == "rolled_back"]
    assert len(events) == 1
    assert "nan" in events[0].data["reason"]
    assert record.state == "finished"


def test_states_of_learners_do_not_pile_up(stores: Stores, small_config: Make, tmp_path: Any) -> None:
    record = play(stores, small_config(stop={"moves": 60_000}))
    league = LeagueRepository(stores.open_database(upgrade=False), record.id).load()
    pointed_at = {p.checkpoint for p in league.players} | {p.learner_state for p in league.players}
    pointed_at |= {p.previous_state for p in league.players}
    pointed_at |= {p.initial_checkpoint for p in league.players}
    stored = {f.stem for f in (tmp_path / "home" / "checkpoints").rglob("*.safetensors")}
    assert stored == pointed_at - {None}
