"""An environment in a process of its own: what crashes or hangs there costs one episode."""

from __future__ import annotations

import multiprocessing
from collections.abc import Callable, Sequence
from multiprocessing.connection import Connection
from typing import Any

from envs.errors import GameContractError, GameError
from envs.tables.table import Due, Outcome, Table, TableOptions, TableSpec

# The environment answers within so many seconds or counts as hanging.
ANSWER_SECONDS = 30.0


class ProcessTable:
    """A `Table` behind a pipe."""

    def __init__(
        self,
        game_id: str,
        make: Callable[[], Any],
        options: TableOptions,
        answer_seconds: float = ANSWER_SECONDS,
    ) -> None:
        """Raises: GameError: it cannot be made."""
        self._game_id, self._answer_seconds = game_id, answer_seconds
        self._arguments = (game_id, make, options)
        self._factors: tuple[int, ...] = ()
        self._due: Due | None = None
        self._start()

    def play_in(self, factors: tuple[int, ...]) -> None:
        self._factors = factors
        self._ask("play_in", factors)

    def reset(self, seed: int) -> Due:
        due: Due = self._ask("reset", seed)
        return due

    def step(self, actions: Sequence[Any], due: Due) -> Outcome:
        # One question a step: the outcome comes with what is due next.
        outcome: Outcome
        outcome, self._due = self._ask("play", list(actions), due.seats)
        return outcome

    def due(self) -> Due:
        if self._due is None:
            raise GameContractError(f"{self._game_id}: nobody is to decide, and the episode is not over")
        return self._due

    def restart(self) -> None:
        self.close()
        self._start()
        self._ask("play_in", self._factors)

    def close(self) -> None:
        if self._process.is_alive():
            self._process.kill()
        self._process.join()
        self._pipe.close()

    def _start(self) -> None:
        # Not a fork: the caller's threads and locks stay behind.
        context = multiprocessing.get_context("spawn")
        self._pipe, theirs = context.Pipe()
        self._process = context.Process(target=_serve, args=(theirs, *self._arguments), daemon=True)
        self._process.start()
        theirs.close()
        self.spec: TableSpec = self._receive("be made", GameError)

    def _ask(self, what: str, *arguments: Any) -> Any:
        try:
            self._pipe.send((what, arguments))
        except OSError as error:
            raise GameContractError(f"{self._game_id}: its process is gone: {error}") from error
        return self._receive(what, GameContractError)

    def _receive(self, what: str, kind: type[GameError]) -> Any:
        if not self._pipe.poll(self._answer_seconds):
            raise kind(f"{self._game_id} did not {what} within {self._answer_seconds:.0f} s")
        try:
            fine, answer = self._pipe.recv()
        except (EOFError, OSError) as error:
            self._process.join(1.0)
            raise kind(
                f"{self._game_id}: its process ended with exit code {self._process.exitcode} during {what}"
            ) from error
        if not fine:
            raise kind(answer)
        return answer


def _serve(pipe: Connection, game_id: str, make: Callable[[], Any], options: TableOptions) -> None:
    """Answers until the pipe is closed."""
    try:
        table = Table(game_id, make, options)
        pipe.send((True, table.spec))
    except GameError as error:
        pipe.send((False, str(error)))
        return
    while True:
        try:
            what, arguments = pipe.recv()
        except (EOFError, OSError):
            return
        try:
            if what == "play":
                actions, seats = arguments
                outcome = table.step(actions, Due(seats, [], []))
                answer: Any = (outcome, None if outcome.ended else table.due())
            else:
                answer = getattr(table, what)(*arguments)
            pipe.send((True, answer))
        except GameError as error:
            pipe.send((False, str(error)))
