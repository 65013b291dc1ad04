"""Series of many sides and teams: everybody sits everywhere equally, and every pair is counted."""

from __future__ import annotations

import numpy as np

from agents.acting.seating import Seating, Series, SeriesResult


def series(players: tuple[str, ...], episodes: int, **more: object) -> Series:
    k = len(players)
    return Series(0, players, (0,) * k, (False,) * k, episodes, "training", "test", **more)  # type: ignore[arg-type]


def play(seating: Seating, returns: np.ndarray, aborted: np.ndarray | None = None) -> SeriesResult:
    """Ends the games of the batch once, and closes the series by adding another."""
    k = returns.shape[1]
    seating.add(Series(1, ("x",) * seating._sides, (0,) * k, (False,) * k, 2, "training", "test"),
                (9,) * seating._sides, (-1,) * seating._sides)  # fmt: skip
    n = len(returns)
    seating.count_moves(np.repeat(np.arange(n, dtype=np.int32), 2))
    seating.finish(np.ones(n, np.bool_), returns.astype(np.float32), aborted)
    (result,) = [r for r in seating.take_results() if r.series.number == 0]
    return result


def test_three_players_sit_everywhere_and_are_counted_in_pairs() -> None:
    seating = Seating(6, (0, 1, 2))
    seating.add(series(("a", "b", "c"), 6), (0, 1, 2), (5, -1, -1))
    seating.fill()
    assert seating.policy_of.tolist() == [[0, 1, 2], [2, 0, 1], [1, 2, 0]] * 2
    assert seating.owner_of.tolist() == [[5, -1, -1], [-1, 5, -1], [-1, -1, 5]] * 2
    # Whoever sits first gets 2, whoever sits second 1.
    result = play(seating, np.tile([2.0, 1.0, 0.0], (6, 1)))
    outcomes = {(o.first, o.second): o for o in result.pairs()}
    assert set(outcomes) == {(0, 1), (0, 2), (1, 2)}
    # a sits before b in rotations 0 and 1 and wins there; in rotation 2 it sits last.
    assert outcomes[0, 1].counts.tolist() == [[4, 0, 0], [0, 0, 2]]
    assert outcomes[0, 2].counts.tolist() == [[2, 0, 0], [0, 0, 4]]
    assert [o.margin for o in outcomes.values()] == [0.5 * (4 - 2 * 2), 0.5 * (2 * 2 - 4), 0.5 * (4 - 4)]
    assert result.scores.tolist() == [6.0, 6.0, 6.0]
    assert result.squares.tolist() == [10.0, 10.0, 10.0]
    assert (result.episodes, result.moves) == (6, 12)


def test_a_team_shares_one_player_and_its_mean() -> None:
    seating = Seating(2, (0, 0, 1))
    seating.add(series(("chasers", "runner"), 2, sides=(0, 1), rotates=False), (3, 4), (0, 1))
    seating.fill()
    assert seating.policy_of.tolist() == [[3, 3, 4]] * 2
    assert seating.owner_of.tolist() == [[0, 0, 1]] * 2
    result = play(seating, np.array([[4.0, 0.0, 1.0], [0.0, 0.0, 3.0]]))
    (pair,) = result.pairs()
    assert (pair.wins, pair.draws, pair.losses) == (1, 0, 1)
    assert pair.margin == 0.5 * ((2.0 - 1.0) + (0.0 - 3.0))
    assert result.scores.tolist() == [2.0, 4.0]


def test_players_who_cannot_change_sides_stay() -> None:
    seating = Seating(4, (0, 1))
    seating.add(series(("runner", "chaser"), 4, sides=(1, 0), rotates=False), (7, 8), (-1, -1))
    seating.fill()
    assert seating.policy_of.tolist() == [[8, 7]] * 4
    result = play(seating, np.tile([1.0, -1.0], (4, 1)))
    (pair,) = result.pairs()
    assert pair.counts.tolist() == [[0, 0, 0], [0, 0, 4]]  # the runner, on the later side, lost


def test_a_cooperative_game_has_a_score_and_no_pair() -> None:
    seating = Seating(3, (0, 0))
    seating.add(series(("team",), 3), (1,), (0,))
    seating.fill()
    assert seating.policy_of.tolist() == [[1, 1]] * 3
    result = play(seating, np.array([[1.0, 1.0], [2.0, 4.0], [0.0, 0.0]]))
    assert list(result.pairs()) == []
    assert (result.scores.tolist(), result.squares.tolist()) == ([4.0], [10.0])


def test_an_aborted_episode_counts_nowhere() -> None:
    seating = Seating(4, (0, 1))
    seating.add(series(("a", "b"), 4), (0, 1), (-1, -1))
    seating.fill()
    result = play(seating, np.tile([1.0, -1.0], (4, 1)), np.array([True, False, False, True]))
    assert (result.episodes, result.aborted, int(result.counts.sum())) == (2, 2, 2)
