"""A wrong config is told which field, what it holds, what is allowed, and the nearest valid word."""

from __future__ import annotations

import subprocess
from pathlib import Path
from typing import Any

import pytest
import yaml

from league.config.live import require_same_logits
from league.config.run import RunConfig
from league.config.sections import NetworkConfig
from league.errors import ConfigError, ConflictError

ROOT = Path(__file__).parents[2]
CONFIGS = ROOT / "configs"
CLUSTERS = CONFIGS / "cluster"
GOOD: dict[str, Any] = {"stop": {"minutes": 1}, "players": [{"role": "main"}]}


def error_for(**changes: Any) -> str:
    with pytest.raises(ConfigError) as caught:
        RunConfig.from_data({**GOOD, **changes})
    return str(caught.value)


@pytest.mark.parametrize(
    "path", sorted(set(CONFIGS.rglob("*.yaml")) - set(CLUSTERS.rglob("*"))), ids=lambda p: p.name
)
def test_every_config_of_the_repository_is_right(path: Path) -> None:
    assert RunConfig.from_yaml(path).roster()


def test_the_clusters_of_the_repository_are_what_ray_and_kubernetes_take() -> None:
    from ray.autoscaler._private.util import prepare_config, validate_config

    validate_config(prepare_config(yaml.safe_load((CLUSTERS / "ray.yaml").read_text())))
    made = yaml.safe_load((CLUSTERS / "kuberay.yaml").read_text())
    assert (made["apiVersion"], made["kind"]) == ("ray.io/v1", "RayCluster")
    for group in (made["spec"]["headGroupSpec"], *made["spec"]["workerGroupSpecs"]):
        (container,) = group["template"]["spec"]["containers"]
        mounted = {mount["name"] for mount in container["volumeMounts"]}
        assert mounted == {volume["name"] for volume in group["template"]["spec"]["volumes"]}
    subprocess.run(["bash", "-n", str(CLUSTERS / "slurm.sh")], check=True)


@pytest.mark.parametrize(
    ("changes", "expected"),
    [
        ({"anchor": ["random"]}, "anchor: unknown key, did you mean anchors?; allowed: name, game"),
        (
            {"learner": {"entropi": 1}},
            "learner.entropi: unknown key, did you mean entropy?; allowed: algorithm, learning_rate",
        ),
        (
            {"players": [{"role": "main", "snapshot": {"min_step": 5}}]},
            "players[0].snapshot.min_step: unknown key, did you mean min_steps?",
        ),
        (
            {"players": [{"role": "main_exploter"}]},
            "players[0].role: 'main_exploter', did you mean main_exploiter? "
            "allowed: main, main_exploiter, league_exploiter",
        ),
        ({"game": "native:conect_four"}, "did you mean native:connect_four?"),
        (
            {"players": [{"role": "main", "seats": ["seat_7"]}]},
            "players[0].seats: 'seat_7' is no seat of native:connect_four, did you mean seat_1?; it has",
        ),
        (
            {"players": [{"role": "main", "seats": ["seat_0"]}]},
            "players: no main plays seat_1; add one with these seats",
        ),
        (
            {"players": [{"role": "main_exploiter"}]},
            "players: main_exploiter has no main to exploit; add a player with role: main",
        ),
        (
            {"game": "native:kuhn_poker", "network": {"kind": "cnn"}},
            "network.kind: cnn needs observations of planes, rows and columns; those of native:kuhn_poker",
        ),
        (
            {"game": "native:kuhn_poker", "network": {"kind": "attention"}},
            "network.kind: attention needs observations of rows, an entity each; those of native:kuhn_poker",
        ),
        (
            {"game": "pettingzoo:sisl.multiwalker_v9", "learner": {"algorithm": "r2d2"}},
            "learner.algorithm: r2d2 learns a value of every action; one of pettingzoo:sisl.",
        ),
        (
            {"network": {"kind": "cmn"}},
            "network.kind: 'cmn', did you mean cnn? allowed: mlp, cnn, attention, encoders, python:MODULE",
        ),
        (
            {"network": {"kind": "python:tests.agents.own_networks:narrow"}},
            "network.kind: python:tests.agents.own_networks:narrow: for 3 observations of 84 numbers",
        ),
        ({"stop": {"minutes": -3}}, "stop.minutes: -3: input should be greater than 0"),
        ({"stop": {}}, "stop: needs minutes or moves"),
        ({"rollout": {"num_envs": "many"}}, "rollout.num_envs: 'many': input should be a valid integer"),
        (
            {"anchors": ["random", "mtcs:20"]},
            "anchors[1]: unknown bot 'mtcs:20'; known: random, mcts:SIMULATIONS",
        ),
        ({"anchors": ["random", "random"]}, "anchors: random is listed more than once"),
        (
            {"players": [{"role": "main", "snapshot": {"min_steps": 9, "max_steps": 5}}]},
            "players[0].snapshot: min_steps 9 is above max_steps 5",
        ),
        (
            {"players": [{"role": "main", "matching": {"pfsp_chare": 0.2}}]},
            "players[0]: matching: unknown key 'pfsp_chare', did you mean pfsp_share?",
        ),
        (
            {"players": [{"role": "main", "matching": {"pfsp_weighting": "squarred"}}]},
            "matching.pfsp_weighting: 'squarred', did you mean squared?; allowed: squared, variance",
        ),
        (
            {"players": [{"role": "main", "matching": {"pfsp_share": 3.0}}]},
            "matching.pfsp_share: 3.0 must be a number in [0, 1]",
        ),
        (
            {"players": [{"role": "main", "opponents": [{"sampler": "windw"}]}]},
            "sampler: 'windw', did you mean window?; allowed: self_play, fictitious",
        ),
        (
            {"players": [{"role": "main", "opponents": [{"sampler": "window", "sise": 3}]}]},
            "opponents[0]: unknown key 'sise', did you mean size?; window takes size, latest_share",
        ),
        (
            {"players": [{"role": "main", "opponents": [{"sampler": "pfsp", "pool": "all"}]}]},
            "sampler pfsp: unknown pool 'all'; one of historical, mine",
        ),
        (
            {"players": [{"role": "main", "targets": "mains"}]},
            "targets and reset_probability need opponents",
        ),
        (
            {"players": [{"role": "main", "matching": {"pfsp_share": 0.9, "verification_share": 0.2}}]},
            "matching: pfsp_share 0.9 and verification_share 0.2 add up to more than 1",
        ),
        (
            {"players": [{"role": "main", "opponents": [{"sampler": "self_play", "weight": 0}]}]},
            "players[0].opponents[0].weight: 0: input should be greater than 0",
        ),
        ({"players": [{"role": "main", "opponents": []}]}, "players[0].opponents: "),
        (
            {"players": [{"role": "main", "opponents": [{"sampler": "fixed", "players": []}]}]},
            "sampler fixed: players is a list of names, one at least; got ()",
        ),
        (
            {"players": [{"role": "main", "opponents": [{"sampler": "fixed"}]}]},
            "sampler fixed: needs players",
        ),
        (
            {"players": [{"role": "main", "opponents": [{"sampler": "fixed", "players": ["mian.0"]}]}]},
            "players: main.0: sampler fixed: nobody will be called 'mian.0', did you mean main.0?; there are "
            "main.0, random and snapshots such as main.0.v1",
        ),
        (
            {"players": [{"role": "main", "opponents": [{"sampler": "pfsp", "pool": "exploiters"}]}]},
            "main.0: sampler pfsp: pool exploiters will always be empty; add a player with role: main_ex",
        ),
        (
            {"players": [{"role": "main", "opponents": [{"sampler": "uniform", "pool": "learners"}]}]},
            "main.0: sampler uniform: pool learners will always be empty; add another player",
        ),
        (
            {"players": [{"role": "main", "opponents": [{"sampler": "self_play"}], "targets": "exploiters"}]},
            "main.0: targets: pool exploiters will always be empty",
        ),
        ({"topology": "sync"}, "stop.minutes: a clock is not reproducible"),
        (
            {"topology": "sync", "stop": {"moves": 5}, "rollout": {"workers": 2}},
            "rollout.workers: 2 with topology: sync",
        ),
        ({"learner": {"minibatch": 100_000}}, "learner.minibatch: 100000 is more than a fragment holds"),
        ({"learner": {"clip": float("nan")}}, "learner.clip: nan: input should be a finite number"),
    ],
)
def test_says_what_is_wrong_and_what_would_be_right(changes: dict[str, Any], expected: str) -> None:
    assert expected in error_for(**changes)


