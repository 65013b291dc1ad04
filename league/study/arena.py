"""Games that nobody learns from, as many as somebody wants to see."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

import envs
from agents.acting.collector import Collector
from agents.acting.policy import Policy
from agents.acting.seating import Series
from agents.players.bots import RandomBot
from matchmaking.errors import MatchmakingError
from matchmaking.payoff import PairRecord, PayoffMatrix
from matchmaking.ratings.base import Rating
from matchmaking.ratings.score import Score
from matchmaking.sides import Sides

# Games of one series, and series of a pair under way at once: what is played beyond the last one needed.
EPISODES = 64
AHEAD = 2
# Plays in games for which no series is left until those under way are over; chosen for costing nothing.
FILLER = "filler"


class Arena:
    """Plays pairs against each other in one batch of games.

    Attributes:
      games: played so far.
    """

    def __init__(
        self,
        game_id: str,
        policies: Mapping[str, Policy],
        *,
        sides: Sides,
        num_envs: int,
        temperature: float,
        seed: int,
    ) -> None:
        """Args:
        policies: whom to play, by name.
        sides: who can play which. In a game of more than two, one player sits on one side and the other on
          all the others, in turn.
        num_envs: games at once.
        temperature: of the networks' play; 0 is the best action always.
        """
        self._sides = sides
        self._game = envs.make(game_id, num_envs, seed, forfeit_illegal=True)
        self._collector = Collector(
            self._game,
            [],
            fragment_length=1,
            fragment_lanes=1,
            seed=seed,
            temperature=temperature,
        )
        for name, policy in policies.items():
            self._collector.put_policy(name, policy)
        self._collector.put_policy(FILLER, RandomBot())
        self._next_series = self.games = 0
        self._pair_of: dict[int, tuple[str, str]] = {}

    def close(self) -> None:
        """Ends what the games hold."""
        self._game.close()

    def play(
        self,
        pairs: Sequence[tuple[str, str]],
        payoff: PayoffMatrix,
        is_enough: Callable[[PairRecord], bool],
        most: int,
        keep_on: Callable[[int], bool] = lambda _: True,
    ) -> bool:
        """Plays each pair until it is enough, seats taken in turn; False when it was broken off.

        Args:
          payoff: takes the results in as they come.
          is_enough: whether a pair's games settle it, seen by its first player.
          most: games of a pair in any case (one more where the number is odd: seats are balanced).
          keep_on: asked at every move, told how many games have been played.
        """
        under_way = dict.fromkeys(pairs, 0)
        queued = dict.fromkeys(pairs, 0)

        def next_series(pair: tuple[str, str], times: int) -> list[Series]:
            made = []
            for _ in range(times):
                episodes = min(EPISODES, most - queued[pair] + most % 2)
                if episodes > 0:
                    made.append(self._series(pair, episodes))
                    under_way[pair] += 1
                    queued[pair] += episodes
            return made

        self._add([s for pair in pairs for s in next_series(pair, AHEAD)])
        while any(under_way.values()):
            if not keep_on(self.games):
                return False
            self._collector.tick()
            played = [r for r in self._collector.take_results() if r.series.number in self._pair_of]
            wanted: list[Series] = []
            for result in played:
                pair = self._pair_of.pop(result.series.number)
                self.games += result.episodes
                for got in result.pairs():
                    first, second = result.series.players[got.first], result.series.players[got.second]
                    if first != second and got.counts.sum():
                        counts = got.wins, got.draws, got.losses
                        payoff.record(first, second, *counts, margin=got.margin, seats=got.counts)
                under_way[pair] -= 1
                if not is_enough(payoff.raw(*pair)):
                    wanted += next_series(pair, 1)
            if played:
                self._add(wanted)
        return True

    def scores(
        self, players: Sequence[str], games: int, keep_on: Callable[[int], bool] = lambda _: True
    ) -> tuple[dict[str, Rating], bool]:
        """Lets each play alone, in every seat; returns their mean scores and whether it was played out.

        Args:
          games: of each, or a few more.
          keep_on: as in `play`.
        """
        system = Score()
        answer = {name: system.initial() for name in players}
        self._add([self._seated((name,), games) for name in players])
        waiting = set(players)
        while waiting:
            if not keep_on(self.games):
                return answer, False
            self._collector.tick()
            for result in self._collector.take_results():
                (name,) = result.series.players
                if name not in waiting:
                    continue
                waiting.discard(name)
                if result.episodes:  # unless every one of them broke down
                    total, squares = float(result.scores[0]), float(result.squares[0])
                    answer[name] = system.rate(answer[name], total, squares, result.episodes, moves=False)
                    self.games += result.episodes
        return answer, True

    def _add(self, series: list[Series]) -> None:
        """Queues series. The newest one plays on while none is left: let it not be somebody's."""
        self._collector.add_series(*series, self._seated((FILLER,) * self._sides.count, 2))

    def _series(self, pair: tuple[str, str], episodes: int) -> Series:
        one, others = pair if self._next_series % 2 == 0 else (pair[1], pair[0])
        players = pair if self._sides.count == 2 else (one, *(others,) * (self._sides.count - 1))
        series = self._seated(players, episodes)
        self._pair_of[series.number] = pair
        return series

    def _seated(self, players: tuple[str, ...], episodes: int) -> Series:
        """Raises: MatchmakingError: these cannot meet."""
        sides = self._sides.seat(players)
        if sides is None:
            raise MatchmakingError(
                f"{' and '.join(dict.fromkeys(players))} play the same side and cannot meet"
            )
        self._next_series += 1
        nobody, rotates = (False,) * len(players), self._sides.rotate(players)
        return Series(
            self._next_series,
            players,
            (0,) * len(players),
            nobody,
            episodes,
            "tournament",
            "tournament",
            sides,
            rotates,
        )
