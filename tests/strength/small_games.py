"""Games small enough to be walked through: tic-tac-toe, Kuhn and Leduc poker."""

from __future__ import annotations

from pathlib import Path

from tests.strength.trained import GAMES, Figure, Trained


def tic_tac_toe(folder: Path) -> list[Figure]:
    """Two minutes."""
    league = Trained("strength/tic_tac_toe.yaml", folder / "tic_tac_toe")
    record = league.score("perfect", 2 * GAMES)
    what = f"Tic-tac-toe, 2 minutes: games lost to perfect play, of {record.games:.0f}, half in each seat"
    return [Figure(what, f"{record.losses:.0f}", "0", record.losses == 0)]


def kuhn(folder: Path) -> list[Figure]:
    """Two minutes."""
    return _poker("strength/kuhn_poker.yaml", folder, "Kuhn poker", 0.02)


def leduc(folder: Path) -> list[Figure]:
    """Ten minutes."""
    return _poker("strength/leduc_poker.yaml", folder, "Leduc poker", 0.20)


def _poker(config: str, folder: Path, name: str, limit: float) -> list[Figure]:
    league = Trained(config, folder / name)
    found = league.service.exploitability(league.run.id, league.store)
    best = min(*found.players.values(), found.average)
    text = f"{best:.4f} (main {found.players['main.0']:.4f}, average {found.average:.4f})"
    minutes = league.run.config["stop"]["minutes"]
    return [Figure(f"{name}, {minutes:.0f} minutes: exploitability", text, f"≤ {limit:.2f}", best <= limit)]
