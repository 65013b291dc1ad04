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


class StoreWaitsError(DatabaseError):
    """A store cannot be used just now: full, locked, or not to be reached; it may work again in a moment."""


class CheckpointError(LeagueError):
    """A checkpoint is missing, truncated or altered."""


class NotFoundError(LeagueError):
    """No such run or player."""


class SteeringError(LeagueError):
    """A command cannot be carried out on this league: says what stands in its way."""


class ConflictError(LeagueError):
    """What is asked for does not go together with how things are: a live run, a changed record."""


class BadRequestError(LeagueError):
    """A request cannot be understood or is out of bounds; says which part and what is allowed."""


class ForbiddenError(LeagueError):
    """Whoever asks may not do this."""


class UnauthorizedError(LeagueError):
    """Whoever asks has not shown a valid token."""


class TransportError(LeagueError):
    """A control plane cannot be reached."""


class ApiError(LeagueError):
    """A control plane refused; `status` and `type` are its problem's."""

    def __init__(self, status: int, kind: str, detail: str) -> None:
        super().__init__(detail)
        self.status, self.type = status, kind


class LeaseLostError(LeagueError):
    """Another supervisor owns the run now; nothing was written."""


class RunBusyError(LeagueError):
    """A live supervisor owns the run."""


class RuntimeFailedError(LeagueError):
    """The processes of a run died more often than they may."""


class BadGamesError(RuntimeFailedError):
    """Too many episodes of a run broke down: the game is at fault, and starting again mends nothing."""


USER_ERRORS = (LeagueError, AgentError, GameError, MatchmakingError)
