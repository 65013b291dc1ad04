"""Games between people and players: their moves as they are made."""

from __future__ import annotations

import secrets
from dataclasses import dataclass
from typing import Any

from league.errors import ConflictError, NotFoundError
from league.store.models import EpisodeRow, PlayRow
from league.store.repositories.runs import find_run
from league.store.session import Database


@dataclass(frozen=True)
class PlayRecord:
    """One game. `state`: playing or over. `bot`, `checkpoint`: the opponent as it was at the beginning."""

    id: str
    run_id: str
    player: str
    bot: str | None
    checkpoint: str | None
    human: str
    seat: int
    seed: int
    rated: bool
    state: str
    actions: tuple[int, ...]
    seats: tuple[int, ...]
    returns: tuple[float, ...] | None

    @property
    def seated(self) -> tuple[str, str]:
        """Who sits where."""
        return (self.human, self.player) if self.seat == 0 else (self.player, self.human)


class PlayRepository:
    """Games of every run."""

    def __init__(self, database: Database) -> None:
        self._database = database

    def add(
        self,
        run_id: str,
        player: str,
        bot: str | None,
        checkpoint: str | None,
        human: str,
        seat: int,
        seed: int,
        rated: bool,
        actor: str,
    ) -> PlayRecord:
        """Begins one. Raises: NotFoundError: no such run."""
        with self._database.write() as session:
            find_run(session, run_id)
            row = PlayRow(
                id=secrets.token_hex(8),
                run_id=run_id,
                player=player,
                bot=bot,
                checkpoint=checkpoint,
                human=human,
                seat=seat,
                seed=seed,
                rated=int(rated),
                state="playing",
                actions=[],
                seats=[],
                actor=actor,
                at=self._database.now(session),
            )
            session.add(row)
            session.flush()
            return _record(row)

    def get(self, play_id: str) -> PlayRecord:
        """Raises: NotFoundError."""
        with self._database.read() as session:
            row = session.get(PlayRow, play_id)
            if row is None:
                raise NotFoundError(f"no game {play_id!r}")
            return _record(row)

    def keep(self, play_id: str, known: int, actions: tuple[int, ...], seats: tuple[int, ...]) -> PlayRecord:
        """Writes the moves down.

        Args:
          known: how many there were when these were thought of.

        Raises:
          ConflictError: somebody else has moved since.
        """
        with self._database.write() as session:
            row = session.get(PlayRow, play_id, with_for_update=True)
            if row is None:
                raise NotFoundError(f"no game {play_id!r}")
            if len(row.actions) != known or row.state != "playing":
                raise ConflictError("this game has moved on in another window; reload it")
            row.actions, row.seats = list(actions), list(seats)
            return _record(row)

    def finish(self, play_id: str, returns: tuple[float, ...], moves: list[dict[str, Any]]) -> bool:
        """Ends one and keeps it with the run's games; False: it was over already."""
        with self._database.write() as session:
            row = session.get(PlayRow, play_id, with_for_update=True)
            if row is None or row.state != "playing":
                return False
            row.state, row.returns = "over", list(returns)
            seated = list(_record(row).seated)
            session.add(
                EpisodeRow(
                    run_id=row.run_id,
                    at=self._database.now(session),
                    series=-1,
                    players=seated,
                    returns=list(returns),
                    length=len(moves),
                    moves=moves,
                )
            )
            return True


def _record(row: PlayRow) -> PlayRecord:
    return PlayRecord(
        row.id,
        row.run_id,
        row.player,
        row.bot,
        row.checkpoint,
        row.human,
        row.seat,
        row.seed,
        bool(row.rated),
        row.state,
        tuple(row.actions),
        tuple(row.seats),
        None if row.returns is None else tuple(row.returns),
    )
