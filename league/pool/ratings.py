"""Everybody's ratings in every system, and which of them have changed."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from agents.acting.seating import SeriesResult
from league.config.sections import RatingsConfig
from league.pool.records import HUMAN, PlayerRecord
from matchmaking.evaluation import RatedPlayer, RatedPool
from matchmaking.payoff import PayoffMatrix
from matchmaking.rankings import rank
from matchmaking.ratings.base import Rating, RatingSystem, SeriesOutcome
from matchmaking.ratings.elo import Elo
from matchmaking.ratings.openskill import OpenSkill
from matchmaking.ratings.score import UNKNOWN, Score
from matchmaking.ratings.trueskill import TrueSkill

# Rankings of the whole pool, kept like ratings; the equilibrium and α-Rank are of its best players.
# To each what a player must move by: a large pool, which hardly moves, is not written down anew each time.
FITTED = {"bradley_terry": 1.0, "nash": 1e-4, "alpha_rank": 1e-4}
META_LIMIT = 100

Table = dict[str, Rating]


class PoolRatings:
    """The ratings of one run.

    Attributes:
      rated: the players as match-making for ratings sees them.
      trueskill: the system that match-making goes by.
    """

    def __init__(self, config: RatingsConfig, sides: int, stored: Mapping[str, Mapping[str, Rating]]) -> None:
        """Args: sides: of the game; with one there are no opponents, and scores count instead."""
        self.trueskill = TrueSkill(tau=config.trueskill_tau, draw_probability=config.draw_probability)
        # A game of many is counted as games of two; each is worth less.
        elo = Elo(k=config.elo_k / max(1, sides - 1))
        self._systems: list[RatingSystem] = [self.trueskill, elo, OpenSkill(tau=config.trueskill_tau)]
        self._score = Score() if sides == 1 else None
        names = [*(s.name for s in self._systems), *FITTED, *(["score"] if self._score else [])]
        self._tables: dict[str, Table] = {name: dict(stored.get(name, {})) for name in names}
        self.rated = RatedPool()
        self._changed: dict[str, None] = {}
        self._unrecorded: dict[str, None] = {}

    def of(self, player: str, system: str = "trueskill") -> Rating:
        return self._tables[system][player]

    def table(self, system: str) -> Table:
        """Returns a system's ratings by player."""
        return self._tables[system]

    def see(self, player: PlayerRecord) -> None:
        """Lets match-making know a player as it is now."""
        rating = self._tables["score" if self._score else "trueskill"].get(player.name)
        if player.state == "retired" or rating is None or player.bot == HUMAN:
            self.rated.remove(player.name)
        else:
            anchor = player.role == "anchor" and self._score is None
            learning = player.state == "learning"
            self.rated.put(RatedPlayer(player.name, rating.mu, rating.sigma, learning, anchor))

    def begin(self, player: PlayerRecord) -> None:
        """Rates somebody like anybody nobody has seen."""
        for system in self._systems:
            self._tables[system.name][player.name] = system.initial()
        if self._score:
            self._tables["score"][player.name] = self._score.initial()
        self._mark(player)

    def begin_copy(self, player: PlayerRecord, source: str, *, exact: bool) -> None:
        """Rates a copy: it is as strong as its source; only the source's rating may lag behind it.

        Args:
          exact: take over how sure that rating is too.
        """
        if self._score:
            self._tables["score"][player.name] = self._score.initial()
        for system in self._systems:
            table = self._tables[system.name]
            sigma = table[source].sigma
            least = 0.0 if exact else system.initial().sigma / 3.0
            table[player.name] = Rating(table[source].mu, max(sigma, least))
        self._mark(player)

    def rate(self, first: PlayerRecord, second: PlayerRecord, outcome: SeriesOutcome) -> None:
        """Takes in rating games between two."""
        moves = first.state == "learning", second.state == "learning"
        for system in self._systems:
            table = self._tables[system.name]
            table[first.name], table[second.name] = system.rate(
                table[first.name], table[second.name], outcome, a_moves=moves[0], b_moves=moves[1]
            )
        self._mark(first)
        self._mark(second)

    def rate_alone(self, player: PlayerRecord, result: SeriesResult) -> None:
        """Takes in rating games of a player who sat in every seat."""
        if self._score is None or not result.episodes:
            return
        table, moves = self._tables["score"], player.state == "learning"
        total, squares = float(result.scores[0]), float(result.squares[0])
        rated = self._score.rate(table[player.name], total, squares, result.episodes, moves=moves)
        table[player.name] = rated
        self._mark(player)

    def survey(
        self, payoff: PayoffMatrix, names: Sequence[str], anchor: str | None, moving: set[str]
    ) -> None:
        """Ranks the pool as a whole: Bradley-Terry, equilibrium, α-Rank, as ratings like any other.

        Args:
          anchor: whose Bradley-Terry rating is 0. moving: who learns.
        """
        ranked = rank(payoff, names, anchor, moving, META_LIMIT)
        fitted: dict[str, Table] = {
            "bradley_terry": {
                name: Rating(r.rating, r.standard_error)
                for name, r in zip(ranked.names, ranked.ratings, strict=True)
            }
        }
        for system, shares in (("nash", ranked.nash), ("alpha_rank", ranked.alpha_rank)):
            fitted[system] = {
                name: Rating(float(shares[k]) if k < len(shares) else 0.0)
                for k, name in enumerate(ranked.names)
            }
        for system, table in fitted.items():
            before = self._tables[system]
            for name, rating in table.items():
                old = before.get(name)
                if old is not None and _is_near(old, rating, FITTED[system]):
                    table[name] = old
                else:
                    self._changed[name] = self._unrecorded[name] = None
        self._tables.update(fitted)

    def changed(self) -> dict[str, Table]:
        """Returns what has changed since `written`, by system."""
        return self._some(self._changed, unknown=True)

    def unrecorded(self) -> dict[str, Table]:
        """Returns what the history does not have yet, by system; scores only of those who have played."""
        return self._some(self._unrecorded, unknown=False)

    @property
    def unrecorded_players(self) -> list[str]:
        return list(self._unrecorded)

    def written(self, *, history: bool) -> None:
        """Forgets changes that are safely stored."""
        self._changed.clear()
        if history:
            self._unrecorded.clear()

    def _mark(self, player: PlayerRecord) -> None:
        self.see(player)
        self._changed[player.name] = self._unrecorded[player.name] = None

    def _some(self, players: Mapping[str, None], *, unknown: bool) -> dict[str, Table]:
        known = {
            s: {p: table[p] for p in players if p in table and (unknown or table[p].sigma < UNKNOWN)}
            for s, table in self._tables.items()
        }
        return {system: ratings for system, ratings in known.items() if ratings}


def _is_near(old: Rating, new: Rating, step: float) -> bool:
    return abs(new.mu - old.mu) < step and abs(new.sigma - old.sigma) < step
