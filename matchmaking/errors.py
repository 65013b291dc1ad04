"""What can go wrong when a league decides whom to play."""

from __future__ import annotations


class MatchmakingError(Exception):
    """Base of every error that the league's rules raise."""


class RosterError(MatchmakingError):
    """The players present cannot fill a role's match (an exploiter without a main)."""


class RatingError(MatchmakingError):
    """A rating was asked for something it cannot do."""
