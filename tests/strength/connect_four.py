"""Connect Four: against random play, tree search, naive self-play, fresh exploiters and RLlib."""

from __future__ import annotations

import subprocess
from pathlib import Path

import numpy as np
import numpy.typing as npt
import pyspiel

from agents.acting.policy import Policy
from envs.vector_game import VectorGame
from matchmaking.payoff import PairRecord
from tests.strength.trained import CONFIGS, GAMES, SLOW_GAMES, Figure, Trained, match, score_of

ROOT = CONFIGS.parent
MINUTES = 10.0


def connect_four(folder: Path) -> list[Figure]:
    """Ten minutes each for the league, for naive self-play and for RLlib, two for each exploiter."""
    home = folder / "connect_four"
    league = Trained("connect_four_strong.yaml", home)
    figures = []
    for bot, games, wanted in (
        ("random", GAMES, 0.99),
        ("mcts:100", GAMES, 0.80),
        ("mcts:1000", SLOW_GAMES, 0.0),
    ):
        record = league.score(bot, games)
        asked = f"≥ {wanted:.2f}" if wanted else "towards 0.50"
        figures.append(_figure(f"against {bot}, {record.games:.0f} games", score_of(record), asked, wanted))
    naive = Trained("strength/connect_four_naive.yaml", home)
    record = _sampled(league.main(), naive.main())
    what = f"against naive self-play of the same time, {record.games:.0f} games"
    figures.append(_figure(what, score_of(record), "≥ 0.60", 0.6))
    exploited = [_exploited(home, target) for target in (league, naive)]
    figures.append(
        Figure(
            f"the same: fresh exploiters of two minutes against it and naive self-play, {GAMES} games each",
            " and ".join(f"{score:.3f}" for score in exploited),
            "less against the league's",
            exploited[0] < exploited[1],
        )
    )
    record = league.score(RLlibPlayer(_train_rllib(folder)), GAMES)
    what = f"against RLlib's PPO self-play of the same time, {record.games:.0f} games"
    figures.append(_figure(what, score_of(record), "≥ 0.95", 0.95))
    return figures


def _figure(what: str, score: float, asked: str, wanted: float) -> Figure:
    return Figure(f"Connect Four, {MINUTES:.0f} minutes: {what}", f"{score:.3f}", asked, score >= wanted)


def _sampled(one: Policy, other: Policy, games: int = 2 * GAMES) -> PairRecord:
    """Two networks that play their best action play two games, over and over; these sample their moves."""
    return match("native:connect_four", one, other, games, temperature=1.0)


def _exploited(home: Path, target: Trained) -> float:
    exploiter = Trained("strength/connect_four_exploiter.yaml", home, guest=f"{target.run.id}:main.0")
    return score_of(_sampled(exploiter.main(), target.main(), GAMES))


def _train_rllib(folder: Path) -> Path:
    """Trains RLlib's player for as long, in an environment of its own; returns the file of its weights."""
    python, weights = ROOT / ".venv-peers/bin/python", folder / "rllib.npz"
    module = ("-m", "tests.strength.rllib_player", "--seconds", str(60 * MINUTES), "--out", str(weights))
    most = 60 * MINUTES + 600
    done = subprocess.run([python, *module], cwd=ROOT, capture_output=True, text=True, timeout=most)
    if done.returncode != 0:
        raise RuntimeError(done.stderr[-2000:])
    return weights


class RLlibPlayer:
    """A network of RLlib's that plays its best legal action, on what OpenSpiel shows."""

    def __init__(self, weights: Path) -> None:
        with np.load(weights) as arrays:
            self._layers = [(arrays[f"weight_{k}"], arrays[f"bias_{k}"]) for k in range(len(arrays) // 2)]
        self._game = pyspiel.load_game("connect_four")

    def act(
        self,
        game: VectorGame,
        env: npt.NDArray[np.int32],
        legal: npt.NDArray[np.bool_],
        rng: np.random.Generator,
    ) -> npt.NDArray[np.int64]:
        """Chooses an action for each row; see `agents.players.bots.Bot`."""
        hidden = np.array([self._observation(history) for history in game.histories(env)], np.float32)
        for k, (weight, bias) in enumerate(self._layers):
            hidden = hidden @ weight.T + bias
            if k < len(self._layers) - 1:
                hidden = np.maximum(hidden, 0.0)
        return np.where(legal, hidden, -np.inf).argmax(axis=1)

    def _observation(self, history: list[int]) -> list[float]:
        state = self._game.new_initial_state()
        for action in history:
            state.apply_action(action)
        observed: list[float] = state.observation_tensor(state.current_player())
        return observed
