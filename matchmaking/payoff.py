"""What every player scored against every other.

Kept sparse, pair by pair, so that a league of thousands of players costs what it has played. Each
pair has raw counts, for the record, and decayed counts, for decisions: a learning player's games of
an hour ago were played by somebody weaker. The decay per game follows AlphaStar (Vinyals et al.
2019, supplementary pseudocode), as does w = (wins + draws/2) / games, and 0.5 with no games.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from matchmaking.errors import MatchmakingError


@dataclass
class PairRecord:
    """i's results against j; raw counts are whole numbers, decayed ones are not."""

    wins: float = 0.0
    draws: float = 0.0
    losses: float = 0.0

    @property
    def games(self) -> float:
        return self.wins + self.draws + self.losses

    def swapped(self) -> PairRecord:
        """Returns the same games seen by the other player."""
        return PairRecord(self.losses, self.draws, self.wins)

    def decay_and_add(self, factor: float, wins: float, draws: float, losses: float) -> None:
        self.wins = self.wins * factor + wins
        self.draws = self.draws * factor + draws
        self.losses = self.losses * factor + losses


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
        self._raw: dict[tuple[str, str], PairRecord] = {}
        self._decayed: dict[tuple[str, str], PairRecord] = {}
        self._opponents: dict[str, set[str]] = {}

    def record(self, i: str, j: str, wins: int, draws: int, losses: int) -> None:
        """Adds games between i and j, counted from i's side. Games of i against itself say nothing.

        Raises:
          MatchmakingError: a count is negative.
        """
        if min(wins, draws, losses) < 0:
            raise MatchmakingError(f"{i} against {j}: negative count in {wins}/{draws}/{losses}")
        games = wins + draws + losses
        if i == j or games == 0:
            return
        if i > j:
            i, j, wins, losses = j, i, losses, wins
        # The games of one report carry no order; each weighs as the average of its places in it.
        d = self.decay
        fresh = 1.0 if d == 1.0 else (1.0 - d**games) / ((1.0 - d) * games)
        self._raw.setdefault((i, j), PairRecord()).decay_and_add(1.0, wins, draws, losses)
        self._decayed.setdefault((i, j), PairRecord()).decay_and_add(
            d**games, wins * fresh, draws * fresh, losses * fresh
        )
        self._opponents.setdefault(i, set()).add(j)
        self._opponents.setdefault(j, set()).add(i)

    def load(self, i: str, j: str, raw: PairRecord, decayed: PairRecord) -> None:
        """Sets a pair as it was stored, seen from i."""
        if i > j:
            i, j, raw, decayed = j, i, raw.swapped(), decayed.swapped()
        self._raw[i, j], self._decayed[i, j] = raw, decayed
        self._opponents.setdefault(i, set()).add(j)
        self._opponents.setdefault(j, set()).add(i)

    def raw(self, i: str, j: str) -> PairRecord:
        """Returns i's games against j since the start of the record, none of them decayed."""
        return self._view(self._raw, i, j)

    def decayed(self, i: str, j: str) -> PairRecord:
        """Returns i's games against j with older games weighing less."""
        return self._view(self._decayed, i, j)

    def games(self, i: str, j: str) -> float:
        """Returns how many games i and j have played, undecayed."""
        return self.raw(i, j).games

    def win_rate(self, i: str, j: str) -> float:
        """Returns w(i, j) over the decayed games; 0.5 with no games."""
        pair = self.decayed(i, j)
        return 0.5 if pair.games <= 0.0 else (pair.wins + 0.5 * pair.draws) / pair.games

    def win_rates(self, i: str, opponents: Sequence[str]) -> npt.NDArray[np.float64]:
        """Returns w(i, j) for each j, [N]."""
        return np.array([self.win_rate(i, j) for j in opponents], np.float64)

    def pairs(self) -> Iterable[tuple[str, str]]:
        """Yields every pair that has met, each once."""
        return self._raw.keys()

    def total(self, i: str) -> PairRecord:
        """Returns i's raw record over all its opponents."""
        total = PairRecord()
        for j in self._opponents.get(i, ()):
            pair = self.raw(i, j)
            total.decay_and_add(1.0, pair.wins, pair.draws, pair.losses)
        return total

    def clear(self, i: str) -> list[tuple[str, str]]:
        """Forgets every game of i (it was reset and is somebody else now); returns the pairs removed."""
        gone = [(min(i, j), max(i, j)) for j in self._opponents.pop(i, set())]
        for pair in gone:
            self._raw.pop(pair, None)
            self._decayed.pop(pair, None)
            other = pair[1] if pair[0] == i else pair[0]
            self._opponents.get(other, set()).discard(i)
        return gone

    @staticmethod
    def _view(table: dict[tuple[str, str], PairRecord], i: str, j: str) -> PairRecord:
        if i <= j:
            return table.get((i, j)) or PairRecord()
        pair = table.get((j, i))
        return pair.swapped() if pair else PairRecord()
