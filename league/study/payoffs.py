"""Who scored what against whom, in the forms that pages and clients ask for."""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np

from league.pool.records import PairRow
from league.study.standings import Standing
from matchmaking import meta_game
from matchmaking.ordering import best_first
from matchmaking.payoff import PayoffMatrix

# A cycle is looked for among so many of the best: each beats the next by so much, in so many games.
CYCLE_PLAYERS, CYCLE_MARGIN, CYCLE_GAMES = 100, 0.05, 32
# In the payoff map: a pair that has not met. Scores are 0 to 200.
UNMET = 255
# First player, second player, the first's score, games.
Score = tuple[str, str, float, float]


@dataclass(frozen=True)
class PayoffTable:
    """Win rates between players in the order of the standings; -1 where a pair has not met.

    `low`, `high`: the 95% interval of the win rate over all games played.
    """

    players: list[str]
    win_rates: list[list[float]]
    games: list[list[int]]
    low: list[list[float]]
    high: list[list[float]]


@dataclass(frozen=True)
class Opponent:
    """What a player scored against another; `margin` is the mean of what it got more, halved."""

    opponent: str
    games: int
    wins: int
    draws: int
    losses: int
    score: float
    margin: float


@dataclass(frozen=True)
class Pair:
    """What a player got against another; `low`, `high`: its score's 95% interval. `seats`: in each seat."""

    games: int
    wins: int
    draws: int
    losses: int
    score: float
    low: float
    high: float
    seats: list[list[int]]


@dataclass(frozen=True)
class Cycle:
    """Three players of whom each beats the next; `scores`: the first's against the second, and so on."""

    players: tuple[str, str, str]
    scores: tuple[float, ...]


def payoff_table(payoff: PayoffMatrix, names: list[str]) -> PayoffTable:
    """Returns these players' win rates against each other."""
    games = [[int(payoff.games(i, j)) for j in names] for i in names]
    rates = [
        [round(payoff.win_rate(i, j), 4) if n else -1.0 for j, n in zip(names, row, strict=True)]
        for i, row in zip(names, games, strict=True)
    ]
    intervals = [[payoff.interval(i, j) for j in names] for i in names]
    low = [[round(interval[0], 4) for interval in row] for row in intervals]
    high = [[round(interval[1], 4) for interval in row] for row in intervals]
    return PayoffTable(names, rates, games, low, high)


def pair_of(payoff: PayoffMatrix, first: str, second: str) -> Pair:
    """Returns what one player got against another."""
    low, high = payoff.interval(first, second)
    record, seats = payoff.raw(first, second), payoff.by_seat(first, second).astype(int).tolist()
    games = record.games
    return Pair(
        int(games),
        int(record.wins),
        int(record.draws),
        int(record.losses),
        (record.wins + 0.5 * record.draws) / games if games else 0.5,
        low,
        high,
        seats,
    )


def opponents_of(name: str, pairs: Iterable[PairRow]) -> list[Opponent]:
    """Returns what a player scored against everybody it has met, by games."""
    result = []
    for pair in pairs:
        mine = pair.first == name
        wins, draws, losses, margin = pair.raw
        if not mine:
            wins, losses, margin = losses, wins, -margin
        games = wins + draws + losses
        if games:
            opponent = pair.second if mine else pair.first
            score = (wins + 0.5 * draws) / games
            record = (int(games), int(wins), int(draws), int(losses))
            result.append(Opponent(opponent, *record, round(score, 4), round(margin / games, 4)))
    return sorted(result, key=lambda o: (-o.games, o.opponent))


def weakest_against(opponents: Iterable[Opponent]) -> list[Opponent]:
    """Returns opponents by a player's score against them, lowest first; equal ones as they come."""
    return best_first(opponents, lambda opponent: -opponent.score)


def clearest_cycles(names: list[str], scores: Iterable[Score]) -> list[Cycle]:
    """Returns triples of these players of whom each beats the next, clearest first."""
    number = {name: k for k, name in enumerate(names)}
    table = np.zeros((len(names), len(names)))
    for first, second, score, games in scores:
        i, j = number.get(first), number.get(second)
        if i is not None and j is not None and games >= CYCLE_GAMES:
            table[i, j], table[j, i] = score - 0.5, 0.5 - score
    return [
        Cycle((names[a], names[b], names[c]), tuple(0.5 + table[i, j] for i, j in ((a, b), (b, c), (c, a))))
        for a, b, c in meta_game.cycles(table, margin=CYCLE_MARGIN)
    ]


def payoff_map(rows: Sequence[Standing], scores: Iterable[Score], cycles: Sequence[Cycle]) -> bytes:
    """Returns these players' payoffs as one binary; see docs/rest.md for its layout."""
    number = {row.player: k for k, row in enumerate(rows)}
    n = len(rows)
    rates, games = np.full((n, n), UNMET, np.uint8), np.zeros((n, n), np.uint32)
    for first, second, score, total in scores:
        i, j = number.get(first), number.get(second)
        if i is not None and j is not None:
            rates[i, j], rates[j, i] = round(200 * score), round(200 * (1.0 - score))
            games[i, j] = games[j, i] = total
    facts = {
        "players": list(number),
        "roles": [row.role for row in rows],
        "parents": [row.parent for row in rows],
        "cycles": [cycle.players for cycle in cycles],
    }
    header = json.dumps(facts).encode()
    return len(header).to_bytes(4, "little") + header + rates.tobytes() + games.tobytes()
