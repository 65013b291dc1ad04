"""What can go wrong in a league; `USER_ERRORS` are those whose text is meant for people."""

from __future__ import annotations

from agents.errors import AgentError
from envs.errors import GameError
from matchmaking.errors import MatchmakingError


class LeagueError(Exception):
    """Base of every error of this package."""


class ConfigError(LeagueError):
    """A run's config is wrong: says which field, what it holds, what is allowed."""


class DatabaseError(LeagueError):
    """The database cannot be opened, or its schema is not this program's."""


class CheckpointError(LeagueError):
    """A checkpoint is missing, truncated or altered."""


class NotFoundError(LeagueError):
    """No such run or player."""


class LeaseLostError(LeagueError):
    """Another supervisor owns the run now; nothing was written."""


class RunBusyError(LeagueError):
    """A live supervisor owns the run."""


class RuntimeFailedError(LeagueError):
    """The processes of a run died more often than they may."""


class BadGamesError(RuntimeFailedError):
    """Too many episodes of a run broke down: the game is at fault, and starting again mends nothing."""


USER_ERRORS = (LeagueError, AgentError, GameError, MatchmakingError)
