"""What each role of a league does: whom it meets, when it is copied into the pool, what follows.

AlphaStar's rules (Vinyals et al. 2019, Methods and supplementary pseudocode), every number a field.
A role reads the roster and the payoff and decides; it holds nothing.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

import numpy as np

from matchmaking import pfsp
from matchmaking.errors import MatchmakingError, RosterError
from matchmaking.payoff import PayoffMatrix, Pool
from matchmaking.records import Match
from matchmaking.roster import Context, Roster
from matchmaking.samplers import Quality, Sampler


class RoleRule(Protocol):
    """What a role has to decide."""

    @property
    def min_steps(self) -> int:
        """Learner steps after a snapshot before the next may be taken."""

    @property
    def max_steps(self) -> int:
        """Learner steps after a snapshot when the next is taken in any case."""

    def match(self, context: Context) -> Match:
        """Chooses the next opponent. Raises: RosterError: nobody can be met."""

    def targets(self, me: str, roster: Roster) -> Pool:
        """Returns whom this role must beat to be copied before `max_steps`."""

    def resets(self, rng: np.random.Generator) -> bool:
        """Whether the player returns to its initial weights after a snapshot."""


def snapshot_due(
    rule: RoleRule, me: str, steps: int, roster: Roster, payoff: PayoffMatrix, win_rate: float = 0.7
) -> bool:
    """Whether a learning player is to be copied into the pool.

    Args:
      steps: decisions it has learnt from since its last snapshot or reset.
      win_rate: what it must score against every target.

    After `min_steps` when it beats all its targets, after `max_steps` in any case.
    """
    if steps < rule.min_steps:
        return False
    if steps >= rule.max_steps:
        return True
    targets = rule.targets(me, roster)
    return bool(targets) and bool(payoff.win_rates(me, targets).min() > win_rate)


@dataclass(frozen=True)
class Main:
    """The agent the league exists for: robust against everybody, past and present."""

    min_steps: int
    max_steps: int
    pfsp_share: float = 0.5
    verification_share: float = 0.15
    pfsp_weighting: str = "squared"
    exploited_below: float = 0.3
    forgotten_below: float = 0.7
    too_strong_below: float = 0.3

    def __post_init__(self) -> None:
        """Raises: MatchmakingError: the shares add up to more than all of the matches."""
        if self.pfsp_share + self.verification_share > 1.0 + 1e-9:
            raise MatchmakingError(
                f"pfsp_share {self.pfsp_share} and verification_share {self.verification_share} "
                "add up to more than 1; lower one"
            )

    def match(self, context: Context) -> Match:
        me, roster, payoff = context.me, context.roster, context.payoff
        coin = context.rng.random()
        if coin < self.pfsp_share and roster.historicals:
            return _pfsp_match(context, roster.historicals, self.pfsp_weighting, "pfsp")
        main = context.pick(roster.mains or context.self_or_mains())
        if coin < self.pfsp_share + self.verification_share:
            verification = self._verification(context, main)
            if verification is not None:
                return verification
        # Against a main that is too strong, learn on its past selves first.
        if main != me and payoff.win_rate(me, main) <= self.too_strong_below and roster.history_of(main):
            return _pfsp_match(context, roster.history_of(main), "variance", "self_play_history")
        return Match(me, main, "self_play")

    def targets(self, me: str, roster: Roster) -> Pool:
        return roster.historicals

    def resets(self, rng: np.random.Generator) -> bool:
        return False

    def _verification(self, context: Context, main: str) -> Match | None:
        """Games against whoever shows a hole: exploiters that beat me, then mains I have forgotten."""
        exploiters = context.roster.exploiter_historicals
        if exploiters and context.lowest_win_rate(exploiters) < self.exploited_below:
            return _pfsp_match(context, exploiters, self.pfsp_weighting, "verify_exploiters")
        past = context.once(("forgotten", main), lambda: self._forgotten(context, main))
        if past and context.lowest_win_rate(past) < self.forgotten_below:
            return _pfsp_match(context, past, self.pfsp_weighting, "verify_forgotten")
        return None

    @staticmethod
    def _forgotten(context: Context, main: str) -> Pool:
        past = context.roster.history_of(main)
        return past.first(len_without_monotone_suffix(context.payoff.win_rates(context.me, past).tolist()))


@dataclass(frozen=True)
class MainExploiter:
    """Finds the present mains' weaknesses, hands them to the pool and starts over."""

    min_steps: int
    max_steps: int
    hopeless_below: float = 0.1

    def match(self, context: Context) -> Match:
        me, roster, payoff = context.me, context.roster, context.payoff
        if not roster.mains:
            raise RosterError(f"{me} has no main to exploit; add a player with role: main")
        main = context.pick(roster.mains)
        history = roster.history_of(main)
        if payoff.win_rate(me, main) <= self.hopeless_below and history:
            return _pfsp_match(context, history, "variance", "curriculum")
        return Match(me, main, "exploit")

    def targets(self, me: str, roster: Roster) -> Pool:
        return roster.mains

    def resets(self, rng: np.random.Generator) -> bool:
        return True


