"""What every player scored against every other.

Kept sparse, pair by pair, so that a league of ten thousand players costs what it has played. Each pair has
raw counts, for the record, the same by seat, and decayed counts, for decisions: a learning player's games
of an hour ago were played by somebody weaker. The decay per game follows AlphaStar (Vinyals et al. 2019,
supplementary pseudocode), as does w = (wins + draws/2) / games, and 0.5 with no games.
"""

from __future__ import annotations

import math
from array import array
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from matchmaking.errors import MatchmakingError
from matchmaking.ratings.bradley_terry import Games

# Beyond so many opponents a player's win rates are kept in one array, up to date, rather than looked up.
DENSE_FROM = 32


@dataclass
class PairRecord:
    """i's results against j; raw counts are whole numbers, decayed ones are not.

    `margin` is what i got more than j out of the games, halved and summed: in a zero-sum game i's returns.
    """

    wins: float = 0.0
    draws: float = 0.0
    losses: float = 0.0
    margin: float = 0.0

    @property
    def games(self) -> float:
        return self.wins + self.draws + self.losses

    @property
    def row(self) -> tuple[float, float, float, float]:
        return self.wins, self.draws, self.losses, self.margin

    def swapped(self) -> PairRecord:
        """Returns the same games seen by the other player."""
        return PairRecord(self.losses, self.draws, self.wins, -self.margin)


@dataclass(frozen=True)
class PairResult:
    """Games between two players as they were reported, from `first`'s side.

    `seats`: wins, draws and losses with `first` in the first seat, then in the second.
    """

    first: str
    second: str
    seats: tuple[tuple[int, int, int], tuple[int, int, int]]
    margin: float


class Pool(tuple[str, ...]):
    """Players' names in the order they joined; carries their numbers in the payoff along."""

    numbers: npt.NDArray[np.int64] | None = None

    def first(self, count: int) -> Pool:
        """Returns the pool without its youngest."""
        older = Pool(self[:count])
        older.numbers = None if self.numbers is None else self.numbers[:count]
        return older


