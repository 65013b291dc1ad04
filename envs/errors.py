"""What can go wrong between a game and its players."""

from __future__ import annotations


class GameError(Exception):
    """Base of every error that a game, its id or its contract raises."""


class UnknownGameError(GameError):
    """No game answers to this id, or its parameters are wrong."""


class GameContractError(GameError):
    """A game broke the contract of `envs.vector_game` (shape, mask, reward, outcome)."""


class IllegalActionError(GameError):
    """An action that the mask forbids was played."""

    def __init__(
        self, game_id: str, env: int, seat: int, action: int | list[float], legal: list[int]
    ) -> None:
        super().__init__(
            f"{game_id}: seat {seat} of game {env} played {action}, which is not legal; legal: {legal}"
        )
        self.game_id, self.env, self.seat, self.action, self.legal = game_id, env, seat, action, legal
