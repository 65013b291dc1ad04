"""A league that is being played obeys at once, and goes on where it was."""

from __future__ import annotations

import json
import threading
from collections.abc import Callable
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

import numpy as np
import pytest

from agents.players.remote import RemotePolicy
from league.bootstrap import Stores
from league.config.run import RunConfig
from league.control.access import LOCAL
from league.control.sources import NewPlayer
from league.runtime.messages import RunStatus
from league.runtime.supervisor import Supervisor
from league.settings import Settings
from league.store.check import check_run
from league.store.checkpoints import CheckpointStore
from league.store.repositories.tournaments import TournamentRepository
from tests.serial_league import play


def steered(stores: Stores, config: RunConfig, script: list[tuple[int, Callable[[str], Any]]]) -> str:
    """Plays a league and does each thing when so many moves have been played, as another process would."""
    service, supervisor = stores.service(), Supervisor(stores.database_url, stores.checkpoint_url)
    run_id = service.launch(config).id
    left, running = list(script), list[threading.Thread]()

    def watch(status: RunStatus) -> None:
        if left and status.moves >= left[0][0] and not any(t.is_alive() for t in running):
            running.append(threading.Thread(target=left.pop(0)[1], args=(run_id,)))
            running[-1].start()

    stop = threading.Event()
    supervisor.supervise(run_id, supervisor.wait_for_claim(run_id, stop, lambda _: None), stop, watch)
    for thread in running:
        thread.join()
    assert not left
    return run_id


def test_a_running_league_obeys(
    stores: Stores, small_config: Callable[..., RunConfig], monkeypatch: pytest.MonkeyPatch
) -> None:
    import league.control.steering
    import league.runtime.coordinator

    # The league is paused while a request waits in this one process, so nobody waits.
    monkeypatch.setattr(league.control.steering, "WAIT_SECONDS", 0.0)
    monkeypatch.setattr(league.runtime.coordinator, "LOOK_SECONDS", 0.0)
    services = stores.services(Settings(loopback=True))
    control, seen = services.control, {}

    def note(name: str) -> Callable[[str], None]:
        def look(run: str) -> None:
            seen[name] = services.league.player(run, "main.0")

        return look

    script: list[tuple[int, Callable[[str], Any]]] = [
        (5_000, lambda run: control.command(run, "freeze", "main.0", {}, LOCAL)),
        (70_000, note("frozen")),
        (110_000, note("still frozen")),
        (111_000, lambda run: control.command(run, "unfreeze", "main.0", {}, LOCAL)),
        (190_000, note("unfrozen")),
        (
            191_000,
            lambda run: control.branch(run, "main.0", LOCAL, name=None, learn=True, role=None, share=4.0),
        ),
        (250_000, lambda run: control.add_player(run, NewPlayer("guest", bot="random"), LOCAL)),
        (
            251_000,
            lambda run: control.edit(
                run, LOCAL, patch={"evaluation": {"share": 0.7}, "stop": {"moves": 350_000}}
            ),
        ),
    ]
    run = steered(stores, small_config(stop={"moves": 600_000}), script)
    final = services.league.run(run)
    assert 350_000 <= final.moves < 450_000
    assert (seen["frozen"].state, seen["unfrozen"].state) == ("frozen", "learning")
    assert seen["frozen"].steps == seen["still frozen"].steps < seen["unfrozen"].steps
    branched = services.league.player(run, "main.1")
    assert branched.steps > 5_000
    assert branched.parent == "main.0"
    assert services.league.head_to_head(run, "guest")
    kinds = [(e.kind, e.actor) for e in services.league.past_events(run, limit=500) if e.actor]
    assert [k for k, _ in reversed(kinds)] == ["frozen", "unfrozen", "branched", "added", "config_changed"]
    assert {c.state for c in control.commands(run, 100)} == {"done"}
    assert check_run(stores.open_database(upgrade=False), CheckpointStore(stores.checkpoint_url), run) == []
    control.edit(run, LOCAL, patch={"stop": {"moves": 450_000}})
    import contextlib

    from league.errors import ConflictError

    with contextlib.suppress(ConflictError):  # finished by its rule: somebody else goes on with a clone
        control.want(run, "running", LOCAL)
    resumed = play(stores, RunConfig.from_data(services.league.run(run).config), resume=run)
    assert resumed.moves >= 450_000
    assert services.league.player(run, "main.1").steps > branched.steps


