"""Tournaments between the players of a league that has really been played."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from agents.players.bots import RandomBot
from league.bootstrap import Stores
from league.errors import NotFoundError
from league.store.check import check_run
from league.store.checkpoints import CheckpointStore
from league.study.arena import Arena
from league.study.standings import standing_as_json
from league.study.tournaments import TournamentResults, TournamentRules
from matchmaking.errors import MatchmakingError
from matchmaking.sequential import StopRule
from matchmaking.sides import Sides
from tests import command_line as cli

QUICK = StopRule(precision=0.1, max_games=400)


def hold(stores: Stores, run_id: str, rules: TournamentRules, most: int = 10**9) -> TournamentResults:
    store = CheckpointStore(stores.checkpoint_url)
    return stores.service().tournament(run_id, store, rules, lambda games: games < most)


def test_a_round_robin_is_balanced_and_kept_apart_from_the_leagues_results(
    stores: Stores, played_run: str
) -> None:
    service = stores.service()
    before = [standing_as_json(row) for row in service.standings(played_run)]
    rules = TournamentRules("round-robin", ("main.0", "main.0.v1", "random"), stop=QUICK)
    results = hold(stores, played_run, rules)
    assert results.complete
    assert [(p.first, p.second) for p in results.pairs] == [
        ("main.0", "main.0.v1"), ("main.0", "random"), ("main.0.v1", "random"),
    ]  # fmt: skip
    for pair in results.pairs:
        first, second = (sum(row) for row in pair.seats)
        assert first == second == (pair.wins + pair.draws + pair.losses) // 2 <= 200
        assert pair.low <= pair.score <= pair.high
        assert pair.high - pair.low <= 0.2 or 2 * first >= 400
    assert results.games == sum(p.wins + p.draws + p.losses for p in results.pairs)
    assert results.ranking[0].player == "main.0"  # it has learnt something
    assert results.anchor == "random"
    assert next(p.rating for p in results.ranking if p.player == "random") == 0.0

    kept = service.tournaments(played_run)
    assert [(t.rules["form"], t.results["games"]) for t in kept] == [("round-robin", results.games)]
    assert before == [standing_as_json(row) for row in service.standings(played_run)]
    database = stores.open_database(upgrade=False)
    assert check_run(database, CheckpointStore(stores.checkpoint_url), played_run) == []


def test_the_same_seed_plays_the_same_tournament(stores: Stores, played_run: str) -> None:
    def rules(seed: int) -> TournamentRules:
        return TournamentRules("round-robin", ("main.0", "main.0.v1"), seed=seed, stop=QUICK)

    first, again, other = (hold(stores, played_run, rules(s)) for s in (1, 1, 2))
    assert first == again
    assert first != other


def test_greedy_players_play_one_game_a_seat(stores: Stores, played_run: str) -> None:
    rules = TournamentRules("round-robin", ("main.0", "main.0.v1"), greedy=True, stop=QUICK)
    (pair,) = hold(stores, played_run, rules).pairs
    assert all(sorted(row)[:2] == [0, 0] for row in pair.seats)


def test_a_gauntlet_takes_bots_that_are_not_in_the_run(stores: Stores, played_run: str) -> None:
    rules = TournamentRules("gauntlet", ("main.0", "main.0.v1"), ("random", "mcts:4"), stop=QUICK)
    results = hold(stores, played_run, rules)
    assert {(p.first, p.second) for p in results.pairs} == {
        (p, bot) for p in ("main.0", "main.0.v1") for bot in ("random", "mcts:4")
    }


def test_a_swiss_plays_its_rounds(stores: Stores, played_run: str) -> None:
    names = ("main.0", "main.0.v1", "main_exploiter.0", "main_exploiter.0.v1", "random")
    results = hold(stores, played_run, TournamentRules("swiss", names, rounds=3, stop=QUICK))
    assert len(results.pairs) == 6
    assert sum(p.points for p in results.ranking) == pytest.approx(3 * 3)  # with the three who rested


def test_what_was_broken_off_is_kept_and_said(stores: Stores, played_run: str) -> None:
    rules = TournamentRules("round-robin", ("main.0", "random"), stop=StopRule(0.001, max_games=100_000))
    results = hold(stores, played_run, rules, most=500)
    assert not results.complete
    assert 500 <= results.games < 1000
    assert stores.service().tournaments(played_run)[0].results["complete"] is False


def test_who_is_not_there_is_named(stores: Stores, played_run: str) -> None:
    with pytest.raises(NotFoundError, match=r"no player 'main\.0\.v', did you mean main\.0\.v\d"):
        hold(stores, played_run, TournamentRules("round-robin", ("main.0", "main.0.v")))
    with pytest.raises(MatchmakingError, match="2 players or more"):
        hold(stores, played_run, TournamentRules("round-robin", ("main.0",)))
    assert stores.service().tournaments(played_run) == []


def test_the_command_plays_prints_and_refuses(stores: Stores, played_run: str) -> None:
    home = str(Path(stores.checkpoint_url).parent)
    options = ["--home", home, "--precision", "0.1", "--max-games", "200"]
    answer = cli.run("match", "latest", "main.0", "random", *options, "--json")
    assert answer.returncode == 0, answer.stderr
    assert {p["player"] for p in json.loads(answer.stdout)["ranking"]} == {"main.0", "random"}
    shown = cli.run("match", played_run, "main.0", "--format", "gauntlet", "--against", "random", *options)
    assert shown.returncode == 0, shown.stderr
    assert "Elo points above random" in shown.stdout
    for arguments, message in (
        (["main.0", "nobody"], "no player 'nobody'"),
        (["main.0", "main.0"], "main.0 is listed more than once"),
        (["main.0", "random", "--precision", "0"], "precision: 0.0 must lie in"),
        (["main.0", "random", "--format", "swiss", "--rounds", "5"], "rounds: 5 must lie in [1, 1]"),
    ):
        refused = cli.inside("match", "latest", *arguments, "--home", home)
        assert refused.returncode == 2
        assert message in refused.stderr
        assert "Traceback" not in refused.stderr


def test_a_game_that_never_ends_well_ends_a_tournament_all_the_same(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "hopeless.py").write_text(
        "from mpe2 import simple_spread_v3\n"
        "def make():\n"
        "    env = simple_spread_v3.parallel_env(max_cycles=3)\n"
        "    def step(actions):\n"
        "        raise RuntimeError('no')\n"
        "    env.step = step\n"
        "    return env\n"
    )
    monkeypatch.syspath_prepend(str(tmp_path))
    arena = Arena(
        "python:hopeless:make(teams=all)",
        {"random": RandomBot()},
        sides=Sides(1),
        num_envs=2,
        temperature=1.0,
        seed=0,
    )
    scores, complete = arena.scores(["random"], 4)
    assert complete
    assert scores["random"].games == 0
