"""What a pool's results say of it: ratings side by side, the game between its players, who predicts best."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path

import numpy as np

from league.pool.records import BranchCount, SeriesRow, Snapshot
from matchmaking import meta_game
from matchmaking.ordering import best_first
from matchmaking.rankings import rank
from matchmaking.ratings.base import RatingSystem
from matchmaking.ratings.calibration import Calibration, RatedSeries, replay
from matchmaking.ratings.elo import Elo
from matchmaking.ratings.openskill import OpenSkill
from matchmaking.ratings.trueskill import TrueSkill


@dataclass(frozen=True)
class PlayerAnalysis:
    """One player's place.

    Attributes:
      bradley_terry: Elo points above the anchor, with its 95% interval.
      nash_share: weight in the equilibrium of highest entropy. nash_rating: score against it, in [−1, 1].
      alpha_rank: share of evolution's time.
      cluster: layer of the spinning top, 0 the strongest.
    """

    player: str
    role: str
    bradley_terry: float
    interval: tuple[float, float]
    nash_share: float
    nash_rating: float
    alpha_rank: float
    cluster: int


@dataclass(frozen=True)
class Analysis:
    """A pool, as of one moment.

    Attributes:
      players: best first, by Bradley-Terry. unplaced: those who have hardly played.
      anchor: whose rating is 0.
      transitivity: share of the payoff that a rating explains, in [0, 1].
      diversity: effective diversity of the equilibrium.
      exploitability: what the best player gains against the newest main, in win rate × 2.
      cycles: triples of players, each beating the next and the last the first, clearest first.
      unmet: share of pairs that have not met; their results are predicted by Bradley-Terry.
      branches: what each player met by which branch of its rule.
      calibration: by rating system, best first.
    """

    run: str
    anchor: str | None
    players: tuple[PlayerAnalysis, ...]
    unplaced: tuple[str, ...]
    transitivity: float
    diversity: float
    exploitability: float | None
    cycles: tuple[tuple[str, str, str], ...]
    unmet: float
    branches: tuple[BranchCount, ...]
    calibration: tuple[Calibration, ...]

    def to_json(self) -> str:
        return json.dumps(asdict(self), indent=1, allow_nan=False)


def analyse(
    snapshot: Snapshot, series: Sequence[SeriesRow], branches: Sequence[BranchCount] = ()
) -> Analysis:
    """Analyses a league.

    Args:
      series: its rating series in order, for the calibration of the rating systems.
    """
    payoff = snapshot.payoff()
    names = [p.name for p in snapshot.players if p.state != "retired" and payoff.total(p.name).games > 0]
    roles = {p.name: p.role for p in snapshot.players}
    anchors = [n for n in names if roles[n] == "anchor"]
    anchor = "random" if "random" in anchors else next(iter(anchors), None)
    moving = {p.name for p in snapshot.players if p.state == "learning"}
    ranked = rank(payoff, names, anchor, moving)
    table, mixture = ranked.table, ranked.nash
    names, unplaced = list(ranked.names[: len(table)]), ranked.names[len(table) :]
    layers = meta_game.nash_clusters(table) if names else []
    layer = {names[k]: depth for depth, members in enumerate(layers) for k in members}
    cycles = meta_game.cycles(table) if names else []
    result = tuple((names[a], names[b], names[c]) for a, b, c in cycles)
    players = tuple(
        PlayerAnalysis(
            name,
            roles[name],
            ranked.ratings[k].rating,
            ranked.ratings[k].interval,
            float(mixture[k]),
            float(ranked.against_nash[k]),
            float(ranked.alpha_rank[k]),
            layer[name],
        )
        for k, name in enumerate(names)
    )
    mains = [k for k, name in enumerate(names) if roles[name] == "main"]
    return Analysis(
        run=snapshot.run.id,
        anchor=anchor,
        players=players,
        unplaced=unplaced,
        transitivity=meta_game.transitivity(table) if names else 1.0,
        diversity=meta_game.effective_diversity(table, mixture),
        exploitability=meta_game.exploitability(table, np.eye(len(names))[mains[0]]) if mains else None,
        cycles=result,
        unmet=ranked.unmet,
        branches=tuple(branches),
        calibration=_calibrations(snapshot, series),
    )


def write_plots(analysis: Analysis, folder: Path) -> list[Path]:
    """Writes stand-alone HTML pages: ratings with intervals, reliability of the rating systems.

    Raises:
      OSError: the folder cannot be written.
    """
    import plotly.graph_objects as go

    folder.mkdir(parents=True, exist_ok=True)
    best_last = analysis.players[::-1]
    ratings = go.Figure(
        go.Scatter(
            x=[p.bradley_terry for p in best_last],
            y=[p.player for p in best_last],
            error_x={"type": "data", "array": [p.interval[1] - p.bradley_terry for p in best_last]},
            mode="markers",
        )
    )
    ratings.update_layout(
        title="Bradley-Terry rating with 95% interval", xaxis_title=f"Elo above {analysis.anchor}"
    )
    reliability = go.Figure(
        go.Scatter(x=[0, 1], y=[0, 1], mode="lines", name="perfect", line={"dash": "dot"})
    )
    for c in analysis.calibration:
        x, y = [b.predicted for b in c.bins], [b.scored for b in c.bins]
        label = f"{c.system}, Brier {c.brier:.4f}"
        reliability.add_scatter(x=x, y=y, mode="lines+markers", name=label)
    reliability.update_layout(title="Predicted against scored", xaxis_title="predicted", yaxis_title="scored")
    written = []
    for name, figure in (("ratings", ratings), ("reliability", reliability)):
        path = folder / f"{name}.html"
        figure.write_html(path, include_plotlyjs=True)
        written.append(path)
    return written


def _calibrations(snapshot: Snapshot, series: Sequence[SeriesRow]) -> tuple[Calibration, ...]:
    learning = {p.name for p in snapshot.players if p.state == "learning"}
    parents = {p.name: p.parent for p in snapshot.players if p.parent is not None}
    history = [
        RatedSeries(s.first, s.second, s.outcome, s.first in learning, s.second in learning) for s in series
    ]
    systems: list[RatingSystem] = [Elo(), TrueSkill(), OpenSkill()]
    result = [replay(system, history, parents) for system in systems] if history else []
    return tuple(best_first(result, lambda c: -c.brier))
