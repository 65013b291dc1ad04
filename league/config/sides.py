"""Which sides of a game the players of a roster play."""

from __future__ import annotations

import fnmatch
from collections.abc import Sequence
from functools import cache

import envs
from envs.spec import GameSpec
from league.config.explain import nearest
from league.config.players import PlayerConfig
from league.errors import ConfigError


@cache
def spec_of(game_id: str) -> GameSpec:
    """Returns a game's spec. Raises: GameError."""
    return envs.spec_of(game_id)


def sides_of(spec: GameSpec, seats: tuple[str, ...]) -> tuple[int, ...]:
    """Returns the sides whose seats these names or patterns mean."""
    names = [seat.name for seat in spec.seats]
    chosen = {n for pattern in seats for n in fnmatch.filter(names, pattern)}
    return tuple(k for k, members in enumerate(spec.sides) if names[members[0]] in chosen)


def require_sides(players: Sequence[PlayerConfig], spec: GameSpec, source: str) -> None:
    """Raises: ConfigError: a player's seats are none of the game's, part of a team, or a side has no main."""
    names = [seat.name for seat in spec.seats]
    for index, entry in enumerate(players):
        for pattern in entry.seats or ():
            if not fnmatch.filter(names, pattern):
                raise ConfigError(
                    f"{source}: players[{index}].seats: {pattern!r} is no seat of {spec.game_id}"
                    f"{nearest(pattern, names)}; it has {', '.join(names)}"
                )
        chosen = {n for p in entry.seats or ("*",) for n in fnmatch.filter(names, p)}
        for seats in spec.sides:
            part = [names[k] for k in seats]
            if chosen & set(part) and not chosen >= set(part):
                raise ConfigError(
                    f"{source}: players[{index}].seats: {', '.join(sorted(chosen & set(part)))} without "
                    f"{', '.join(sorted(set(part) - chosen))}: one player plays a whole team"
                )
    if len(spec.sides) == 1:
        exploiters = sorted({e.role for e in players} - {"main"})
        if exploiters:
            raise ConfigError(
                f"{source}: players: {', '.join(exploiters)} has nobody to exploit: in {spec.game_id} "
                "all seats are of one team; use role: main"
            )
    mains = [e.seats for e in players if e.role == "main"]
    covered = {k for seats in mains for k in (sides_of(spec, seats) if seats else range(len(spec.sides)))}
    for side, seats in enumerate(spec.sides):
        if side not in covered:
            team = ", ".join(names[k] for k in seats)
            raise ConfigError(f"{source}: players: no main plays {team}; add one with these seats")
