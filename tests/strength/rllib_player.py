"""RLlib's PPO made a player of Connect Four by self-play: against itself, and against older copies of itself.

Runs in the peers' environment and knows nothing of League. Writes the layers of the policy as `weight_0`,
`bias_0` and so on.
"""

from __future__ import annotations

import argparse
import time
from pathlib import Path

import numpy as np
import ray

from tests.bench.rllib_self_play import LEARNER, make_algorithm

COPIES = 15


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seconds", type=float, default=600.0)
    parser.add_argument("--out", type=Path, required=True)
    options = parser.parse_args()
    ray.init(num_cpus=4, include_dashboard=False, log_to_driver=False, configure_logging=False)
    begin = time.perf_counter()  # starting Ray is not counted, as League's stop rule does not count it
    algorithm = make_algorithm(
        "connect_four",
        runners=2,
        envs=256,
        frozen=COPIES,
        meets_itself=True,
        train_batch_size_per_learner=16_000,
        minibatch_size=1024,
        num_epochs=4,
        lr=5e-4,
        entropy_coeff=0.02,
    )
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
