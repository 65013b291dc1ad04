"""What the command line prints for people: tables and lines."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from rich.console import Console
from rich.table import Table
from rich.text import Text

from league.pool.records import RunRecord
from league.study.standings import Standing

if TYPE_CHECKING:
    from envs.conformance import ConformanceReport
    from league.client.schemas import Run
    from league.client.schemas import Standing as StandingRow
    from league.runtime.messages import RunStatus
    from league.study.analysis import Analysis
    from league.study.games import GameFacts
    from league.study.simulation import Simulation
    from league.study.tournaments import TournamentResults

# Where nobody says how wide the page is, a log or a pipe, nothing is cut off.
WIDTH = None if sys.stdout.isatty() or "COLUMNS" in os.environ else 160
NARROW = 125

out, err = Console(width=WIDTH), Console(stderr=True)
ROLE_STYLES = {
    "main": "bold green",
    "main_exploiter": "magenta",
    "league_exploiter": "cyan",
    "anchor": "yellow",
}


def status_line(s: RunStatus) -> str:
    """Returns a run's status in one line."""
    left = ""
    if s.progress > 0.01:
        seconds = s.play_seconds / s.progress - s.play_seconds
        left = f" · {int(seconds // 60)}:{int(seconds % 60):02d} left"
    return (
        f"{s.progress:4.0%} · {s.moves_per_second:,.0f} moves/s"
        f" · {s.learner_steps_per_second:,.0f} learner steps/s · lag {s.policy_lag:.0f} updates"
        f" · {s.games:,} games · {s.snapshots} snapshots{left}"
    )


def print_standings(
    run: RunRecord | Run, rows: Sequence[Standing | StandingRow], limit: int | None = None
) -> None:
    """Prints a run and its players, best first.

    Args:
      limit: at most so many of those who do not learn.
    """
    rate = run.moves / run.play_seconds if run.play_seconds else 0.0
    out.print(
        f"[bold]{run.name}[/] ({run.id}) · {run.state} · {run.play_seconds:.0f} s of play · "
        f"{run.moves:,} moves, {rate:,.0f} a second · {run.games:,} games"
    )
    columns = _columns(any(row.score is not None for row in rows))
    if out.width < NARROW:
        for name in ("state", "parent", "games", "role", "Nash", "α-rank"):
            columns.pop(name, None)
    table = Table(box=None)
    for name in columns:
        left = name in ("player", "role", "state", "parent")
        table.add_column(name, justify="left" if left else "right", no_wrap=True)
    others = 0
    for row in rows:
        others += row.state != "learning"
        if limit is None or others <= limit or row.state == "learning":
            table.add_row(*(show(row) for show in columns.values()), style=ROLE_STYLES.get(row.role, ""))
    out.print(table)
    if limit is not None and others > limit:
        out.print(f"… and {others - limit:,} more: league standings {run.id}")


def print_analysis(analysis: Analysis) -> None:
    """Prints what the results of a pool mean."""
    table = Table(box=None)
    for name in ("player", "role", "Bradley-Terry", "95%", "Nash share", "vs Nash", "α-rank", "layer"):
        table.add_column(name, justify="left" if name in ("player", "role") else "right", no_wrap=True)
    for p in analysis.players:
        low, high = p.interval
        table.add_row(
            p.player,
            p.role,
            f"{p.bradley_terry:.0f}",
            f"{low:.0f} … {high:.0f}",
            f"{p.nash_share:.1%}",
            f"{p.nash_rating:+.2f}",
            f"{p.alpha_rank:.1%}",
            str(p.cluster),
            style=ROLE_STYLES.get(p.role, ""),
        )
    out.print(table)
    _print_branches(analysis)
    out.print(f"Bradley-Terry in Elo points above {analysis.anchor or 'the mean'}")
    out.print(f"transitivity {analysis.transitivity:.1%} · effective diversity {analysis.diversity:.3f}")
    if analysis.unplaced:
        out.print(f"hardly played, not placed yet: {', '.join(analysis.unplaced)}")
    if analysis.exploitability is not None:
        out.print(f"the pool's best answer to the best main gains {analysis.exploitability:.2f} (in [0, 2])")
    if analysis.unmet > 0:
        out.print(f"{analysis.unmet:.0%} of the pairs have not met; Bradley-Terry stands in for them")
    for a, b, c in analysis.cycles:
        out.print(f"cycle: {a} beats {b} beats {c} beats {a}")
    for system in analysis.calibration:
        out.print(f"{system.system}: Brier score {system.brier:.4f} over {system.games:,} games")


