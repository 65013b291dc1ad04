"""Tree search with a network, thousands of trees at once.

After Danihelka et al. 2022, "Policy improvement by planning with Gumbel", without learning from it.

A tree's root considers a few actions, those with the largest logits plus Gumbel noise, and halves them by
sequential halving as its simulations run out. Below the root that action is taken whose visits lag most
behind the improved policy π' = softmax(logits + σ(completed Q)), in which an action without visits is worth
what the position is (eq. 10 and 11, appendix D). All trees take a simulation together: one compiled walk down
every tree, one step of a batch of games, one forward over all leaves.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from agents.acting.policy import NetworkPolicy
from agents.acting.search_kernels import Trees, backup, conclude, new_trees, walk
from agents.errors import AgentError
from envs.errors import GameError
from envs.spec import GameSpec
from envs.vector_game import Turns, VectorGame

F32 = npt.NDArray[np.float32]
I32 = npt.NDArray[np.int32]

# Actions that a root considers at most.
CONSIDERED = 16
# Trees together hold about so many numbers; more are searched one lot after the other.
LARGEST_LOT = 30_000_000


@dataclass(frozen=True)
class SearchResult:
    """What trees came to, [R] rows.

    Attributes:
      actions: the one each root settles on. values: of the positions, for the seats to move.
      policy: the improved policy π' of each root, [R, A].
    """

    actions: npt.NDArray[np.int64]
    values: F32
    policy: F32


def require_searchable(spec: GameSpec) -> None:
    """Raises: AgentError: it is no zero-sum game of two that move in turn, or not everything can be seen."""
    if not (spec.turn_based and spec.num_seats == 2 and spec.zero_sum) or spec.action_size:
        raise AgentError(f"search is for zero-sum games of two that move in turn; {spec.game_id} is none")
    if len(spec.action_factors) > 1 or spec.observation_parts:
        raise AgentError(
            f"search is for games of one action and one observation array; {spec.game_id} has more"
        )
    if spec.openspiel_id is None:
        raise AgentError(f"search needs perfect information, and nobody says whether {spec.game_id} gives it")
    import pyspiel

    kind = pyspiel.load_game(spec.openspiel_id).get_type()
    if kind.information != pyspiel.GameType.Information.PERFECT_INFORMATION:
        raise AgentError(f"search needs perfect information, which {spec.game_id} does not give")
    if kind.chance_mode != pyspiel.GameType.ChanceMode.DETERMINISTIC:
        raise AgentError(f"search looks through no chance, which {spec.game_id} has")


class SearchPolicy:
    """A network that looks ahead before it moves: a `Bot` that asks it.

    Attributes:
      policy: the network. simulations: positions looked at for each move.
    """

    def __init__(self, policy: NetworkPolicy, spec: GameSpec, simulations: int) -> None:
        """Raises: AgentError: the game cannot be searched, or the network remembers."""
        require_searchable(spec)
        if policy.memory_size:
            raise AgentError("search supports only networks without memory (network.memory)")
        self.policy, self.simulations = policy, simulations
        self._spec = spec

    def act(
        self,
        game: VectorGame,
        env: npt.NDArray[np.int32],
        legal: npt.NDArray[np.bool_],
        rng: np.random.Generator,
    ) -> npt.NDArray[np.int64]:
        return self.search(game, env).actions

    def search(
        self, game: VectorGame, env: npt.NDArray[np.int32], rng: np.random.Generator | None = None
    ) -> SearchResult:
        """Searches from the present positions of some games, which stay as they are.

        Args:
          rng: of Gumbel noise on the roots' logits; None: none, the best action is played.
        """
        nodes = self.simulations + 1
        lot = max(1, LARGEST_LOT // (nodes * self._spec.num_actions * 5))
        parts = [self._search(game, env[k : k + lot], rng) for k in range(0, len(env), lot)]
        return SearchResult(
            np.concatenate([part.actions for part in parts]),
            np.concatenate([part.values for part in parts]),
            np.concatenate([part.policy for part in parts]),
        )

    def _search(
        self, game: VectorGame, env: npt.NDArray[np.int32], rng: np.random.Generator | None
    ) -> SearchResult:
        count, nodes = len(env), self.simulations + 1
        try:
            store, scratch = game.blank(count * nodes), game.blank(count)
        except GameError as error:
            raise AgentError(str(error)) from error
        trees = new_trees(count, nodes, self._spec.num_actions)
        rows = np.arange(count)
        scratch.copy_games(game, env, rows)
        store.copy_games(scratch, rows, rows * nodes)
        self._look(trees, scratch.turns(), rows, 0)
        gumbel = np.zeros((count, self._spec.num_actions), np.float32)
        if rng is not None:
            gumbel = rng.gumbel(size=gumbel.shape).astype(np.float32)
        schedule = considered_visits(CONSIDERED, self.simulations)
        legal_count = np.isfinite(trees.logits[:, 0]).sum(axis=1).clip(max=CONSIDERED)
        parents, actions = np.zeros(count, np.int32), np.zeros(count, np.int32)
        for k in range(self.simulations):
            walk(trees, gumbel, schedule[legal_count, k], parents, actions)
            scratch.copy_games(store, rows * nodes + parents, rows)
            step = scratch.step(actions.astype(np.int64))
            movers = trees.seat[rows, parents]
            new = k + 1
            trees.reward[rows, parents, actions] = step.rewards[rows, movers]
            trees.over[:, new] = step.ended
            trees.parent[:, new], trees.action[:, new] = parents, actions
            store.copy_games(scratch, rows, rows * nodes + new)
            self._look(trees, scratch.turns(), rows, new)
            backup(trees, new)
        policy = np.empty((count, self._spec.num_actions), np.float32)
        chosen, values = np.empty(count, np.int64), np.empty(count, np.float32)
        conclude(trees, gumbel, policy, chosen, values)
        return SearchResult(chosen, values, policy)

    def _look(self, trees: Trees, turns: Turns, rows: npt.NDArray[Any], node: int) -> None:
        """Asks the network about a new node of every tree."""
        heads = self.policy.heads(turns.obs.reshape(len(turns.env), -1))
        trees.logits[rows, node] = np.where(turns.legal, heads[:, :-1], -np.inf)
        trees.value[rows, node] = heads[:, -1]
        trees.seat[rows, node] = turns.seat


def considered_visits(most: int, simulations: int) -> I32:
    """Returns how often an action must have been visited to be considered, [most + 1, simulations].

    Row m is sequential halving over m actions (Karnin et al. 2013): each of the halving's rounds visits those
    that are left equally often.
    """
    table = np.zeros((most + 1, simulations), np.int32)
    for m in range(1, most + 1):
        if m == 1:
            table[m] = np.arange(simulations)
            continue
        rounds = math.ceil(math.log2(m))
        sequence: list[int] = []
        visits = np.zeros(m, np.int64)
        left = m
        while len(sequence) < simulations:
            for _ in range(max(1, simulations // (rounds * left))):
                sequence += visits[:left].tolist()
                visits[:left] += 1
            left = max(2, left // 2)
        table[m] = sequence[:simulations]
    return table
