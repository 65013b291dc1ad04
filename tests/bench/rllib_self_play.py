"""RLlib's PPO on a game of OpenSpiel: one learning policy against frozen ones of random weights.

Runs in the peers' environment and knows nothing of League. Prints one line of JSON: moves sampled a second,
of all seats, and steps trained a second, after two iterations of warm-up.
"""

from __future__ import annotations

import argparse
import json
import time
from typing import Any

import pyspiel
import ray
from ray.rllib.algorithms.ppo import PPOConfig
from ray.rllib.core.rl_module.default_model_config import DefaultModelConfig
from ray.rllib.core.rl_module.multi_rl_module import MultiRLModuleSpec
from ray.rllib.core.rl_module.rl_module import RLModuleSpec
from ray.rllib.env.wrappers.open_spiel import OpenSpielEnv
from ray.tune.registry import register_env

LEARNER = "main"


def make_algorithm(
    game: str, *, runners: int, envs: int, frozen: int, meets_itself: bool = False, **training: Any
) -> Any:
    """Returns PPO over the game; which seat learns and whom it meets is drawn by episode.

    Args:
      frozen: other players, `frozen_0` and so on. meets_itself: in half of the games.
      training: PPO's own numbers.
    """
    register_env("game", lambda _: OpenSpielEnv(pyspiel.load_game(game)))
    others = [f"frozen_{k}" for k in range(frozen)]

    def seated(agent: int, episode: Any, **_: Any) -> str:
        drawn = hash(episode.id_)
        alone = meets_itself and drawn // 2 % 2 == 0
        return LEARNER if alone or drawn % 2 == agent else others[drawn // 4 % len(others)]

    policies = [LEARNER, *others]
    config = (
        PPOConfig()
        .environment("game")
        .env_runners(num_env_runners=runners, num_envs_per_env_runner=envs)
        .learners(num_learners=0)
        .multi_agent(policies=set(policies), policy_mapping_fn=seated, policies_to_train=[LEARNER])
        .rl_module(
            rl_module_spec=MultiRLModuleSpec(rl_module_specs={name: RLModuleSpec() for name in policies}),
            model_config=DefaultModelConfig(
                fcnet_hiddens=[128, 128], fcnet_activation="relu", vf_share_layers=True
            ),
        )
        .training(**training)
    )
    return config.build_algo()


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--game", default="connect_four")
    parser.add_argument("--seconds", type=float, default=60.0)
    parser.add_argument("--runners", type=int, default=2)
    parser.add_argument("--envs", type=int, default=256)
    parser.add_argument("--batch", type=int, default=16_000)
    parser.add_argument("--minibatch", type=int, default=4096)
    parser.add_argument("--epochs", type=int, default=1)
    parser.add_argument("--frozen", type=int, default=15)
    options = parser.parse_args()
    ray.init(num_cpus=4, include_dashboard=False, log_to_driver=False, configure_logging=False)
    algorithm = make_algorithm(
        options.game,
        runners=options.runners,
        envs=options.envs,
        frozen=options.frozen,
        train_batch_size_per_learner=options.batch,
        minibatch_size=options.minibatch,
        num_epochs=options.epochs,
    )

    def counts() -> tuple[int, int]:
        result = algorithm.train()
        played = result["env_runners"].get("num_env_steps_sampled_lifetime", 0)
        learnt = result["learners"].get(LEARNER, {}).get("num_module_steps_trained_lifetime", 0)
        return int(played), int(learnt)

    counts()
    (played, learnt), begin = counts(), time.perf_counter()
    while (spent := time.perf_counter() - begin) < options.seconds:
        now = counts()
    spent = time.perf_counter() - begin
    rates = {"moves_per_s": (now[0] - played) / spent, "learner_steps_per_s": (now[1] - learnt) / spent}
    print(json.dumps({**vars(options), "ray": ray.__version__, **rates}))
    algorithm.stop()
    ray.shutdown()


if __name__ == "__main__":
    main()
