"""The standings: who is how good, by every rating, against an hour ago and against the next."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from league.store.repositories.pages import Pool
from matchmaking.ordering import best_first
from matchmaking.ratings.base import Rating

# A Bradley-Terry rating with a larger standard error, in Elo points, is nobody's: no games stand behind it.
UNPLACED = 1000.0
# With fewer rated games a player has a place, but no rank to speak of.
RANKED_FROM = 30


@dataclass(frozen=True)
class Standing:
    """One row of the standings, ranked by TrueSkill's conservative μ − 3σ; cooperative games by mean score.

    Who has fewer than `RANKED_FROM` rated games is provisional and stands behind everybody who has; anchors,
    who do not change, never are.

    OpenSkill is its μ − 3σ; Bradley-Terry is Elo points above the anchor with the standard error; Nash and
    α-Rank are shares of the pool's equilibrium. They are None until the pool has been surveyed and
    the player has played. First and second seat: the mean score there, in [0, 1]. Movement: places won since
    a while ago, None for who was not there. Superiority: the chance of being better than the next row's
    player, by TrueSkill.
    """

    rank: int
    player: str
    role: str
    state: str
    label: str | None
    tags: tuple[str, ...]
    provisional: bool
    movement: int | None
    trueskill_mu: float
    trueskill_sigma: float
    conservative: float
    superiority: float | None
    elo: float
    openskill: float
    bradley_terry: float | None
    bradley_terry_error: float | None
    nash: float | None
    alpha_rank: float | None
    score: float | None
    score_error: float | None
    games: int
    rated_games: int
    wins: int
    draws: int
    losses: int
    win_rate: float
    first_seat: float | None
    second_seat: float | None
    steps: int
    parent: str | None
    generation: int
    created_at: float


_COLUMNS = tuple(Standing.__dataclass_fields__)
_UNRATED = Rating(0.0)


def ordered_by(rows: Iterable[Standing], field: str, *, highest_first: bool) -> list[Standing]:
    """Returns rows in the order of a column: equal ones as they are, those without a number last."""
    rows = list(rows)
    sign = 1.0 if highest_first else -1.0
    known = [row for row in rows if getattr(row, field) is not None]
    unknown = [row for row in rows if getattr(row, field) is None]
    return best_first(known, lambda row: sign * getattr(row, field)) + unknown


def standing_as_json(row: Standing) -> dict[str, Any]:
    """Returns a row with its numbers rounded as they are shown."""
    return {
        name: round(value, 3) if isinstance(value := getattr(row, name), float) else value
        for name in _COLUMNS
    }


def superiority(one: Rating, other: Rating) -> float:
    """Returns the chance that one player's skill is above another's, both normal (Herbrich et al. 2006)."""
    spread = math.hypot(one.sigma, other.sigma)
    if spread == 0.0:
        return 0.5
    return 0.5 * (1.0 + math.erf((one.mu - other.mu) / (spread * math.sqrt(2.0))))


def standings(pool: Pool, ranks_before: Mapping[str, int] | None = None) -> list[Standing]:
    """Returns a pool's players, best first.

    Args:
      ranks_before: each player's rank a while ago.
    """
    ratings = pool.ratings
    trueskill, elo, openskill, bradley_terry, nash, alpha_rank, scores = (
        ratings.get(system, {})
        for system in ("trueskill", "elo", "openskill", "bradley_terry", "nash", "alpha_rank", "score")
    )
    before = ranks_before or {}

    def merit(name: str) -> float:
        if not scores:
            return _conservative(trueskill.get(name, _UNRATED))
        return scores[name].mu if name in scores and scores[name].games else -math.inf

    def rated_games(name: str) -> int:
        return (scores.get(name) or trueskill.get(name, _UNRATED)).games

    provisional = {p.name for p in pool.players if p.role != "anchor" and rated_games(p.name) < RANKED_FROM}
    by_merit = best_first(pool.players, lambda p: merit(p.name))  # equals by age
    ranked = sorted(by_merit, key=lambda p: p.name in provisional)
    rows = []
    for rank, player in enumerate(ranked, start=1):
        name = player.name
        rating = trueskill.get(name, _UNRATED)
        games = player.wins + player.draws + player.losses
        fitted = bradley_terry.get(name)
        if fitted is not None and fitted.sigma > UNPLACED:
            fitted = None
        score = scores.get(name)
        if score is not None and not score.games:
            score = None
        then = before.get(name)
        following = ranked[rank].name if rank < len(ranked) and not scores else None
        rows.append(
            Standing(
                rank=rank,
                player=name,
                role=player.role,
                state=player.state,
                label=player.label,
                tags=player.tags,
                provisional=name in provisional,
                movement=None if then is None else then - rank,
                trueskill_mu=rating.mu,
                trueskill_sigma=rating.sigma,
                conservative=_conservative(rating),
                superiority=None
                if following is None
                else superiority(rating, trueskill.get(following, _UNRATED)),
                elo=elo.get(name, _UNRATED).mu,
                openskill=_conservative(openskill.get(name, _UNRATED)),
                bradley_terry=fitted.mu if fitted else None,
                bradley_terry_error=fitted.sigma if fitted else None,
                nash=nash[name].mu if name in nash else None,
                alpha_rank=alpha_rank[name].mu if name in alpha_rank else None,
                score=score.mu if score else None,
                score_error=score.sigma if score else None,
                games=int(games) if score is None else score.games,
                rated_games=rating.games if score is None else score.games,
                wins=int(player.wins),
                draws=int(player.draws),
                losses=int(player.losses),
                win_rate=(player.wins + 0.5 * player.draws) / games if games else 0.5,
                first_seat=player.first_seat,
                second_seat=player.second_seat,
                steps=player.steps,
                parent=player.parent,
                generation=player.generation,
                created_at=pool.joined.get(name, 0.0),
            )
        )
    return rows


def _conservative(rating: Rating) -> float:
    return rating.mu - 3.0 * rating.sigma