class PayoffMatrix:
    """Pairwise results, antisymmetric by construction: each pair is stored once."""

    def __init__(self, decay: float = 1.0) -> None:
        """Args: decay: what a game's weight is multiplied by for each later game of the pair, in (0, 1].

        Raises:
          MatchmakingError: decay is outside (0, 1].
        """
        if not 0.0 < decay <= 1.0:
            raise MatchmakingError(f"payoff decay must lie in (0, 1], not {decay}")
        self.decay = decay
        self._numbers: dict[str, int] = {}
        self._names: list[str] = []
        self._row_of: dict[int, int] = {}  # of a pair, lower number first
        self._rows_of: list[array[int]] = []  # of a player
        self._versions: list[int] = []
        self._pair = np.zeros((64, 2), np.int32)
        self._raw = np.zeros((64, 4))  # wins, draws, losses, margin of the pair's lower number
        self._decayed = np.zeros((64, 4))
        self._seats = np.zeros((64, 2, 3))
        self._free = list(range(64))[::-1]
        self._dense: dict[int, npt.NDArray[np.float64]] = {}

    @classmethod
    def from_results(cls, results: Iterable[PairResult], decay: float = 1.0) -> PayoffMatrix:
        """Builds the whole record from the results it consists of, in the order they came in."""
        payoff = cls(decay)
        for result in results:
            wins, draws, losses = (a + b for a, b in zip(*result.seats, strict=True))
            payoff.record(
                result.first, result.second, wins, draws, losses, margin=result.margin, seats=result.seats
            )
        return payoff

    @classmethod
    def from_stored(
        cls,
        pairs: Sequence[tuple[str, str]],
        raw: npt.NDArray[np.float64],
        decayed: npt.NDArray[np.float64],
        seats: npt.NDArray[np.float64],
        decay: float = 1.0,
    ) -> PayoffMatrix:
        """Builds the record from its pairs as they were stored, a million in seconds.

        Args:
          pairs: each pair of names once. raw, decayed: wins, draws, losses, margin seen from the pair's
          first, [P, 4]. seats: wins, draws, losses of the first by its seat, [P, 2, 3].
        """
        payoff = cls(decay)
        count = len(pairs)
        if not count:
            return payoff
        numbers = np.array([(payoff._number(i), payoff._number(j)) for i, j in pairs], np.int64)
        turned = numbers[:, 0] > numbers[:, 1]
        numbers.sort(axis=1)
        payoff._pair = numbers.astype(np.int32)
        payoff._raw = np.where(turned[:, None], _swap(raw), raw)
        payoff._decayed = np.where(turned[:, None], _swap(decayed), decayed)
        payoff._seats = np.where(turned[:, None, None], seats[:, ::-1, ::-1], seats)
        payoff._row_of = dict(zip((numbers[:, 0] << 32 | numbers[:, 1]).tolist(), range(count), strict=True))
        for row, (low, high) in enumerate(numbers.tolist()):
            payoff._rows_of[low].append(row)
            payoff._rows_of[high].append(row)
        payoff._versions = [len(rows) for rows in payoff._rows_of]
        payoff._free = []
        return payoff

    def record(
        self,
        i: str,
        j: str,
        wins: int,
        draws: int,
        losses: int,
        *,
        margin: float | None = None,
        seats: npt.ArrayLike | None = None,
    ) -> None:
        """Adds games between i and j, counted from i's side. Games of i against itself say nothing.

        Args:
          margin: see `PairRecord`; wins − losses without.
          seats: the same counts by i's seat, [2, 3]; without, they count for no seat.

        Raises:
          MatchmakingError: a count is negative, the margin is not finite, or the seats do not add up.
        """
        if min(wins, draws, losses) < 0:
            raise MatchmakingError(f"{i} against {j}: negative count in {wins}/{draws}/{losses}")
        margin = float(wins - losses) if margin is None else margin
        if not math.isfinite(margin):
            raise MatchmakingError(f"{i} against {j}: margin {margin} is not a finite number")
        games = wins + draws + losses
        if i == j or games == 0:
            return
        by_seat = None if seats is None else np.asarray(seats, np.float64)
        if by_seat is not None and by_seat.sum(axis=0).tolist() != [wins, draws, losses]:
            raise MatchmakingError(f"{i} against {j}: {wins}/{draws}/{losses} are not the sum of its seats")
        row, swapped = self._row(i, j)
        added = np.array((wins, draws, losses, margin), np.float64)
        if swapped:
            added = _swap(added)
        # The games of one report carry no order; each weighs as the average of its places in it.
        d = self.decay
        fresh = 1.0 if d == 1.0 else (1.0 - d**games) / ((1.0 - d) * games)
        self._raw[row] += added
        self._decayed[row] = self._decayed[row] * d**games + added * fresh
        if by_seat is not None:
            self._seats[row] += by_seat[::-1, ::-1] if swapped else by_seat
        self._touch(row)

    def raw(self, i: str, j: str) -> PairRecord:
        """Returns i's games against j since the start of the record, none of them decayed."""
        return self._view(self._raw, i, j)

    def decayed(self, i: str, j: str) -> PairRecord:
        """Returns i's games against j with older games weighing less."""
        return self._view(self._decayed, i, j)

    def by_seat(self, i: str, j: str) -> npt.NDArray[np.float64]:
        """Returns i's wins, draws and losses, [2, 3], undecayed: i in the first seat, in the second."""
        row, swapped = self._find(i, j)
        if row is None:
            return np.zeros((2, 3))
        seats: npt.NDArray[np.float64] = self._seats[row]
        return seats[::-1, ::-1].copy() if swapped else seats.copy()

    def games(self, i: str, j: str) -> float:
        """Returns how many games i and j have played, undecayed."""
        row, _ = self._find(i, j)
        return 0.0 if row is None else float(self._raw[row, :3].sum())

    def win_rate(self, i: str, j: str) -> float:
        """Returns w(i, j) over the decayed games; 0.5 with no games."""
        pair = self.decayed(i, j)
        return 0.5 if pair.games <= 0.0 else (pair.wins + 0.5 * pair.draws) / pair.games

    def win_rates(self, i: str, opponents: Sequence[str]) -> npt.NDArray[np.float64]:
        """Returns w(i, j) for each j, [N]."""
        if len(opponents) < DENSE_FROM:
            return np.array([self.win_rate(i, j) for j in opponents], np.float64)
        numbers = self._numbers_of(opponents)
        me = self._number(i)
        if me not in self._dense:
            self._dense[me] = np.full(len(self._pair), 0.5)
            for row in self._rows_of[me]:
                self._note_rate(row)
        dense = self._dense[me]
        if len(dense) < len(self._names):
            dense = self._dense[me] = np.append(dense, np.full(len(self._names), 0.5))
        return dense[numbers]

    def mean_margin(self, i: str, j: str) -> float:
        """Returns what i got more than j a game, halved, over the decayed games; 0 with no games."""
        pair = self.decayed(i, j)
        return 0.0 if pair.games <= 0.0 else pair.margin / pair.games

    def interval(self, i: str, j: str, z: float = 1.96) -> tuple[float, float]:
        """Returns an interval that holds the true w(i, j) of the undecayed games with 95% (z = 1.96).

        The score interval of Wilson (1927), a draw as half a win; (0, 1) with no games:

        (p + z²/2n ± z √(p(1−p)/n + z²/4n²)) / (1 + z²/n)
        """
        pair = self.raw(i, j)
        n = pair.games
        if n <= 0.0:
            return 0.0, 1.0
        p = (pair.wins + 0.5 * pair.draws) / n
        half = z * math.sqrt(p * (1.0 - p) / n + z * z / (4.0 * n * n))
        middle, scale = p + z * z / (2.0 * n), 1.0 + z * z / n
        return max(0.0, (middle - half) / scale), min(1.0, (middle + half) / scale)

    def table(self, names: Sequence[str]) -> npt.NDArray[np.float64]:
        """Returns the pool's own game: mean margins of the decayed games, antisymmetric [N, N], NaN unmet.

        In a game of wins and losses worth ±1 that is 2w − 1.
        """
        place = {self._numbers[name]: k for k, name in enumerate(names) if name in self._numbers}
        table = np.full((len(names), len(names)), np.nan)
        np.fill_diagonal(table, 0.0)
        for number, a in place.items():
            for row in self._rows_of[number]:
                first, second = self._pair[row].tolist()
                b = place.get(second if first == number else first)
                if b is not None and a < b:
                    mean = self._decayed[row, 3] / self._decayed[row, :3].sum()
                    table[a, b] = mean if first == number else -mean
                    table[b, a] = -table[a, b]
        return table

    def scores(self, names: Sequence[str]) -> Games:
        """Returns the decayed games among these players, numbered by their place, draws half a win."""
        place = np.full(len(self._names) + 1, -1, np.int64)
        for k, name in enumerate(names):
            place[self._numbers.get(name, -1)] = k
        place[-1] = -1
        rows = np.fromiter(self._row_of.values(), np.int64, len(self._row_of))
        i, j = place[self._pair[rows, 0]], place[self._pair[rows, 1]]
        among = (i >= 0) & (j >= 0)
        wins, draws, losses = self._decayed[rows[among], :3].T
        return Games(i[among], j[among], wins + 0.5 * draws, wins + draws + losses)

    def pairs(self) -> Iterator[tuple[str, str]]:
        """Yields every pair that has met, each once, the name that sorts first first."""
        for row in self._row_of.values():
            i, j = (self._names[k] for k in self._pair[row].tolist())
            yield (i, j) if i <= j else (j, i)

    def total(self, i: str) -> PairRecord:
        """Returns i's raw record over all its opponents."""
        number = self._numbers.get(i)
        if number is None or not self._rows_of[number]:
            return PairRecord()
        rows = np.array(self._rows_of[number])
        own = self._raw[rows]
        theirs = self._pair[rows, 0] != number
        own[theirs] = _swap(own[theirs])
        return PairRecord(*own.sum(axis=0).tolist())

    def total_by_seat(self, i: str) -> npt.NDArray[np.float64]:
        """Returns i's wins, draws and losses over all its opponents, [2, 3]: first seat, second seat."""
        number = self._numbers.get(i)
        if number is None or not self._rows_of[number]:
            return np.zeros((2, 3))
        rows = np.array(self._rows_of[number])
        own = self._seats[rows]
        theirs = self._pair[rows, 0] != number
        own[theirs] = own[theirs][:, ::-1, ::-1]
        total: npt.NDArray[np.float64] = own.sum(axis=0)
        return total

    def version(self, i: str) -> int:
        """Returns a number that changes whenever a result of i comes in or is forgotten."""
        number = self._numbers.get(i)
        return 0 if number is None else self._versions[number]

    def clear(self, i: str) -> list[tuple[str, str]]:
        """Forgets every game of i (it was reset and is somebody else now); returns the pairs removed."""
        number = self._numbers.get(i)
        gone: list[tuple[str, str]] = []
        if number is None:
            return gone
        for row in self._rows_of[number]:
            first, second = self._pair[row].tolist()
            other = second if first == number else first
            self._raw[row] = self._decayed[row] = 0.0
            self._seats[row] = 0.0
            self._touch(row)
            del self._row_of[first << 32 | second]
            self._rows_of[other].remove(row)
            self._free.append(row)
            gone.append((min(i, self._names[other]), max(i, self._names[other])))
        self._rows_of[number] = array("q")
        return gone

    def _number(self, name: str) -> int:
        number = self._numbers.get(name)
        if number is None:
            number = self._numbers[name] = len(self._names)
            self._names.append(name)
            self._rows_of.append(array("q"))
            self._versions.append(0)
        return number

    def _numbers_of(self, names: Sequence[str]) -> npt.NDArray[np.int64]:
        if isinstance(names, Pool):
            if names.numbers is None:
                names.numbers = np.fromiter(map(self._number, names), np.int64, len(names))
            return names.numbers
        return np.fromiter(map(self._number, names), np.int64, len(names))

    def _find(self, i: str, j: str) -> tuple[int | None, bool]:
        """Returns the pair's row, None if they have not met, and whether it is kept from j's side."""
        a, b = self._numbers.get(i), self._numbers.get(j)
        if a is None or b is None:
            return None, False
        return self._row_of.get(a << 32 | b if a < b else b << 32 | a), a > b

    def _row(self, i: str, j: str) -> tuple[int, bool]:
        a, b = self._number(i), self._number(j)
        low, high = (a, b) if a < b else (b, a)
        row = self._row_of.get(low << 32 | high)
        if row is None:
            if not self._free:
                self._grow()
            row = self._row_of[low << 32 | high] = self._free.pop()
            self._pair[row] = low, high
            self._rows_of[low].append(row)
            self._rows_of[high].append(row)
        return row, a > b

    def _touch(self, row: int) -> None:
        for number in self._pair[row].tolist():
            self._versions[number] += 1
        if self._dense:
            self._note_rate(row)

    def _note_rate(self, row: int) -> None:
        wins, draws, losses, _ = self._decayed[row].tolist()
        games = wins + draws + losses
        rate = 0.5 if games <= 0.0 else (wins + 0.5 * draws) / games
        first, second = self._pair[row].tolist()
        for me, other, mine in ((first, second, rate), (second, first, 1.0 - rate)):
            dense = self._dense.get(me)
            if dense is not None:
                if other >= len(dense):
                    dense = self._dense[me] = np.append(dense, np.full(max(other, len(dense)), 0.5))
                dense[other] = mine

    def _grow(self) -> None:
        size = len(self._pair)
        self._pair = np.concatenate([self._pair, np.zeros_like(self._pair)])
        self._raw = np.concatenate([self._raw, np.zeros_like(self._raw)])
        self._decayed = np.concatenate([self._decayed, np.zeros_like(self._decayed)])
        self._seats = np.concatenate([self._seats, np.zeros_like(self._seats)])
        self._free = list(range(size, 2 * size))[::-1]

    def _view(self, table: npt.NDArray[np.float64], i: str, j: str) -> PairRecord:
        row, swapped = self._find(i, j)
        if row is None:
            return PairRecord()
        wins, draws, losses, margin = table[row].tolist()
        return (
            PairRecord(losses, draws, wins, -margin) if swapped else PairRecord(wins, draws, losses, margin)
        )


def _swap(counts: npt.NDArray[np.float64]) -> npt.NDArray[np.float64]:
    """Returns wins, draws, losses, margin, [..., 4], seen by the other player."""
    return np.asarray(counts[..., [2, 1, 0, 3]] * (1.0, 1.0, 1.0, -1.0), np.float64)
