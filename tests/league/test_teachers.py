"""Teachers: made from a run's games, begun from, returned to, refused where they do not fit."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import pytest

from agents.learning.learner import Learner
from agents.networks import weights
from league.bootstrap import Stores
from league.config.run import RunConfig
from league.errors import ConfigError
from league.store.checkpoints import CheckpointStore
from tests import command_line as cli
from tests.serial_league import play


@pytest.fixture
def teacher(stores: Stores, played_run: str) -> tuple[str, str]:
    """The folder of a played run, and the sha256 of a teacher made from its games by the command."""
    home = str(Path(stores.checkpoint_url).parent)
    answer = cli.inside("imitate", "latest", "--home", home, "--epochs", "5", "--json")
    assert answer.returncode == 0, answer.stderr
    facts = json.loads(answer.stdout)
    assert facts["decisions"] > 0
    assert facts["log_loss"] < facts["uniform_log_loss"] + 0.5
    return home, facts["sha256"]


def test_a_player_begins_as_its_teacher_is_pulled_to_it_and_returns_to_it(
    stores: Stores, teacher: tuple[str, str], small_config: Callable[..., RunConfig]
) -> None:
    _, sha = teacher
    snapshot = {"min_steps": 4_000, "max_steps": 8_000}
    learner = {"minibatch": 512, "precision": "float32", "teacher": {"start": 0.2, "end": 0.2}}
    players = [
        {"role": "main", "snapshot": snapshot, "teacher": sha, "learner": learner},
        {"role": "main_exploiter", "snapshot": snapshot, "teacher": sha},
    ]
    run_id = play(stores, small_config(players=players, stop={"moves": 60_000})).id
    service, store = stores.service(), CheckpointStore(stores.checkpoint_url)
    main, exploiter = (service.player(run_id, name) for name in ("main.0", "main_exploiter.0"))
    begun, _ = weights.load_network(store.get(main.initial_checkpoint or ""))
    taught, _ = weights.load_network(store.get(sha))
    for name, tensor in taught.state_dict().items():
        assert bool((begun.state_dict()[name] == tensor).all())
    assert exploiter.initial_checkpoint == main.initial_checkpoint
    assert exploiter.generation >= 1
    # The teacher is part of the learner's state: a learner that is resumed needs nothing else.
    config = RunConfig.from_data(service.run(run_id).config)
    entry = config.players[0]
    resumed = Learner(config.network_spec(entry, config.game_spec()), config.learner.build(), 0)
    state = store.get(main.learner_state or "")
    resumed.restore(state)
    assert resumed.state() == state


def test_the_pool_becomes_one_player(stores: Stores, played_run: str) -> None:
    home = str(Path(stores.checkpoint_url).parent)
    answer = cli.inside("distil", "latest", "--home", home, "--decisions", "150000", "--json")
    assert answer.returncode == 0, answer.stderr
    facts = json.loads(answer.stdout)
    assert sum(facts["shares"].values()) == pytest.approx(1.0)
    assert facts["kl"] < 0.01  # they have hardly begun to learn
    assert facts["decisions"] >= 150_000
    store = CheckpointStore(stores.checkpoint_url)
    _, spec = weights.load_network(store.get(facts["sha256"]))
    config = RunConfig.from_data(stores.service().run(played_run).config)
    assert spec == config.network_spec(config.players[0], config.game_spec())
    answer = cli.inside("distil", "latest", "--home", home, "--player", "main.0", "--player", "random")
    assert answer.returncode == 2
    assert "no player 'random' with a network" in answer.stderr


def test_teachers_that_cannot_be_had_are_refused_before_anything_runs(
    stores: Stores, teacher: tuple[str, str], tmp_path: Path
) -> None:
    home, sha = teacher
    path = tmp_path / "taught.yaml"
    for wanted, hidden, why in (("0" * 64, 32, "league imitate"), (sha, 64, "the player's network is")):
        path.write_text(
            f"stop: {{moves: 1000}}\nplayers: [{{role: main, teacher: '{wanted}'}}]\n"
            f"network: {{hidden: [{hidden}]}}\n"
        )
        answer = cli.inside("run", str(path), "--home", home, "--no-web")
        assert answer.returncode == 2
        assert "players[0].teacher" in answer.stderr
        assert why in answer.stderr.replace("\n", " ")
    with pytest.raises(ConfigError, match="teacher"):
        RunConfig.from_data({"stop": {"moves": 1}, "players": [{"role": "main", "teacher": "x"}]})


def test_games_come_from_a_file_too(stores: Stores, played_run: str, tmp_path: Path) -> None:
    service, home = stores.service(), str(Path(stores.checkpoint_url).parent)
    episode = service.episode(played_run, service.episodes(played_run, limit=1)[0].id)
    path = tmp_path / "games.jsonl"
    path.write_text(json.dumps({"returns": episode.returns, "moves": episode.moves}) + "\n")
    made = cli.inside("imitate", "latest", "--home", home, "--file", str(path), "--epochs", "1")
    assert made.returncode == 0, made.stderr
    assert "teacher: " in made.stdout
    for text, why in (("{]", "games.jsonl:1"), (json.dumps({"returns": [], "moves": [{}]}), "no game")):
        path.write_text(text)
        refused = cli.inside("imitate", "latest", "--home", home, "--file", str(path))
        assert refused.returncode == 2
        assert why in refused.stderr.replace("\n", "")
    refused = cli.inside("imitate", "latest", "--home", home, "--file", str(tmp_path / "none"))
    assert "No such file" in refused.stderr