def print_simulation(s: Simulation) -> None:
    """Prints what came of synthetic players."""
    table = Table(box=None, show_header=False)
    for name, shown in (
        ("players", f"{s.players:,}, {s.snapshots:,} of them snapshots taken, {s.resets:,} with a reset"),
        ("series", f"{s.series:,}"),
        ("matches drawn", f"{s.decisions_per_second:,.0f} a second"),
        ("results taken in", f"{s.records_per_second:,.0f} a second"),
        ("longest exchange", f"{s.longest_exchange * 1000:.0f} ms"),
        ("peak memory", f"{s.peak_memory / 2**20:,.0f} MiB"),
        ("rated games", f"{s.rated_games:,.0f} a frozen player (median)"),
        ("order against truth", ", ".join(f"{k} τ = {v:.3f}" for k, v in s.kendall_tau.items())),
        ("Bradley-Terry error", f"{s.error:.0f} Elo points"),
        ("coverage", f"{s.met:.2%} of the pairs have met; {s.never_met:,} players have met nobody"),
        ("by branch", ", ".join(f"{k} {v / sum(s.branches.values()):.1%}" for k, v in s.branches.items())),
        ("planted cycle", " beats ".join((*s.planted, *s.planted[:1]))),
    ):
        table.add_row(name, shown)
    for cycle in s.cycles:
        table.add_row("cycle found", " beats ".join((*cycle, cycle[0])))
    out.print(table)


def _print_branches(analysis: Analysis) -> None:
    table = Table("player", "met for", "branch", box=None)
    for name in ("series", "games", "score"):
        table.add_column(name, justify="right")
    for b in analysis.branches:
        if b.purpose == "training":
            table.add_row(b.player, b.purpose, b.branch, f"{b.series:,}", f"{b.games:,}", f"{b.score:.1%}")
    if table.row_count:
        out.print(table)


def _columns(cooperative: bool) -> dict[str, Callable[[Any], str]]:
    columns: dict[str, Callable[[Any], str]] = {
        "rank": lambda r: str(r.rank),
        "player": lambda r: r.player,
        "role": lambda r: r.role,
        "state": lambda r: r.state,
        "μ ± σ": lambda r: f"{r.trueskill_mu:.1f} ± {r.trueskill_sigma:.1f}",
        "μ − 3σ": lambda r: f"{r.conservative:.1f}",
        "Elo": lambda r: f"{r.elo:.0f}",
        "Bradley-Terry": lambda r: "" if r.bradley_terry is None else f"{r.bradley_terry:.0f}",
        "Nash": lambda r: "" if r.nash is None else f"{r.nash:.1%}",
        "α-rank": lambda r: "" if r.alpha_rank is None else f"{r.alpha_rank:.1%}",
        "games": lambda r: f"{r.games:,}",
        "win rate": lambda r: f"{r.win_rate:.1%}",
        "step": lambda r: f"{r.steps:,}",
        "parent": lambda r: r.parent or "",
    }
    if not cooperative:
        return columns
    kept = ("rank", "player", "role", "state", "games", "step", "parent")
    scored = {k: v for k, v in columns.items() if k in kept}
    return {**dict(list(scored.items())[:4]), "score": _score, **dict(list(scored.items())[4:])}


