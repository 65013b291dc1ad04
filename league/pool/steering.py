"""What people may do to a league's players, and what must hold for it.

A command is checked and carried out by the one process that owns the run, between two results; what needs
a learner becomes an order to it, and the command is done when the order is.
"""

from __future__ import annotations

import re
from dataclasses import replace
from typing import Any, Protocol

from league.config.explain import nearest
from league.config.players import PlayerConfig
from league.errors import SteeringError
from league.pool.orders import (
    BeginOrder,
    Carried,
    FreezeOrder,
    Order,
    ResumeOrder,
    RollbackOrder,
    SnapshotOrder,
)
from league.pool.records import HUMAN, CommandRecord, PlayerRecord
from matchmaking.records import State

NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._@:+-]{0,99}")
MOST_PLAYERS = 100_000


class SteeredLeague(Protocol):
    """What of a league steering needs; see `league.pool.manager.LeagueManager`."""

    players: dict[str, PlayerRecord]
    orders: dict[str, Order]

    @property
    def roster_names(self) -> list[str]: ...

    def entry(self, player: str) -> PlayerConfig: ...

    def add(self, player: PlayerRecord) -> None: ...

    def put(self, player: PlayerRecord) -> None: ...

    def add_copy(self, player: PlayerRecord, source: str) -> None: ...

    def become_copy(self, player: str, source: str) -> None: ...

    def require_others_to_play(self, name: str) -> None: ...

    def record_played(self, players: tuple[str, ...], returns: tuple[float, ...], moves: int) -> None: ...

    def extend_roster(self, entry: dict[str, Any]) -> str: ...

    def shrink_roster(self) -> None: ...

    def note(
        self, kind: str, player: str | None = None, *, actor: str | None = None, **data: Any
    ) -> None: ...


