"""What has changed in a league since it was last written."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any

from agents.acting.episode import Episode
from league.pool.records import EventRecord, SeriesRow


@dataclass
class Journal:
    """Names and rows to write, each once and in the order in which they changed.

    Attributes:
      players: whose record or results changed. pairs: whose payoff did, names in order.
      cleared: pairs whose payoff is no more.
      series, events, episodes: new rows.
    """

    players: dict[str, None] = field(default_factory=dict)
    pairs: dict[tuple[str, str], None] = field(default_factory=dict)
    cleared: dict[tuple[str, str], None] = field(default_factory=dict)
    series: list[SeriesRow] = field(default_factory=list)
    events: list[EventRecord] = field(default_factory=list)
    episodes: list[Episode] = field(default_factory=list)

    def note(self, kind: str, player: str | None = None, *, actor: str | None = None, **data: Any) -> None:
        """Adds an event. Args: actor: who wanted it."""
        self.events.append(EventRecord(kind, player, data, actor=actor))

    def player_changed(self, name: str) -> None:
        self.players[name] = None

    def pair_changed(self, first: str, second: str) -> None:
        """Notes a result between two."""
        self.pairs[min(first, second), max(first, second)] = None
        self.players |= {first: None, second: None}

    def pairs_cleared(self, pairs: Iterable[tuple[str, str]]) -> None:
        """Notes that what these scored against each other is forgotten."""
        for pair in pairs:
            self.players |= dict.fromkeys(pair)
            self.pairs.pop(pair, None)
            self.cleared[pair] = None

    def clear(self) -> None:
        """Forgets everything: it has been written."""
        for rows in (self.players, self.pairs, self.cleared, self.series, self.events, self.episodes):
            rows.clear()
