"""Leagues run to their ends as their users run them, and what is asked of the result."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import torch

from agents.acting.policy import Policy
from agents.players.bots import make_bot
from league.bootstrap import Stores
from league.config.sides import spec_of
from league.store.checkpoints import CheckpointStore
from league.store.policies import load_policy
from league.study.arena import Arena
from matchmaking.payoff import PairRecord, PayoffMatrix
from matchmaking.sides import Sides
from tests import command_line as cli

CONFIGS = Path(__file__).parents[2] / "configs"
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

    def __init__(self, config: str, home: Path, guest: str | None = None) -> None:
        """Args:
        config: of this repository. home: where it runs; others may have run there.
        guest: RUN:PLAYER of another league there, which it has in its pool from the first game on.
        """
        file, there = str(CONFIGS / config), ("--home", str(home))
        if guest is None:
            self._league("run", file, *there, "--no-web")
        else:
            self._league("runs", "launch", file, *there)
            self._league("players", "add", "latest", "guest", "--from", guest, *there)
            self._league("run", "--resume", "latest", *there, "--no-web")
        self.stores = Stores.from_environment(str(home))
        self.store = CheckpointStore(self.stores.checkpoint_url)
        self.service = self.stores.service()
        self.run = self.service.resolve("latest")

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

    def score(self, opponent: str | Policy, games: int = GAMES) -> PairRecord:
        """Returns the main's results against a bot or a policy; it plays its best actions."""
        bot = make_bot(opponent, spec_of(self.run.game), 0) if isinstance(opponent, str) else opponent
        return match(self.run.game, self.main(), bot, games, temperature=0.0, num_envs=64)

    @staticmethod
    def _league(*arguments: str) -> None:
        done = cli.run(*arguments, timeout=3600)
        if done.returncode != 0:
            raise RuntimeError(f"league {' '.join(arguments)}: {done.stdout[-1000:]}{done.stderr[-2000:]}")


def match(
    game: str, one: Policy, other: Policy, games: int, *, temperature: float, num_envs: int = 256
) -> PairRecord:
    """Returns one's results against another, seats taken in turn."""
    arena = Arena(
        game, {"one": one, "other": other}, sides=Sides(2), num_envs=num_envs, temperature=temperature, seed=0
    )
    payoff = PayoffMatrix()
    arena.play([("one", "other")], payoff, lambda _: False, games)
    arena.close()
    return payoff.raw("one", "other")


def score_of(record: PairRecord) -> float:
    """Returns the share of the games that were won, a draw counting half."""
    return (record.wins + 0.5 * record.draws) / record.games
