"""Who plays whom next: series drawn by the rules, handed out once, and checked when they come back."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from itertools import combinations

import numpy as np

from agents.acting.seating import Series, SeriesResult
from league.config.players import PlayerConfig
from league.config.run import RunConfig
from league.pool.journal import Journal
from league.pool.ratings import PoolRatings
from league.pool.records import HUMAN, PlayerRecord
from matchmaking.errors import DuplicateResultError, ResultError
from matchmaking.evaluation import TRIES
from matchmaking.payoff import PayoffMatrix, Pool
from matchmaking.roles import RoleRule
from matchmaking.roster import Context, Memo, Roster
from matchmaking.sides import Sides


class Matchmaker:
    """Draws series for one league and remembers which are under way.

    Attributes:
      next_series: the number of the next series.
      rules: the rule of every learning player's role.
      rng: the only source of chance of the league.
    """

    def __init__(
        self,
        config: RunConfig,
        players: Mapping[str, PlayerRecord],
        payoff: PayoffMatrix,
        ratings: PoolRatings,
        sides: Sides,
        next_series: int,
        journal: Journal,
    ) -> None:
        """Args:
        players, payoff, ratings: the league's own; what is drawn follows them as they change.
        journal: where verifications are told of.
        """
        self._players, self._payoff, self._ratings = players, payoff, ratings
        self.sides = sides
        self.next_series = next_series
        self.rng = np.random.default_rng([config.seed, next_series])
        self._leased: dict[int, Series] = {}
        self._scheduled: dict[str, float] = {}
        self._roster = Roster()
        # For each side whom one can meet there; the same for all where everybody can play every side.
        every = range(sides.count)
        self._opposite = [Roster() for _ in every] if sides.limited else [self._roster for _ in every]
        self._memos: dict[tuple[str, int], Memo] = {}
        self._verified: set[tuple[str, str]] = set()
        self._journal = journal
        self.configure(config)

    def configure(self, config: RunConfig) -> None:
        """Draws by this config from now on; who is in the roster may have grown."""
        self._config = config
        self._entries: dict[str, PlayerConfig] = config.roster()
        self.rules: dict[str, RoleRule] = {name: entry.rule() for name, entry in self._entries.items()}
        self._evaluation = config.evaluation.build()
        if self.sides.limited:
            self.sides = replace(self.sides, limited={**config.limited_sides(), **self.sides.limited})
        least = min(self._scheduled.values(), default=0.0)
        self._scheduled = {name: self._scheduled.get(name, least) for name in self._entries}
        self._memos.clear()

    def note_member(self, player: PlayerRecord) -> None:
        """Lets others meet somebody who has joined, or has changed in what matching looks at."""
        if player.bot == HUMAN:
            return
        facts = player.for_matching()
        self._roster.put(facts)
        if self.sides.limited:
            for side in self.sides.of(player.name):
                self._opposite[side].put(facts)

    def share_sides(self, name: str, parent: str) -> None:
        """Lets a snapshot play what its parent can."""
        if parent in self.sides.limited:
            self.sides = replace(self.sides, limited={**self.sides.limited, name: self.sides.of(parent)})

    def roster_against(self, player: str) -> Roster:
        """Returns whom a player can meet."""
        others = [k for k in range(self.sides.count) if k != self.sides.of(player)[0]]
        return self._opposite[others[0]] if others else self._roster

    def history_of(self, player: str) -> Pool:
        """Returns a player's snapshots."""
        return self._roster.history_of(player)

    def verify_again(self, player: str) -> None:
        """Lets a player's next verification be told of again."""
        self._verified = {(p, branch) for p, branch in self._verified if p != player}

    def take_back(self, series: Series) -> None:
        """Notes that a series has come back."""
        self._leased.pop(series.number)

    def next_training_series(self, episodes: int, length: Callable[[int], int] = int) -> list[Series]:
        """Draws series until `episodes` are planned, learning players served by their shares.

        Args:
          length: how long a series is now, of how long it is by the config.
        """
        planned, drawn = 0, []
        learning = [n for n in self._scheduled if n in self._players and self._players[n].state == "learning"]
        while planned < episodes and learning:
            me = min(learning, key=lambda n: self._scheduled[n] / self._entries[n].share)
            n = length(self._config.rollout.episodes_per_series)
            side = self.sides.draw(me, self.rng)
            others = [k for k in range(self.sides.count) if k != side]
            matches = [self.rules[me].match(self._context(me, k)) for k in others]
            # Against itself a player learns from every seat.
            learners = (True, *(match.opponent == me for match in matches))
            branch = matches[0].branch if matches else "cooperation"
            players = (me, *(match.opponent for match in matches))
            drawn.append(self.lease(players, learners, n, "training", branch, (side, *others)))
            self._scheduled[me] += n * sum(learners)
            planned += n
        floor = min((self._scheduled[n] / self._entries[n].share for n in learning), default=0.0)
        for name in self._scheduled:  # keeps the numbers small over weeks; who pauses is not owed anything
            self._scheduled[name] = max(0.0, self._scheduled[name] - floor * self._entries[name].share)
        return drawn

    def next_evaluation_series(self, episodes: int) -> list[Series]:
        """Draws series for the ratings until `episodes` are planned; they teach nobody."""
        planned, drawn = 0, []
        while planned < episodes:
            players = self._rated_players()
            sides = None if players is None else self.sides.seat(players)
            if players is None or sides is None:
                break
            n = self._config.evaluation.episodes
            learners = (False,) * len(players)
            drawn.append(self.lease(players, learners, n, "evaluation", "rating", sides))
            planned += n
        return drawn

    def series_among(self, players: Sequence[str], episodes: int) -> list[Series]:
        """Draws a rating series for each pair of these players."""
        return [
            self.lease(pair, (False, False), episodes, "evaluation", "round_robin", (0, 1))
            for pair in combinations(players, 2)
        ]

    def is_recorded(self, result: SeriesResult) -> bool:
        """Whether a result has been taken in before: a report that came twice."""
        number = result.series.number
        return number < self.next_series and number not in self._leased

    def release(self, series: Sequence[Series]) -> None:
        """These will not be played any more; a result that still comes is taken for one that came before."""
        for one in series:
            self._leased.pop(one.number, None)

    def _rated_players(self) -> tuple[str, ...] | None:
        """Draws who plays the next rating series, one for each side; None: nobody can."""
        if self.sides.count == 1:
            alone = self._evaluation.one(self._ratings.rated, self.rng)
            return None if alone is None else (alone,)
        may_meet = self.sides.may_meet if self.sides.limited else None
        for _ in range(TRIES):
            pair = self._evaluation.choose(self._ratings.rated, self._payoff, self.rng, may_meet)
            if pair is None:
                return None
            rest = (
                self._evaluation.near(self._ratings.rated, pair[0], self.rng)
                for _ in range(self.sides.count - 2)
            )
            players = (*pair, *rest)
            if self.sides.seat(players) is not None:
                return players
        return None

    def lease(
        self,
        players: tuple[str, ...],
        learners: tuple[bool, ...],
        episodes: int,
        purpose: str,
        branch: str,
        sides: tuple[int, ...],
    ) -> Series:
        """Hands a series out; it is under way until it comes back or is released."""
        generations = tuple(self._players[p].generation for p in players)
        rotates = self.sides.rotate(players)
        series = Series(
            self.next_series, players, generations, learners, episodes, purpose, branch, sides, rotates
        )
        self.next_series += 1
        if branch.startswith("verify") and (players[0], branch) not in self._verified:
            self._verified.add((players[0], branch))  # once a snapshot: the feed is for people
            rate = self._payoff.win_rate(players[0], players[1])
            self._journal.note(
                "verification", players[0], branch=branch, opponent=players[1], win_rate=round(rate, 3)
            )
        self._leased[series.number] = series
        return series

    def require_leased(self, results: list[SeriesResult]) -> None:
        """Raises: DuplicateResultError, ResultError: see `LeagueManager.record`."""
        numbers: set[int] = set()
        for result in results:
            series = result.series
            leased = self._leased.get(series.number)
            if self.is_recorded(result) or series.number in numbers:
                raise DuplicateResultError(f"series {series.number} has been reported before")
            if leased is None:
                raise ResultError(f"series {series.number} was never drawn; the next is {self.next_series}")
            if leased != series:
                raise ResultError(
                    f"series {series.number} is of {' and '.join(leased.players)}, "
                    f"a result came for {' and '.join(series.players)}"
                )
            shape = (len(series.pairs), 2, 3)
            if result.counts.shape != shape or bool((result.counts < 0).any()):
                raise ResultError(
                    f"series {series.number}: counts must be six numbers from 0 for each pair, "
                    f"not {result.counts.tolist()}"
                )
            if not (np.isfinite(result.margins).all() and np.isfinite(result.scores).all()):
                raise ResultError(
                    f"series {series.number}: margin {result.margins.tolist()} or score "
                    f"{result.scores.tolist()} is not a finite number"
                )
            numbers.add(series.number)

    def _context(self, me: str, side: int) -> Context:
        """What a decision about whom `me` meets on a side may look at."""
        return Context(
            me,
            self._opposite[side],
            self._payoff,
            self.rng,
            self._ratings.table("trueskill"),
            self._players[me].qualities,
            self._memos.setdefault((me, side), Memo()),
        )
