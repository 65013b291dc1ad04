"""What games there are, what they are like, and how fast they are here."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass

import numpy as np

import envs
from agents.bots import RandomBot
from agents.collector import Collector
from agents.networks import NetworkSpec, build
from agents.policy import NetworkPolicy
from agents.seating import Series
from envs.actions import random_actions
from envs.errors import GameError
from envs.registry import known_ids
from envs.spec import GameSpec
from league.errors import NotFoundError


@dataclass(frozen=True)
class GameFacts:
    """A game in a line: `sides` names the seats of each team."""

    game_id: str
    seats: int
    sides: tuple[tuple[str, ...], ...]
    observation: tuple[int, ...]
    dtype: str
    actions: tuple[int, ...]
    turns: str
    zero_sum: bool
    outcome: str

    @staticmethod
    def of(spec: GameSpec) -> GameFacts:
        return GameFacts(
            spec.game_id,
            spec.num_seats,
            tuple(tuple(spec.seats[k].name for k in side) for side in spec.sides),
            spec.observation_shape,
            str(spec.observation_dtype),
            spec.action_factors,
            "in turn" if spec.turn_based else "together",
            spec.zero_sum,
            spec.outcome,
        )


@dataclass(frozen=True)
class GameSpeed:
    """Decisions of all seats a second on one core: at random, and by a network in every seat."""

    game_id: str
    num_envs: int
    random_play: float
    by_network: float


def facts(game_id: str) -> GameFacts:
    """Returns what a game is like. Raises: GameError: it cannot be had."""
    game = envs.make(game_id, 1)
    game.close()
    return GameFacts.of(game.spec)


def listed(family: str | None = None) -> list[str]:
    """Returns the ids that need no parameters, of all families or one. Raises: NotFoundError: no such one."""
    ids = known_ids()
    families = sorted({i.partition(":")[0] for i in ids})
    if family is not None and family not in families:
        raise NotFoundError(f"no family {family!r}; families: {', '.join(families)}")
    return [i for i in ids if family is None or i.startswith(f"{family}:")]


def measure(game_id: str, num_envs: int | None = None, seconds: float = 3.0) -> GameSpeed:
    """Plays a game for a while. Raises: GameError: it cannot be had.

    Args:
      num_envs: games at once; by default 4,096 of native ones, 256 of OpenSpiel's, 16 of others.
      seconds: of each of the two measurements.
    """
    family = game_id.partition(":")[0]
    count = num_envs or {"native": 4096, "openspiel": 256}.get(family, 16)
    return GameSpeed(
        game_id, count, _random_play(game_id, count, seconds), _by_network(game_id, count, seconds)
    )


# Of each game when all are judged: minutes rather than hours.
QUICKLY = ("--episodes", "10", "--seconds", "3")


@dataclass(frozen=True)
class Verdict:
    """What the conformance check said of a game: `facts` None and `reason` where it cannot be had."""

    game_id: str
    facts: GameFacts | None
    kept: bool
    reason: str


def judge_all(
    ids: Sequence[str], on_verdict: Callable[[Verdict], None], seconds: float = 240.0
) -> list[Verdict]:
    """Checks games, each in a process of its own: a crash or a hang is a verdict too.

    Args:
      on_verdict: told each as it comes. seconds: before a game counts as hanging.
    """

    def judge(game_id: str) -> Verdict:
        verdict = _judge(game_id, seconds)
        on_verdict(verdict)
        return verdict

    with ThreadPoolExecutor(max_workers=os.cpu_count() or 1) as pool:
        return list(pool.map(judge, ids))


def as_table(verdicts: Sequence[Verdict]) -> str:
    """Returns a Markdown page of verdicts."""
    lines = [
        "# Games", "",
        "Written by `make conformance`: every id without parameters, played at random and held to the game",
        "contract (shapes, masks, seeding, isolation of a batch's games, illegal actions, returns).", "",
        "| game | seats | sides | sees | actions | moves | verdict |",
        "|---|---|---|---|---|---|---|",
    ]  # fmt: skip
    for v in verdicts:
        verdict = "passes" if v.kept else v.reason.replace("|", "/")
        if v.facts is None:
            lines.append(f"| `{v.game_id}` | | | | | | {verdict} |")
            continue
        f = v.facts
        sides = "one team" if len(f.sides) == 1 else " v ".join(str(len(side)) for side in f.sides)
        shape, actions = "×".join(map(str, f.observation)), "·".join(map(str, f.actions))
        cells = (f"`{v.game_id}`", f.seats, sides, f"{f.dtype} {shape}", actions, f.turns, verdict)
        lines.append("| " + " | ".join(map(str, cells)) + " |")
    kept = sum(v.kept for v in verdicts)
    return "\n".join([*lines, "", f"{kept} of {len(verdicts)} pass.", ""])


def _judge(game_id: str, seconds: float) -> Verdict:
    try:
        known: GameFacts | None = facts(game_id)
    except GameError as error:
        return Verdict(game_id, None, False, str(error).removeprefix(game_id).lstrip(": "))
    command = [
        sys.executable,
        "-c",
        "from league.cli import main; main()",
        "games",
        "check",
        game_id,
        "--json",
    ]
    try:
        answer = subprocess.run(command, capture_output=True, text=True, timeout=seconds, check=False)  # noqa: S603
        failures = json.loads(answer.stdout)["failures"]
    except subprocess.TimeoutExpired:
        return Verdict(game_id, known, False, f"not judged within {seconds:.0f} s")
    except ValueError:
        return Verdict(game_id, known, False, f"the process ended with exit code {answer.returncode}")
    reason = "; ".join(f"{rule}: {why}" for rule, why in failures.items())
    return Verdict(game_id, known, not failures, reason)


def _random_play(game_id: str, num_envs: int, seconds: float) -> float:
    """Choosing the actions is not counted: this is the game alone."""
    game, rng = envs.make(game_id, num_envs, 0, forfeit_illegal=True), np.random.default_rng(0)
    factors = game.spec.action_factors
    for _ in range(2):
        game.step(random_actions(game.turns().legal, rng, factors))
    moves, spent = 0, 0.0
    while spent < seconds:
        actions = random_actions(game.turns().legal, rng, factors)
        began = time.perf_counter()
        game.step(actions)
        game.turns()
        spent += time.perf_counter() - began
        moves += len(actions)
    game.close()
    return moves / spent


def _by_network(game_id: str, num_envs: int, seconds: float) -> float:
    game = envs.make(game_id, num_envs, 0, forfeit_illegal=True)
    spec = game.spec
    factors = spec.action_factors if len(spec.action_factors) > 1 else ()
    network = NetworkSpec(spec.observation_size, spec.num_actions, (128, 128), factors=factors)
    collector = Collector(game, [], fragment_length=1, fragment_lanes=1, seed=0)
    collector.put_policy("network", NetworkPolicy(build(network, 0)))
    collector.put_policy("random", RandomBot())
    k = len(spec.sides)
    players, nobody = ("network",) * k, (False,) * k
    collector.add_series(Series(0, players, (0,) * k, nobody, 2, "evaluation", "bench"))
    for _ in range(2):
        collector.tick()
    before, began = collector.counts.moves, time.perf_counter()
    while time.perf_counter() - began < seconds:
        collector.tick()
    rate = (collector.counts.moves - before) / (time.perf_counter() - began)
    game.close()
    return rate
