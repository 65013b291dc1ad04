"""The standings' order, and what they say against the next and against before."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from league.cli.printing import print_standings
from league.pool.records import PlayerRecord
from league.store.repositories.pages import Pool
from league.study.simulation import NOBODY
from league.study.standings import Standing, standings, superiority
from matchmaking.ratings.base import Rating


def ranked(ratings: dict[str, Rating], before: dict[str, int] | None = None, **facts: Any) -> list[Standing]:
    players = [
        PlayerRecord(name, "anchor" if name == "random" else "historical", "frozen", **facts)
        for name in ratings
    ]
    run: Any = None  # nothing of it is looked at
    return standings(Pool(run, players, {"trueskill": ratings}, dict.fromkeys(ratings, 7.0)), before)


def test_who_has_hardly_played_stands_behind_everybody_else() -> None:
    rows = ranked(
        {
            "new": Rating(40.0, 1.0, 29),
            "good": Rating(30.0, 1.0, 30),
            "poor": Rating(20.0, 1.0, 500),
            "random": Rating(0.0, 1.0, 0),
        }
    )
    assert [(r.player, r.provisional) for r in rows] == [
        ("good", False), ("poor", False), ("random", False), ("new", True),
    ]  # fmt: skip
    assert [r.rank for r in rows] == [1, 2, 3, 4]
    assert rows[0].created_at == 7.0


def test_movement_is_places_won() -> None:
    ratings = {"a": Rating(30.0, 1.0, 100), "b": Rating(29.0, 1.0, 100), "c": Rating(28.0, 1.0, 100)}
    rows = ranked(ratings, {"a": 2, "b": 1})
    assert {r.player: r.movement for r in rows} == {"a": 1, "b": -1, "c": None}


def test_superiority_is_of_the_difference_of_two_normals() -> None:
    # N(3, 3² + 4²) is above zero with Φ(3/5) = 0.7257.
    assert superiority(Rating(28.0, 3.0), Rating(25.0, 4.0)) == pytest.approx(0.7257, abs=1e-4)
    assert superiority(Rating(25.0, 4.0), Rating(28.0, 3.0)) == pytest.approx(0.2743, abs=1e-4)
    assert superiority(Rating(25.0, 0.0), Rating(25.0, 0.0)) == 0.5
    rows = ranked({"a": Rating(28.0, 3.0, 100), "b": Rating(25.0, 4.0, 100)})
    assert rows[0].superiority == pytest.approx(0.7257, abs=1e-4)
    assert rows[1].superiority is None


def test_a_large_pool_is_not_printed_whole_unless_asked(capsys: pytest.CaptureFixture[str]) -> None:
    rows = ranked({f"p{k}": Rating(float(k), 1.0, 100) for k in range(9)})
    rows[-1] = replace(rows[-1], state="learning")  # it stands last, and is shown all the same
    run = replace(NOBODY, id="r")
    print_standings(run, rows, limit=3)
    some = capsys.readouterr().out
    print_standings(run, rows)
    everybody = capsys.readouterr().out
    assert [f"p{k}" for k in range(9) if f"p{k} " in some] == ["p0", "p6", "p7", "p8"]
    assert "5 more: league standings r" in some
    assert all(f"p{k} " in everybody for k in range(9))
    assert "more:" not in everybody