class Steering:
    """Carries commands out on one league.

    Attributes:
      finished: commands done or refused since the last write.
      entries: roster entries that commands have added since the last write.
    """

    def __init__(self, league: SteeredLeague) -> None:
        self._league = league
        self._waiting: dict[str, CommandRecord] = {}
        self.finished: list[CommandRecord] = []
        self.entries: list[dict[str, Any]] = []

    @property
    def under_way(self) -> set[int]:
        """Ids of the commands that wait for a learner."""
        return {command.id for command in self._waiting.values()}

    @property
    def roster_is_growing(self) -> bool:
        """Whether somebody is about to begin to learn: the config in memory is ahead of the stored one."""
        return any(isinstance(order, BeginOrder) for order in self._league.orders.values())

    def begin(self, command: CommandRecord) -> Order | None:
        """Carries a command out, or returns the order to a learner that will.

        A command whose player is busy with an order is left for later: it is neither finished nor under way.
        """
        if command.player in self._league.orders or (self.roster_is_growing and "entry" in command.data):
            return None
        try:
            order = self._carry_out(command)
        except SteeringError as error:
            self._finish(command, error=str(error))
            return None
        if order is None:
            self._finish(command)
            return None
        self._league.orders[order.player] = order
        self._waiting[order.player] = command
        return order

    def renewed(self, order: Order) -> Order:
        """Returns an order as it is to be handed out: weights of somebody who learns are soon gone."""
        command = self._waiting.get(order.player)
        if not isinstance(order, BeginOrder) or command is None:
            return order
        source = self._league.players[command.player]
        if source.state != "learning" or source.learner_state is None:
            return order
        order = replace(order, weights=source.learner_state)
        self._league.orders[order.player] = order
        return order

    def carried(self, done: Carried) -> None:
        """Takes in what came of an order."""
        league, order = self._league, done.order
        command = self._waiting.pop(order.player, None)
        if league.orders.pop(order.player, None) is None or command is None:
            return
        if done.state is None or done.checkpoint is None:
            if isinstance(order, BeginOrder):
                league.shrink_roster()
                if done.gone and league.players[command.player].state == "learning":
                    return  # its source has moved on; the command waits, and names newer weights next time
            self._finish(command, error=done.error)
            return
        if isinstance(order, BeginOrder):
            self._began(command, done)
        else:
            player = league.players[order.player]
            player = replace(player, steps=done.steps, learner_state=done.state)
            if isinstance(order, FreezeOrder):
                state: State = "retired" if command.kind == "retire" else "frozen"
                league.put(replace(player, state=state, checkpoint=done.checkpoint))
            elif isinstance(order, ResumeOrder):
                league.put(replace(player, state="learning", checkpoint=None))
            else:
                league.put(replace(player, generation=order.next_generation, snapshot_steps=done.steps))
                league.become_copy(order.player, command.data["source"])
        self._finish(command)

    def snapshot_taken(self, order: SnapshotOrder) -> None:
        """Notes that a copy somebody asked for is in the pool."""
        command = self._waiting.pop(order.player, None)
        if command is not None:
            self._finish(command)

    def _carry_out(self, command: CommandRecord) -> Order | None:
        if command.kind == "add":
            self._add(command)
            return None
        if command.kind == "played":
            self._played(command)
            return None
        player = self._league.players.get(command.player)
        if player is None:
            hint = nearest(command.player, list(self._league.players))
            raise SteeringError(f"no player {command.player!r}{hint}")
        kinds = {
            "describe": self._describe,
            "freeze": self._freeze,
            "unfreeze": self._unfreeze,
            "retire": self._retire,
            "pin": self._pin,
            "unpin": self._unpin,
            "rollback": self._roll_back,
            "branch": self._branch,
        }
        if command.kind not in kinds:
            raise SteeringError(f"unknown command {command.kind!r}; known: add, {', '.join(kinds)}")
        return kinds[command.kind](command, player)

    def _add(self, command: CommandRecord) -> None:
        """data: bot, or checkpoint and perhaps steps, parent."""
        self._require_new(command.player)
        data = command.data
        self._league.add(
            PlayerRecord(
                command.player,
                "guest",
                "frozen",
                bot=data.get("bot"),
                checkpoint=data.get("checkpoint"),
                steps=data.get("steps", 0),
                label=data.get("label"),
                tags=tuple(data.get("tags", ())),
            )
        )

    def _played(self, command: CommandRecord) -> None:
        """data: players and returns by seat, moves: a person's rated game; they join with their first."""
        human, players = command.player, command.data["players"]
        if human not in self._league.players:
            self._require_new(human)
            self._league.add(PlayerRecord(human, "guest", "frozen", bot=HUMAN))
        missing = [p for p in players if p not in self._league.players]
        if missing or self._league.players[human].bot != HUMAN:
            raise SteeringError(f"no player {', '.join(missing) or human}")
        self._league.record_played(tuple(players), tuple(command.data["returns"]), int(command.data["moves"]))

    def _describe(self, command: CommandRecord, player: PlayerRecord) -> None:
        """data: label, tags."""
        if "label" in command.data:
            player = replace(player, label=command.data["label"])
        if "tags" in command.data:
            player = replace(player, tags=tuple(command.data["tags"]))
        self._league.put(player)

    def _freeze(self, command: CommandRecord, player: PlayerRecord) -> Order:
        if player.state != "learning":
            raise SteeringError(f"{player.name} does not learn: it is {player.state}")
        return FreezeOrder(player.name)

    def _unfreeze(self, command: CommandRecord, player: PlayerRecord) -> Order:
        if player.state != "frozen":
            raise SteeringError(f"{player.name} is {player.state}, not frozen")
        if player.name not in self._league.roster_names or player.learner_state is None:
            raise SteeringError(
                f"{player.name} has never learnt in this run, so there is no optimiser state to go on with; "
                "branch it with learn: true"
            )
        return ResumeOrder(player.name, player.learner_state)

    def _retire(self, command: CommandRecord, player: PlayerRecord) -> Order | None:
        if player.state == "retired":
            raise SteeringError(f"{player.name} is retired already")
        self._league.require_others_to_play(player.name)
        if player.state == "learning":
            return FreezeOrder(player.name)
        self._league.put(replace(player, state="retired"))
        return None

    def _pin(self, command: CommandRecord, player: PlayerRecord) -> None:
        if player.state != "frozen" or player.name in self._league.roster_names:
            raise SteeringError(
                f"{player.name} must be frozen for good to be an anchor: pin a snapshot of it"
            )
        if player.role == "anchor":
            raise SteeringError(f"{player.name} is an anchor already")
        self._league.put(replace(player, role="anchor"))

    def _unpin(self, command: CommandRecord, player: PlayerRecord) -> None:
        if player.role != "anchor":
            raise SteeringError(f"{player.name} is no anchor")
        self._league.put(replace(player, role="historical" if player.parent_role else "guest"))

    def _roll_back(self, command: CommandRecord, player: PlayerRecord) -> Order:
        """data: source, a player with a checkpoint."""
        source = self._league.players.get(str(command.data.get("source")))
        if player.state != "learning":
            raise SteeringError(f"{player.name} does not learn: it is {player.state}")
        if source is None or source.checkpoint is None:
            own = [p.name for p in self._league.players.values() if p.parent == player.name and p.checkpoint]
            raise SteeringError(
                f"{command.data.get('source')!r} has no weights to go back to; "
                f"snapshots of {player.name}: {', '.join(own) or 'none yet'}"
            )
        return RollbackOrder(player.name, source.checkpoint, player.generation + 1)

    def _branch(self, command: CommandRecord, player: PlayerRecord) -> Order | None:
        """data: name, for a copy that stays as it is; or entry, of the roster, for one that learns."""
        league, entry = self._league, command.data.get("entry")
        if entry is not None:
            weights = player.learner_state if player.state == "learning" else player.checkpoint
            if weights is None:
                raise SteeringError(f"{player.name} has no weights to learn from")
            return BeginOrder(league.extend_roster(entry), weights)
        if player.state == "learning":
            name = command.data.get("name") or f"{player.name}.v{player.snapshots + 1}"
            self._require_new(name)
            return SnapshotOrder(player.name, name, player.generation, player.generation)
        name = str(command.data.get("name"))
        self._require_new(name)
        copy = PlayerRecord(
            name,
            "guest",
            "frozen",
            parent=player.name,
            bot=player.bot,
            checkpoint=player.checkpoint,
            steps=player.steps,
        )
        league.add_copy(copy, player.name)
        return None

    def _began(self, command: CommandRecord, done: Carried) -> None:
        league, source = self._league, command.player
        entry = league.entry(done.order.player)
        self.entries.append(command.data["entry"])
        league.add_copy(
            PlayerRecord(
                done.order.player,
                entry.role,
                "learning",
                parent=source,
                initial_checkpoint=done.checkpoint,
                learner_state=done.state,
            ),
            source,
        )

    def _require_new(self, name: str) -> None:
        if not NAME.fullmatch(name):
            raise SteeringError(
                f"name {name!r}: 1 to 100 letters, digits and . _ @ : + -, beginning with a letter or digit"
            )
        if name in self._league.players:
            raise SteeringError(f"there is a player {name!r} already")
        if len(self._league.players) >= MOST_PLAYERS:
            raise SteeringError(f"a league holds {MOST_PLAYERS:,} players at most; retired ones count")

    def _finish(self, command: CommandRecord, error: str | None = None) -> None:
        self.finished.append(replace(command, state="failed" if error else "done", error=error))
        if error is None:
            data = {k: v for k, v in command.data.items() if k != "entry"}
            self._league.note(EVENTS[command.kind], command.player, actor=command.actor, **data)


EVENTS = {
    "add": "added",
    "played": "played_by_hand",
    "describe": "described",
    "freeze": "frozen",
    "unfreeze": "unfrozen",
    "retire": "retired",
    "pin": "pinned",
    "unpin": "unpinned",
    "rollback": "rolled_back_by_hand",
    "branch": "branched",
}
