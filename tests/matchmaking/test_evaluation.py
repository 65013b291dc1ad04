"""Rating games go where they tell most."""

from __future__ import annotations

from collections import Counter

import numpy as np

from matchmaking.evaluation import EvaluationRule, RatedPlayer

MAIN = RatedPlayer("main", 35, 1, True, False)
NEAR = RatedPlayer("near", 33, 1, False, False)
FAR = RatedPlayer("far", 5, 1, False, False)
UNSURE = RatedPlayer("unsure", 30, 8, False, False)
BOT = RatedPlayer("bot", 20, 1, False, True)


def pairs(players: list[RatedPlayer], n: int = 5000) -> Counter[tuple[str, str]]:
    rng = np.random.default_rng(0)
    return Counter(p for _ in range(n) if (p := EvaluationRule().choose(players, rng)) is not None)


def test_a_third_of_the_games_is_against_anchors() -> None:
    counts = pairs([MAIN, NEAR, BOT])
    against_bot = sum(n for (_, other), n in counts.items() if other == "bot")
    assert 0.33 < against_bot / 5000 < 0.5


def test_near_opponents_come_first_but_nobody_is_left_out() -> None:
    counts = pairs([MAIN, NEAR, FAR])
    assert counts["main", "near"] > 10 * counts["main", "far"] > 0


def test_the_unsure_are_met_more_than_the_sure() -> None:
    counts = pairs([NEAR, UNSURE, FAR])
    started = Counter[str]()
    for (subject, _), n in counts.items():
        started[subject] += n
    assert started["unsure"] > 20 * started["near"]


def test_nobody_plays_alone_or_itself() -> None:
    assert EvaluationRule().choose([MAIN], np.random.default_rng(0)) is None
    assert all(a != b for a, b in pairs([MAIN, NEAR, BOT]))