class Policy(BaseHTTPRequestHandler):
    """Always wants the highest action; answers nonsense when told to."""

    nonsense = False

    def do_POST(self) -> None:
        rows = json.loads(self.rfile.read(int(self.headers["Content-Length"])))["observations"]
        answer = {"actions": [6] * len(rows)} if not Policy.nonsense else {"actions": ["?"]}
        body = json.dumps(answer).encode()
        self.send_response(200)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_: Any) -> None:
        pass


def test_a_policy_behind_a_url_plays_and_one_that_fails_plays_at_random() -> None:
    server = ThreadingHTTPServer(("127.0.0.1", 0), Policy)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    policy = RemotePolicy(f"http://127.0.0.1:{server.server_port}/act", 7)
    heads = policy.heads(np.zeros((5, 84), np.float32))
    assert heads[:, :-1].argmax(axis=1).tolist() == [6] * 5
    assert policy.take_errors() == []
    Policy.nonsense = True
    assert not policy.heads(np.zeros((5, 84), np.float32)).any()
    (error,) = policy.take_errors()
    assert "plays at random" in error
    Policy.nonsense = False
    assert not policy.heads(np.zeros((5, 84), np.float32)).any()  # it is left alone for a while
    server.shutdown()


def test_a_remote_player_joins_a_league(stores: Stores, small_config: Callable[..., RunConfig]) -> None:
    server = ThreadingHTTPServer(("127.0.0.1", 0), Policy)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    services = stores.services(Settings(loopback=True))
    run = services.control.launch(small_config(stop={"moves": 40_000}), LOCAL).id
    url = f"http://127.0.0.1:{server.server_port}/act"
    command = services.control.add_player(run, NewPlayer("remote", url=url), LOCAL)
    assert command.state == "done"  # nobody runs the league yet: it is founded and obeys at once
    play(stores, small_config(), resume=run)
    server.shutdown()
    opponents = services.league.head_to_head(run, "remote")
    assert sum(o.games for o in opponents) > 0


def test_a_game_is_written_down_whole(stores: Stores, played_run: str) -> None:
    (heading, *_) = stores.service().episodes(played_run, limit=1)
    game = stores.service().episode(played_run, heading.id)
    assert game.moves is not None
    assert game.length == len(game.moves)
    assert [m["seat"] for m in game.moves] == [k % 2 for k in range(game.length)]


def test_a_tournament_is_played_by_one_and_taken_over_from_the_dead(
    stores: Stores, played_run: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    import league.store.repositories.tournaments

    tournaments = TournamentRepository(stores.open_database(upgrade=False))
    asked = tournaments.ask(played_run, {"form": "round-robin", "players": ["main.0", "random"]}, "me")
    taken = tournaments.claim()
    assert taken is not None
    assert tournaments.claim() is None
    record, claim = taken
    assert record.id == asked.id
    assert tournaments.keep_on(asked.id, claim, 10)
    monkeypatch.setattr(league.store.repositories.tournaments, "SILENCE_SECONDS", -1.0)
    for _ in range(2):
        again = tournaments.claim()
        assert again is not None
    assert not tournaments.keep_on(asked.id, claim, 20)  # the first has been given up
    tournaments.finish(asked.id, claim, "done", {"games": 3})
    assert tournaments.get(asked.id).state == "running"
    assert tournaments.claim() is None
    assert tournaments.get(asked.id).state == "failed"
    monkeypatch.undo()
    other = tournaments.ask(played_run, {"form": "round-robin", "players": ["main.0", "random"]}, "me")
    tournaments.cancel(other.id)
    assert tournaments.claim() is None
