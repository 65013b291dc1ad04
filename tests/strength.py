"""How strong leagues become: `make bench-strength` (36 minutes on two cores).

    python -m tests.strength [--only NAME …] [--out docs/strength.md]

Every case is a config of this repository, run for its own time. Networks play their best action, without
search; in games of hidden cards they are measured by what a best responder wins. Each match is of 400 games
or more, seats in turn.
"""

from __future__ import annotations

import argparse
import os
import tempfile
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import torch

from agents.bots import make_bot
from agents.policy import Policy
from league.arena import Arena
from league.bootstrap import Stores
from league.checkpoints import CheckpointStore
from league.config import spec_of
from league.players import load_policy
from matchmaking.payoff import PayoffMatrix
from matchmaking.sides import Sides
from tests import command_line as cli

ROOT = Path(__file__).parents[1]
GAMES, SLOW_GAMES = 1000, 400


@dataclass(frozen=True)
class Figure:
    """One measured number beside what is asked of it."""

    what: str
    found: str
    wanted: str
    holds: bool


class Trained:
    """A league that has been run to its end."""

    def __init__(self, config: str, home: Path) -> None:
        self.config, self.home = config, home
        begin = time.perf_counter()
        done = cli.run("run", str(ROOT / "configs" / config), "--home", str(home), "--no-web", timeout=3600)
        if done.returncode != 0:
            raise RuntimeError(done.stderr[-2000:])
        self.stores = Stores.from_environment(str(home))
        self.store = CheckpointStore(self.stores.checkpoint_url)
        self.service = self.stores.service()
        self.run = self.service.runs()[0]
        self.seconds = time.perf_counter() - begin

    def main(self) -> Policy:
        """Returns the main as it ended."""
        player = self.service.player(self.run.id, "main.0")
        return load_policy(
            self.store,
            spec_of(self.run.game),
            bot=None,
            checkpoint=player.learner_state,
            seed=0,
            dtype=torch.float32,
        )

    def score(self, opponent: str | Policy, games: int = GAMES) -> tuple[float, int, int]:
        """Returns (the main's score against a bot or a policy, its losses, games)."""
        bot = make_bot(opponent, spec_of(self.run.game), 0) if isinstance(opponent, str) else opponent
        arena = Arena(
            self.run.game,
            {"main": self.main(), "other": bot},
            sides=Sides(2),
            num_envs=64,
            temperature=0.0,
            seed=0,
        )
        payoff = PayoffMatrix()
        arena.play([("main", "other")], payoff, lambda _: False, games)
        arena.close()
        record = payoff.raw("main", "other")
        return (record.wins + 0.5 * record.draws) / record.games, int(record.losses), int(record.games)


def connect_four(folder: Path) -> list[Figure]:
    league = Trained("connect_four_strong.yaml", folder / "strong")
    figures = []
    for bot, games, wanted in (
        ("random", GAMES, 0.99),
        ("mcts:100", GAMES, 0.80),
        ("mcts:1000", SLOW_GAMES, 0.0),
    ):
        score, _, played = league.score(bot, games)
        asked = f"≥ {wanted:.2f}" if wanted else "towards 0.50"
        figures.append(
            Figure(
                f"Connect Four, 10 minutes: against {bot}, {played} games",
                f"{score:.3f}",
                asked,
                score >= wanted,
            )
        )
    naive = Trained("strength/connect_four_naive.yaml", folder / "naive")
    score, _, played = _sampled(league, naive)
    figures.append(
        Figure(
            f"the same: against naive self-play of the same time, {played} games",
            f"{score:.3f}",
            "≥ 0.60",
            score >= 0.6,
        )
    )
    return figures


def _sampled(league: Trained, other: Trained) -> tuple[float, int, int]:
    """Two networks that play their best action play two games, over and over; they sample their moves."""
    arena = Arena(
        league.run.game,
        {"main": league.main(), "other": other.main()},
        sides=Sides(2),
        num_envs=256,
        temperature=1.0,
        seed=0,
    )
    payoff = PayoffMatrix()
    arena.play([("main", "other")], payoff, lambda _: False, 2 * GAMES)
    arena.close()
    record = payoff.raw("main", "other")
    return (record.wins + 0.5 * record.draws) / record.games, int(record.losses), int(record.games)


def tic_tac_toe(folder: Path) -> list[Figure]:
    league = Trained("strength/tic_tac_toe.yaml", folder / "tic_tac_toe")
    _, losses, games = league.score("perfect", 2 * GAMES)
    return [
        Figure(
            f"Tic-tac-toe, 2 minutes: games lost to perfect play, of {games}", str(losses), "0", losses == 0
        )
    ]


def _poker(config: str, folder: Path, name: str, limit: float) -> list[Figure]:
    league = Trained(config, folder / name)
    found = league.service.exploitability(league.run.id, league.store)
    best = min(*found.players.values(), found.average)
    text = f"{best:.4f} (main {found.players['main.0']:.4f}, average {found.average:.4f})"
    minutes = league.run.config["stop"]["minutes"]
    return [Figure(f"{name}, {minutes:.0f} minutes: exploitability", text, f"≤ {limit:.2f}", best <= limit)]


def kuhn(folder: Path) -> list[Figure]:
    return _poker("strength/kuhn_poker.yaml", folder, "Kuhn poker", 0.02)


def leduc(folder: Path) -> list[Figure]:
    return _poker("strength/leduc_poker.yaml", folder, "Leduc poker", 0.20)


CASES: dict[str, Callable[[Path], list[Figure]]] = {
    "tic_tac_toe": tic_tac_toe,
    "kuhn": kuhn,
    "leduc": leduc,
    "connect_four": connect_four,
}


def as_page(figures: list[Figure]) -> str:
    """Returns the figures as Markdown."""
    lines = [
        "# Strength",
        "",
        f"Written by `make bench-strength` on {os.cpu_count()} cores. Networks play their best action and do",
        "not search; against each other they sample.",
        "",
        "| what | found | asked |",
        "|---|---|---|",
        *(f"| {f.what} | {f.found}{'' if f.holds else ' (missed)'} | {f.wanted} |" for f in figures),
        "",
    ]
    return "\n".join(lines)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--out", type=Path)
    parser.add_argument("--only", nargs="*", choices=list(CASES), default=list(CASES))
    options = parser.parse_args()
    figures: list[Figure] = []
    with tempfile.TemporaryDirectory() as folder:
        for name in options.only:
            for figure in CASES[name](Path(folder)):
                print(f"{figure.what}: {figure.found}, asked {figure.wanted}", flush=True)
                figures.append(figure)
    if options.out:
        options.out.write_text(as_page(figures))
    raise SystemExit(0 if all(f.holds for f in figures) else 1)


if __name__ == "__main__":
    main()