@dataclass(frozen=True)
class LeagueExploiter:
    """Finds strategies that nobody in the pool has an answer to."""

    min_steps: int
    max_steps: int
    pfsp_weighting: str = "linear_capped"
    reset_probability: float = 0.25

    def match(self, context: Context) -> Match:
        me, roster = context.me, context.roster
        if roster.historicals:
            return _pfsp_match(context, roster.historicals, self.pfsp_weighting, "pfsp")
        # Before the first snapshot there is no history; the mains are the league.
        if not roster.mains:
            raise RosterError(f"{me} has nobody to exploit; add a player with role: main")
        return Match(me, context.pick(roster.mains), "exploit")

    def targets(self, me: str, roster: Roster) -> Pool:
        return roster.historicals

    def resets(self, rng: np.random.Generator) -> bool:
        return bool(rng.random() < self.reset_probability)


@dataclass(frozen=True)
class Mixture:
    """A role made of samplers, each used by its weight: any other league's rule, without code.

    Attributes:
      samplers: (branch, weight, sampler); one that finds nobody leaves its turn to the others, and when none
        finds anybody the player meets itself.
      targets_pool: whom it must beat to be copied before max_steps; None: nobody, only max_steps counts.
    """

    min_steps: int
    max_steps: int
    samplers: tuple[tuple[str, float, Sampler], ...]
    targets_pool: str | None = None
    reset_probability: float = 0.0

    def match(self, context: Context) -> Match:
        left = list(self.samplers)
        while left:
            weights = np.array([weight for _, weight, _ in left])
            branch, _, sampler = left.pop(int(context.rng.choice(len(left), p=weights / weights.sum())))
            candidates, chances = sampler.candidates(context)
            if candidates:
                return Match(context.me, context.draw(candidates, chances), branch)
        selves = context.self_or_mains()
        if not selves:
            raise RosterError(f"{context.me} has no opponent to meet; add a main for the other sides")
        return Match(context.me, context.pick(selves), "self_play")

    def targets(self, me: str, roster: Roster) -> Pool:
        return Pool() if self.targets_pool is None else roster.pool(self.targets_pool, me)

    def resets(self, rng: np.random.Generator) -> bool:
        return bool(rng.random() < self.reset_probability)

    @property
    def quality(self) -> Quality | None:
        """The sampler that keeps qualities, if there is one."""
        return next((s for _, _, s in self.samplers if isinstance(s, Quality)), None)


def len_without_monotone_suffix(win_rates: list[float]) -> int:
    """Returns how many of a main's snapshots, oldest first, stay when the monotone tail is left out.

    A newer snapshot that I beat less than an older one is progress, not forgetting: such a falling
    tail says nothing about what I have forgotten.
    """
    for i in range(len(win_rates) - 1, 0, -1):
        if win_rates[i - 1] < win_rates[i]:
            return i + 1
    return 0


def _pfsp_match(context: Context, pool: Pool, weighting: str, branch: str) -> Match:
    cumulative = context.once(
        ("pfsp", id(pool), weighting),
        lambda: np.cumsum(pfsp.probabilities(context.payoff.win_rates(context.me, pool), weighting)),
    )
    return Match(context.me, context.draw_cumulative(pool, cumulative), branch)
