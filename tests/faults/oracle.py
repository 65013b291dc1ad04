"""Watches a league's database from outside: nothing that was ever there may be gone or count twice."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from sqlalchemy import select

from league.store.check import check_run
from league.store.checkpoints import CheckpointStore
from league.store.models import PlayerRow, RunRow, SeriesTable
from league.store.session import Database
from tests.faults.site import Site

# A transaction that began earlier may become visible later than a younger one's.
OVERLAP_SECONDS = 90.0


@dataclass
class Oracle:
    """What has been seen so far.

    Attributes:
      clock_jumps: when a result was written says nothing about which are new.
      may_go_back: players one of whose states was damaged on purpose: that one goes on from the state before,
        which is of fewer steps, and it is seen when it reports, which may be after another fault.
      problems: what should not be, a line each.
    """

    site: Site
    clock_jumps: bool = False
    may_go_back: set[str] = field(default_factory=set)
    problems: list[str] = field(default_factory=list)

    def __post_init__(self) -> None:
        self._database = Database(self.site.stores.database_url)
        self._counters: dict[str, float] = {}
        self._players: dict[str, tuple[int, int]] = {}
        self._series: dict[tuple[int, int], tuple[Any, ...]] = {}
        self._last = 0.0

    def expect_damage(self) -> None:
        """Says that a learner's state is about to be damaged."""
        self.may_go_back = set(self._players)

    @property
    def results(self) -> int:
        """Results seen so far."""
        return len(self._series)

    def look(self) -> dict[str, float]:
        """Compares with what was seen before; returns the run's counters.

        Raises:
          DatabaseError: the database cannot be read just now.
        """
        with self._database.read() as session:
            r = RunRow
            row = session.execute(
                select(r.moves, r.games, r.next_series, r.play_seconds).where(r.id == self.site.run_id)
            ).one()
            counters = dict(
                zip(("moves", "games", "next_series", "play_seconds"), map(float, row), strict=True)
            )
            p = PlayerRow
            players = {
                name: (int(generation), int(steps))
                for name, generation, steps in session.execute(
                    select(p.name, p.generation, p.steps).where(p.run_id == self.site.run_id)
                )
            }
            since = 0.0 if self.clock_jumps else self._last - OVERLAP_SECONDS
            series = self._read_series(session, since)
        for name, value in self._counters.items():
            if counters[name] < value:
                self.problems.append(f"{name} went back from {value:,.0f} to {counters[name]:,.0f}")
        for player, was in self._players.items():
            if player not in players:
                self.problems.append(f"{player} is gone")
            elif players[player] < was and player not in self.may_go_back:
                self.problems.append(
                    f"{player} went back from {was} to {players[player]} (generation, steps)"
                )
            if players.get(player) != was:
                self.may_go_back.discard(player)
        for key, values in series.items():
            if self._series.get(key, values) != values:
                self.problems.append(f"series {key} has changed from {self._series[key]} to {values}")
        self._counters, self._players = counters, players
        self._series |= series
        return counters

    def settle(self) -> None:
        """Once nothing runs any more: is every result that was ever seen still there, and counted once?"""
        self.look()
        with self._database.read() as session:
            now = self._read_series(session, 0.0)
        lost = [key for key, values in self._series.items() if now.get(key) != values]
        self.problems += [f"series {key} was there and is lost" for key in lost]
        store = CheckpointStore(self.site.stores.checkpoint_url)
        self.problems += check_run(self._database, store, self.site.run_id)

    def _read_series(self, session: Any, since: float) -> dict[tuple[int, int], tuple[Any, ...]]:
        s = SeriesTable
        columns = (
            s.first, s.second, s.wins_seat_0, s.draws_seat_0, s.losses_seat_0, s.wins_seat_1, s.draws_seat_1,
            s.losses_seat_1, s.moves, s.at,
        )  # fmt: skip
        query = select(s.number, s.pair, *columns).where(s.run_id == self.site.run_id, s.at >= since)
        found = {(row[0], row[1]): tuple(row[2:]) for row in session.execute(query)}
        self._last = max([self._last, *(values[-1] for values in found.values())])
        return found
