"""RLlib's PPO made a player of Connect Four by self-play: against itself, and against older copies of itself.

Runs in the peers' environment and knows nothing of League. Writes the layers of the policy as `weight_0`,
`bias_0` and so on.
"""

from __future__ import annotations

import argparse
import time
from pathlib import Path
from typing import Any

import numpy as np
import pyspiel
import ray
from ray.rllib.algorithms.ppo import PPOConfig
from ray.rllib.core.rl_module.default_model_config import DefaultModelConfig
from ray.rllib.core.rl_module.multi_rl_module import MultiRLModuleSpec
from ray.rllib.core.rl_module.rl_module import RLModuleSpec
from ray.rllib.env.wrappers.open_spiel import OpenSpielEnv
from ray.tune.registry import register_env

LEARNER = "main"
COPIES = 15


def make_algorithm() -> Any:
    """Returns PPO; half the games are against itself, half against its copies, the learner in either seat."""
    register_env("game", lambda _: OpenSpielEnv(pyspiel.load_game("connect_four")))
    frozen = [f"frozen_{k}" for k in range(COPIES)]

    def seated(agent: int, episode: Any, **_: Any) -> str:
        drawn = hash(episode.id_)
        if drawn % 4 < 2 or drawn % 2 == agent:
            return LEARNER
        return frozen[drawn // 4 % COPIES]

    policies = [LEARNER, *frozen]
    return (
        PPOConfig()
        .environment("game")
        .env_runners(num_env_runners=2, num_envs_per_env_runner=256)
        .learners(num_learners=0)
        .multi_agent(policies=set(policies), policy_mapping_fn=seated, policies_to_train=[LEARNER])
        .rl_module(
            rl_module_spec=MultiRLModuleSpec(rl_module_specs={name: RLModuleSpec() for name in policies}),
            model_config=DefaultModelConfig(
                fcnet_hiddens=[128, 128], fcnet_activation="relu", vf_share_layers=True
            ),
        )
        .training(
            train_batch_size_per_learner=16_000,
            minibatch_size=1024,
            num_epochs=4,
            lr=5e-4,
            entropy_coeff=0.02,
        )
        .build_algo()
    )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seconds", type=float, default=600.0)
    parser.add_argument("--out", type=Path, required=True)
    options = parser.parse_args()
    ray.init(num_cpus=4, include_dashboard=False, log_to_driver=False, configure_logging=False)
    begin = time.perf_counter()  # starting Ray is not counted, as League's stop rule does not count it
    algorithm = make_algorithm()
    modules = algorithm.learner_group._learner.module  # the learner is in this process
    between, copied, moves = options.seconds / COPIES, 0, 0
    while (spent := time.perf_counter() - begin) < options.seconds:
        result = algorithm.train()
        moves = int(result["env_runners"].get("num_env_steps_sampled_lifetime", 0))
        if spent >= (copied + 1) * between:
            name = f"frozen_{copied % COPIES}"
            modules[name].set_state(modules[LEARNER].get_state())
            algorithm.env_runner_group.sync_weights(
                from_worker_or_learner_group=algorithm.learner_group, policies=[name]
            )
            copied += 1
    state = modules[LEARNER].get_state()
    layers = [key for key in state if key.endswith(".weight") and key.startswith(("encoder.", "pi."))]
    arrays = {}
    for k, key in enumerate(layers):
        arrays[f"weight_{k}"] = np.asarray(state[key])
        arrays[f"bias_{k}"] = np.asarray(state[key.removesuffix("weight") + "bias"])
    np.savez(options.out, **arrays)
    print(f"{moves} moves, {copied} copies, layers {[list(a.shape) for a in arrays.values()]}: {layers}")
    algorithm.stop()
    ray.shutdown()


if __name__ == "__main__":
    main()
