"""The others, each run by its own interpreter for as long as League is; None where it cannot be run."""

from __future__ import annotations

import json
import os
import subprocess
import time
from pathlib import Path

ROOT = Path(__file__).parents[2]
PYTHON = Path(os.environ.get("LEAGUE_PEERS_PYTHON", ROOT / ".venv-peers" / "bin" / "python"))
# Scripts handed round beside the checkout; where they are not, ours does the same for RLlib.
SHARED = ROOT.parent / "shared" / "peers"
RLLIB_BEST = ("--runners", "2", "--envs", "256", "--batch", "16000", "--minibatch", "4096")
TIMEOUT_SECONDS = 300.0


def rllib(game: str, seconds: float, *options: str) -> float | None:
    """Returns RLlib's moves a second on a game of OpenSpiel, in the settings given."""
    shared = SHARED / "rllib_connect_four.py"
    if game == "connect_four" and shared.exists():
        command = [str(shared), "--frozen", "15"]
    else:
        command = [str(Path(__file__).parent / "rllib_self_play.py"), "--game", game, "--frozen", "15"]
    line = _last_line([*command, "--seconds", str(seconds), *options], "{")
    return None if line is None else float(json.loads(line)["moves_per_s"])


def stable_baselines(seconds: float) -> float | None:
    """Returns moves a second of Stable-Baselines3's PPO on Connect Four with a pool written by hand."""
    script = SHARED / "sb3_connect_four.py"
    if not script.exists():
        return None
    line = _last_line(
        [str(script), "--style", "batched", "--envs", "512", "--seconds", str(seconds)], "RES sb3 "
    )
    return None if line is None else float(json.loads(line.removeprefix("RES sb3 "))["all_moves_s"])


def raw_pettingzoo(seconds: float, count: int = 64) -> float:
    """Returns agents' steps a second of mpe2's simple_tag by itself: one process, nothing else.

    Args:
      count: environments played in turn, as many as the league's worker has, with moves drawn beforehand:
        one that is played alone stays in the processor's cache, and agents that always move alike never meet.
    """
    from mpe2 import simple_tag_v3

    envs = [simple_tag_v3.parallel_env() for _ in range(count)]
    for seed, env in enumerate(envs):
        env.reset(seed=seed)
    spaces = {agent: envs[0].action_space(agent) for agent in envs[0].agents}
    drawn = [{agent: space.sample() for agent, space in spaces.items()} for _ in range(997)]
    steps, begin = 0, time.perf_counter()
    while time.perf_counter() - begin < seconds:
        for env in envs:
            moves = drawn[steps % len(drawn)]
            env.step(moves)
            steps += len(moves)
            if not env.agents:
                env.reset()
    rate = steps / (time.perf_counter() - begin)
    for env in envs:
        env.close()
    return rate


def _last_line(command: list[str], start: str) -> str | None:
    if not PYTHON.exists():
        print(f"skipped: {command[0]}: no {PYTHON}; `make bench` makes it", flush=True)
        return None
    done = subprocess.run(
        [str(PYTHON), *command],
        capture_output=True,
        text=True,
        timeout=TIMEOUT_SECONDS,
        check=False,
        env={**os.environ, "RAY_USAGE_STATS_ENABLED": "0", "RAY_ACCEL_ENV_VAR_OVERRIDE_ON_ZERO": "0"},
    )
    lines = [line for line in done.stdout.splitlines() if line.startswith(start)]
    if not lines:
        print(f"skipped: {' '.join(command)}: {done.stderr.strip()[-500:]}", flush=True)
        return None
    return lines[-1]
