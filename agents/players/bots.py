"""Players of fixed strength: the anchors that ratings hang on."""

from __future__ import annotations

from functools import cache

import numpy as np
import numpy.typing as npt
import pyspiel

from agents.acting.bot import Bot
from agents.errors import UnknownBotError
from envs.actions import Actions, random_moves
from envs.spec import GameSpec
from envs.vector_game import VectorGame

# A game with more is not searched to its end.
MOST_POSITIONS = 20_000


class RandomBot:
    """Plays a legal action uniformly at random."""

    def act(
        self,
        game: VectorGame,
        env: npt.NDArray[np.int32],
        legal: npt.NDArray[np.bool_],
        rng: np.random.Generator,
    ) -> Actions:
        return random_moves(game.spec, legal, rng)


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
            state = _replayed(self._game, history)
            actions[row] = self._search.step(state)
        return actions


class PerfectBot:
    """Plays one of the best moves, known by searching a small game to its end once (negamax with a table)."""

    def __init__(self, openspiel_id: str) -> None:
        """Raises: UnknownBotError: the game has more than `MOST_POSITIONS` positions."""
        self._game = pyspiel.load_game(openspiel_id)
        self._values: dict[str, float] = {}
        self._value(self._game.new_initial_state())

    def act(
        self,
        game: VectorGame,
        env: npt.NDArray[np.int32],
        legal: npt.NDArray[np.bool_],
        rng: np.random.Generator,
    ) -> npt.NDArray[np.int64]:
        actions = np.empty(len(env), np.int64)
        for row, history in enumerate(game.histories(env)):
            state = _replayed(self._game, history)
            sign = 1.0 if state.current_player() == 0 else -1.0
            choices = state.legal_actions()
            worth = np.array([sign * self._value(state.child(action)) for action in choices])
            actions[row] = rng.choice(np.array(choices)[worth == worth.max()])
        return actions

    def _value(self, state: pyspiel.State) -> float:
        """Returns what the first player gets if both play on perfectly."""
        if state.is_terminal():
            return float(state.returns()[0])
        key = str(state)
        if key not in self._values:
            if len(self._values) >= MOST_POSITIONS:
                raise UnknownBotError(f"perfect: {self._game} has more than {MOST_POSITIONS:,} positions")
            values = [self._value(state.child(action)) for action in state.legal_actions()]
            self._values[key] = max(values) if state.current_player() == 0 else min(values)
        return self._values[key]


def _replayed(game: pyspiel.Game, history: list[int]) -> pyspiel.State:
    """Returns the position that a game's actions lead to, chance included."""
    state = game.new_initial_state()
    for action in history:
        state.apply_action(action)
    return state


def make_bot(bot_id: str, spec: GameSpec, seed: int) -> Bot:
    """Makes `random`, `mcts:SIMULATIONS` or `perfect` for a game.

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
    if bot_id == "perfect":
        return _perfect(spec)
    raise UnknownBotError(
        f"unknown bot {bot_id!r}; known: random, mcts:SIMULATIONS (such as mcts:100), perfect (small games)"
    )


def _perfect(spec: GameSpec) -> PerfectBot:
    if spec.openspiel_id is None:
        raise UnknownBotError(f"perfect searches in OpenSpiel, which has no game {spec.game_id}")
    kind = pyspiel.load_game(spec.openspiel_id).get_type()
    if (
        kind.information != pyspiel.GameType.Information.PERFECT_INFORMATION
        or kind.chance_mode != pyspiel.GameType.ChanceMode.DETERMINISTIC
        or not spec.zero_sum
        or spec.num_seats != 2
    ):
        raise UnknownBotError(
            f"perfect needs a zero-sum game of two without chance or hidden parts; {spec.game_id} is none"
        )
    return _searched(spec.openspiel_id)


@cache
def _searched(openspiel_id: str) -> PerfectBot:
    return PerfectBot(openspiel_id)