def test_every_mistake_is_named_at_once() -> None:
    lines = error_for(stop={"minutes": 0}, seed=-1, colour="red").splitlines()
    assert len(lines) == 3
    assert all(line.startswith("config: ") for line in lines)


def test_a_file_that_is_not_there_or_not_yaml(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="No such file"):
        RunConfig.from_yaml(tmp_path / "none.yaml")
    with pytest.raises(ConfigError, match="not YAML"):
        RunConfig.from_text("a: [1, 2")
    with pytest.raises(ConfigError, match="expected keys such as game, players, stop; got list"):
        RunConfig.from_text("- 1")
    with pytest.raises(ConfigError, match="players: missing"):
        RunConfig.from_text("stop: {minutes: 1}")


def test_names_are_numbered_by_role() -> None:
    config = RunConfig.from_data(
        {**GOOD, "players": [{"role": "main", "count": 2}, {"role": "main_exploiter"}, {"role": "main"}]}
    )
    assert list(config.roster()) == ["main.0", "main.1", "main_exploiter.0", "main.2"]


def test_a_stored_config_is_the_same_config() -> None:
    config = RunConfig.from_yaml(ROOT / "configs/quickstart.yaml")
    assert RunConfig.from_data(config.model_dump(mode="json", exclude_none=True)) == config


@pytest.mark.parametrize(
    ("learner", "fits"),
    [
        ({"algorithm": "impala"}, True),
        ({"q_learning": {"temperature": 0.5}}, True),  # nobody learns by it
        ({"algorithm": "r2d2"}, False),
    ],
)
def test_weights_do_not_go_over_to_an_algorithm_that_reads_them_otherwise(
    learner: dict[str, object], fits: bool
) -> None:
    base = {"stop": {"moves": 1}, "players": [{"role": "main"}]}
    old, new = RunConfig.from_data(base), RunConfig.from_data({**base, "learner": learner})
    if fits:
        require_same_logits(old, new)
    else:
        with pytest.raises(ConflictError, match=r"main\.0: the logits of r2d2 are values divided"):
            require_same_logits(old, new)


@pytest.mark.parametrize(
    "network",
    [
        {"hidden": [8, 9], "popart": True, "normalise": True},
        {"hidden": [8], "memory": "gru", "memory_units": 5},
        {"hidden": [8], "critic": "team"},
        {"hidden": [8], "critic": "separate", "channels": 4, "blocks": 1},
    ],
)
def test_who_is_branched_keeps_its_network(network: dict[str, Any]) -> None:
    data = GOOD | {"game": "pettingzoo:mpe2.simple_spread_v3", "anchors": [], "network": network}
    config = RunConfig.from_data(data)
    spec = config.network_spec(config.players[0], config.game_spec())
    again = config.model_copy(update={"network": NetworkConfig.of(spec)})
    assert again.network == config.network
    assert again.network_spec(again.players[0], again.game_spec()) == spec
