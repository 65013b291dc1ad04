"""Tournaments: who meets whom in which round. How long a pair plays is `sequential.StopRule`'s to say."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import combinations
from typing import Protocol

import networkx

from matchmaking.errors import MatchmakingError

Pair = tuple[str, str]
NOBODY = ""


@dataclass(frozen=True)
class MatchScore:
    """A match that has been played: `points` of the first player, the rest of 1 is the second's."""

    first: str
    second: str
    points: float


class Format(Protocol):
    """What a tournament's form decides."""

    @property
    def players(self) -> tuple[str, ...]:
        """Everybody who takes part."""

    def next_round(self, rounds: Sequence[Sequence[MatchScore]]) -> list[Pair]:
        """Returns the pairs of the next round, none when the tournament is over.

        Args:
          rounds: those played so far.
        """

    def points(self, rounds: Sequence[Sequence[MatchScore]]) -> dict[str, float]:
        """Returns everybody's points so far."""


@dataclass(frozen=True)
class RoundRobin:
    """Everybody meets everybody, once."""

    players: tuple[str, ...]

    def __post_init__(self) -> None:
        """Raises: MatchmakingError: fewer than two players, or one twice."""
        _require_players(self.players, 2)

    def next_round(self, rounds: Sequence[Sequence[MatchScore]]) -> list[Pair]:
        return [] if rounds else list(combinations(self.players, 2))

    def points(self, rounds: Sequence[Sequence[MatchScore]]) -> dict[str, float]:
        return _points(self.players, rounds)


@dataclass(frozen=True)
class Gauntlet:
    """Each challenger meets each opponent, such as bots of fixed strength; nobody else meets."""

    challengers: tuple[str, ...]
    opponents: tuple[str, ...]

    def __post_init__(self) -> None:
        """Raises: MatchmakingError: nobody on one side, or somebody twice."""
        for side in (self.challengers, self.opponents):
            _require_players(side, 1)
        if not self._pairs():
            raise MatchmakingError("a gauntlet needs an opponent that is not the challenger itself")

    @property
    def players(self) -> tuple[str, ...]:
        return tuple(dict.fromkeys((*self.challengers, *self.opponents)))

    def next_round(self, rounds: Sequence[Sequence[MatchScore]]) -> list[Pair]:
        return [] if rounds else self._pairs()

    def points(self, rounds: Sequence[Sequence[MatchScore]]) -> dict[str, float]:
        return _points(self.players, rounds)

    def _pairs(self) -> list[Pair]:
        every = [(c, o) for c in self.challengers for o in self.opponents if c != o]
        return list({frozenset(pair): pair for pair in every}.values())


@dataclass(frozen=True)
class Swiss:
    """A number of rounds, each between players of about equal points who have not met.

    N log N games find the order that a round-robin finds with N². Each round is the matching of least summed
    squared difference in points (Ólafsson 1990 pairs by weighted matching); with an odd number the one left
    over has a point for nothing. Up to half as many rounds as players nobody meets anybody or rests twice
    (then each has half of the others left, and a matching exists: Dirac 1952); later it is rare.
    """

    players: tuple[str, ...]
    rounds: int

    def __post_init__(self) -> None:
        """Raises: MatchmakingError: too few players, or more rounds than there are opponents."""
        _require_players(self.players, 2)
        most = len(self.players) - 1 + len(self.players) % 2
        if not 1 <= self.rounds <= most:
            raise MatchmakingError(
                f"rounds: {self.rounds} must lie in [1, {most}] for {len(self.players)} players"
            )

    def next_round(self, rounds: Sequence[Sequence[MatchScore]]) -> list[Pair]:
        if len(rounds) >= self.rounds:
            return []
        points = self.points(rounds)
        seats = list(self.players)
        if len(seats) % 2:  # resting is playing nobody, for whoever has fewest points
            seats.append(NOBODY)
            points[NOBODY] = min(points.values())
        met = {frozenset((m.first, m.second)) for matches in rounds for m in matches}
        met |= {frozenset((p, NOBODY)) for matches in rounds for p in self._resting(matches)}
        again = 1.0 + len(seats) * len(rounds) ** 2  # costs more than all differences together
        graph: networkx.Graph[str] = networkx.Graph()
        for pair in combinations(seats, 2):
            cost = (points[pair[0]] - points[pair[1]]) ** 2 + again * (frozenset(pair) in met)
            graph.add_edge(*pair, weight=-cost)
        matching = networkx.max_weight_matching(graph, maxcardinality=True)
        place = {name: k for k, name in enumerate(seats)}
        pairs = ((a, b) if place[a] < place[b] else (b, a) for a, b in matching)
        return sorted((p for p in pairs if NOBODY not in p), key=lambda p: place[p[0]])

    def points(self, rounds: Sequence[Sequence[MatchScore]]) -> dict[str, float]:
        points = _points(self.players, rounds)
        for matches in rounds:
            for name in self._resting(matches):
                points[name] += 1.0
        return points

    def _resting(self, matches: Sequence[MatchScore]) -> set[str]:
        return set(self.players) - {p for m in matches for p in (m.first, m.second)}


def _points(players: Sequence[str], rounds: Sequence[Sequence[MatchScore]]) -> dict[str, float]:
    points = dict.fromkeys(players, 0.0)
    for match in (m for matches in rounds for m in matches):
        points[match.first] += match.points
        points[match.second] += 1.0 - match.points
    return points


def _require_players(players: Sequence[str], least: int) -> None:
    twice = sorted({p for p in players if players.count(p) > 1})
    if twice:
        raise MatchmakingError(f"players: {', '.join(twice)} is listed more than once")
    if len(players) < least:
        raise MatchmakingError(f"a tournament needs {least} players or more, got {len(players)}")