def _score(row: Standing) -> str:
    return "" if row.score is None else f"{row.score:.2f} ± {row.score_error or 0.0:.2f}"


def print_games(result: Sequence[GameFacts], refused: Mapping[str, str], speeds: Mapping[str, float]) -> None:
    """Prints games, and those that a league cannot play with the reason."""
    table = Table(box=None)
    for name in ("game", "seats", "sides", "sees", "actions", "moves", "outcome"):
        table.add_column(name, justify="right" if name == "seats" else "left", overflow="fold")
    if speeds:
        table.add_column("moves/s", justify="right")
    for f in result:
        sides = "one team" if len(f.sides) == 1 else f"{len(f.sides)}"
        if any(len(side) > 1 for side in f.sides) and len(f.sides) > 1:
            sides = " v ".join(str(len(side)) for side in f.sides)
        shape = "×".join(str(n) for n in f.observation) or "1"
        actions = "·".join(str(n) for n in f.actions) if len(f.actions) < 6 else f"{len(f.actions)} parts"
        sees = f"{f.dtype} {shape}"
        rate = [f"{speeds[f.game_id]:,.0f}"] if f.game_id in speeds else []
        cells = (f.game_id, str(f.seats), sides, sees, actions, f.turns, f.outcome.replace("_", "/"))
        table.add_row(*cells, *rate)
    out.print(table)
    for game_id, reason in refused.items():
        out.print(f"{game_id}: {reason}", style="dim", soft_wrap=True)


def print_conformance(known: GameFacts, report: ConformanceReport) -> None:
    """Prints which rules a game keeps."""
    sides = " v ".join(", ".join(side) for side in known.sides)
    out.print(f"[bold]{known.game_id}[/] · {sides} · {report.episodes} episodes, {report.moves:,} moves")
    for rule in report.passed:
        out.print(f"[green]kept[/]    {rule}")
    for rule, why in report.failures.items():
        out.print(Text.assemble(("broken  ", "red"), f"{rule}: {why}"), soft_wrap=True)
    out.print("It can be trained on." if report.ok else "Mend what is broken; a league would stop on it.")


def print_tournament(results: TournamentResults) -> None:
    """Prints the ranking and every pair's score."""
    if results.cooperative:
        table = Table("rank", "player", box=None)
        for name in ("score", "±", "games"):
            table.add_column(name, justify="right")
        for k, place in enumerate(results.ranking, start=1):
            score = f"{place.rating:.3f}", f"{place.error:.3f}", f"{place.games:,}"
            table.add_row(str(k), place.player, *score)
        out.print(table)
        return
    table = Table(box=None)
    for name in ("rank", "player", "Bradley-Terry", "±", "points", "games"):
        table.add_column(name, justify="left" if name == "player" else "right", no_wrap=True)
    for k, place in enumerate(results.ranking, start=1):
        row = f"{place.rating:.0f}", f"{place.error:.0f}", f"{place.points:g}", f"{place.games:,}"
        table.add_row(str(k), place.player, *row)
    out.print(table)
    pairs = Table(box=None)
    for name in (
        "first",
        "second",
        "won",
        "drawn",
        "lost",
        "score",
        "interval",
        "margin",
        "as first",
        "as second",
    ):
        pairs.add_column(name, justify="left" if name in ("first", "second") else "right", no_wrap=True)
    for p in results.pairs:
        counts = (f"{n:,}" for n in (p.wins, p.draws, p.losses))
        seats = (f"{(w + d / 2) / max(1, w + d + x):.1%}" for w, d, x in p.seats)
        pairs.add_row(
            p.first,
            p.second,
            *counts,
            f"{p.score:.1%}",
            f"{p.low:.1%} … {p.high:.1%}",
            f"{p.margin:+.3g}",
            *seats,
        )
    out.print(pairs)
    out.print(f"Bradley-Terry in Elo points above {results.anchor or 'the mean'} · {results.games:,} games")
