"""What games there are, what they are like, and which keep the contract."""

from __future__ import annotations

import contextlib
import json
import os
import subprocess
import sys
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass

import envs
from envs.errors import GameError
from envs.registry import family as game_family
from envs.registry import family_prefixes, known_ids
from envs.spec import GameSpec
from league.errors import NotFoundError

# Of each game when all are judged: minutes rather than hours.
QUICKLY = ("--episodes", "10", "--seconds", "3")


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


def facts(game_id: str) -> GameFacts:
    """Returns what a game is like. Raises: GameError: it cannot be had."""
    return GameFacts.of(envs.spec_of(game_id))


def listed(family: str | None = None) -> list[str]:
    """Returns the ids that need no parameters, of all families or one. Raises: NotFoundError: no such one."""
    prefixes = family_prefixes()
    if family is not None and family not in prefixes:
        raise NotFoundError(f"no family {family!r}; families: {', '.join(prefixes)}")
    return known_ids(family)


def versions(family: str | None = None) -> dict[str, str]:
    """Returns the packages that games come from, with their versions, of all families or of one."""
    prefixes = family_prefixes() if family is None else (family,)
    return {name: version for prefix in prefixes for name, version in game_family(prefix).versions().items()}


@contextlib.contextmanager
def quiet() -> Iterator[None]:
    """Keeps from stderr what game libraries print there, in C++ too, while games are looked at.

    For programs of one thread: the file descriptor is the whole process's.
    """
    sys.stderr.flush()
    kept = os.dup(2)
    nowhere = os.open(os.devnull, os.O_WRONLY)
    try:
        os.dup2(nowhere, 2)
        yield
    finally:
        os.dup2(kept, 2)
        os.close(nowhere)
        os.close(kept)


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
