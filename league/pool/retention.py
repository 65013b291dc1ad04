"""Which frozen copies a league needs, and which may go to make room."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from league.pool.records import PlayerRecord
from matchmaking.ordering import best_first

# Of the equilibrium; less is noise.
LEAST_SHARE = 0.01


def needed(
    players: Iterable[PlayerRecord], strength: Mapping[str, float], nash: Mapping[str, float], keep: int
) -> set[str]:
    """Returns the players that stay when only the best `keep` copies and those that are needed do.

    A copy is needed when it has a part in the pool's equilibrium, has a label or a tag, is the newest of its
    line, or a learning player came from it.

    Args:
      players: in the order in which they joined. strength: rating by name, low: weak or unknown.
      nash: share in the equilibrium by name.
    """
    players = list(players)
    copies = [p for p in players if p.role == "historical" and p.state == "frozen"]
    best = best_first(copies, lambda p: strength.get(p.name, float("-inf")))[:keep]
    newest = {p.parent or "": p.name for p in copies}
    return {
        *(p.name for p in players if p.role != "historical"),
        *(p.name for p in best),
        *(p.name for p in copies if nash.get(p.name, 0.0) >= LEAST_SHARE or p.label or p.tags),
        *newest.values(),
        *(p.parent or "" for p in players if p.state == "learning"),
    }
