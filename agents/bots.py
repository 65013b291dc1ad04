"""Players of fixed strength: the anchors that ratings hang on."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt
import pyspiel

from agents.errors import UnknownBotError
from agents.policy import Bot
from envs.actions import random_actions
from envs.spec import GameSpec
from envs.vector_game import VectorGame


class RandomBot:
    """Plays a legal action uniformly at random."""

    def act(
        self,
        game: VectorGame,
        env: npt.NDArray[np.int32],
        legal: npt.NDArray[np.bool_],
        rng: np.random.Generator,
    ) -> npt.NDArray[np.int64]:
        return random_actions(legal, rng, game.spec.action_factors)


class MCTSBot:
    """OpenSpiel's Monte Carlo tree search: UCT with one random rollout a leaf (Kocsis & Szepesvári 2006).

    Plays in OpenSpiel's own state, rebuilt from the game's history, so a native game needs an OpenSpiel twin.
    """

    def __init__(self, openspiel_id: str, simulations: int, seed: int) -> None:
        self._game = pyspiel.load_game(openspiel_id)
        evaluator = pyspiel.RandomRolloutEvaluator(1, seed)
        self._search = pyspiel.MCTSBot(self._game, evaluator, 2.0, simulations, 1000, False, seed, False)

    def act(
        self,
        game: VectorGame,
        env: npt.NDArray[np.int32],
        legal: npt.NDArray[np.bool_],
        rng: np.random.Generator,
    ) -> npt.NDArray[np.int64]:
        actions = np.empty(len(env), np.int64)
        for row, history in enumerate(game.histories(env)):
            state = self._game.new_initial_state()
            for action in history:
                state.apply_action(action)
            actions[row] = self._search.step(state)
        return actions


def make_bot(bot_id: str, spec: GameSpec, seed: int) -> Bot:
    """Makes `random` or `mcts:SIMULATIONS` for a game.

    Raises:
      UnknownBotError: no such bot, or it cannot play this game; says what is known.
    """
    name, _, argument = bot_id.partition(":")
    if bot_id == "random":
        return RandomBot()
    if name == "mcts" and argument.isdecimal() and int(argument) > 0:
        if spec.openspiel_id is None:
            raise UnknownBotError(f"{bot_id} searches in OpenSpiel, which has no game {spec.game_id}")
        kind = pyspiel.load_game(spec.openspiel_id).get_type()
        if kind.information != pyspiel.GameType.Information.PERFECT_INFORMATION:
            raise UnknownBotError(f"{bot_id} needs perfect information, which {spec.game_id} does not give")
        return MCTSBot(spec.openspiel_id, int(argument), seed)
    raise UnknownBotError(f"unknown bot {bot_id!r}; known: random, mcts:SIMULATIONS (such as mcts:100)")
