"""Which games to play for the ratings' sake.

A rating is worth most where it is least sure, and a game tells most between equals: the player with
the widest uncertainty is met by an opponent near it, or, in a share of cases, by an anchor, so that
all ratings hang on the same fixed points. A further share goes to pairs that have hardly met: the game
between the players (equilibria, cycles) is only known as far as it has been played.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from matchmaking.payoff import PayoffMatrix


@dataclass(frozen=True)
class RatedPlayer:
    """A player as the evaluation sees it; mu and sigma in the rating system's own points."""

    name: str
    mu: float
    sigma: float
    learning: bool
    anchor: bool


@dataclass(frozen=True)
class EvaluationRule:
    """How rating games are spread.

    Attributes:
      anchor_share: part of the games that are played against an anchor.
      learner_share: part of the games that a learning player starts, however sure its rating: it moves.
      coverage_share: part of the games that go to a player and whomever it has met least.
      spread: distance in points within which opponents count as near.
    """

    anchor_share: float = 0.35
    learner_share: float = 0.6
    coverage_share: float = 0.15
    spread: float = 5.0

    def choose(
        self, players: list[RatedPlayer], payoff: PayoffMatrix, rng: np.random.Generator
    ) -> tuple[str, str] | None:
        """Returns a pair to play, or None when there are not two players."""
        subjects = [p for p in players if not p.anchor] or players
        learners = [p for p in subjects if p.learning]
        if len(players) < 2:
            return None
        if rng.random() < self.coverage_share:
            someone = players[int(rng.integers(len(players)))].name
            order = [players[int(k)].name for k in rng.permutation(len(players))]
            strangers = [name for name in order if name != someone]
            return someone, min(strangers, key=lambda name: payoff.games(someone, name))
        if learners and rng.random() < self.learner_share:
            subject = learners[int(rng.integers(len(learners)))]
        else:
            sigmas = np.array([p.sigma for p in subjects]) ** 2
            subject = subjects[int(rng.choice(len(subjects), p=sigmas / sigmas.sum()))]
        anchors = [p for p in players if p.anchor and p.name != subject.name]
        if anchors and rng.random() < self.anchor_share:
            return subject.name, anchors[int(rng.integers(len(anchors)))].name
        others = [p for p in players if p.name != subject.name]
        gaps = np.array([(p.mu - subject.mu) / self.spread for p in others])
        # A floor under the nearness, so that no pair is ever left unplayed.
        nearness = np.exp(-0.5 * gaps**2) + 0.02
        return subject.name, others[int(rng.choice(len(others), p=nearness / nearness.sum()))].name
