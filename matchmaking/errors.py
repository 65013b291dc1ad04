"""What can go wrong when a league decides whom to play."""

from __future__ import annotations


class MatchmakingError(Exception):
    """Base of every error that the league's rules raise."""


class RosterError(MatchmakingError):
    """The players present cannot fill a role's match (an exploiter without a main)."""


class RatingError(MatchmakingError):
    """A rating was asked for something it cannot do."""


class ResultError(MatchmakingError):
    """A result for a series that was never drawn, for other players, or with counts that cannot be."""


class DuplicateResultError(ResultError):
    """A series' result has been taken in before; it is counted once."""
