"""A person against a player: one game at a time, its moves in the database, its position nowhere else.

Every request plays the game again from its seed and its moves, so that any server can answer and none need
remember. When a game is over it is kept like those that are written down of the league's own; a rated one
also becomes a result of the run, whose owner takes it in like any other.
"""

from __future__ import annotations

import re
import secrets
from collections.abc import Sequence
from dataclasses import asdict, dataclass, field, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from league.control.access import Principal
from league.control.steering import ControlService
from league.errors import BadRequestError, ConflictError
from league.store.repositories.pages import LeaguePages
from league.store.repositories.plays import PlayRecord, PlayRepository
from league.store.session import Database

if TYPE_CHECKING:
    from league.serving.boards import Position

NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,39}")
PREFIX = "human."
HINT_ROWS = 8


@dataclass(frozen=True)
class PlayView:
    """A game as the person sees it: `position` where it has a board, `last` the action that led to it."""

    play: PlayRecord
    over: bool
    your_turn: bool
    legal: tuple[int, ...]
    names: dict[int, str]
    position: Position | None
    last: int | None
    result: str | None


@dataclass
class _Table:
    game: Any
    policy: Any
    spec: Any
    over: bool = False
    returns: tuple[float, ...] = ()
    chance: list[list[int]] = field(default_factory=list)
    line: list[int] = field(default_factory=list)
    # What the player's network remembers in each seat: the person's as well, for hints.
    memory_by_seat: dict[int, Any] = field(default_factory=dict)


class PlayService:
    """Games between people and players."""

    def __init__(self, database: Database, checkpoint_url: str, control: ControlService) -> None:
        self._plays = PlayRepository(database)
        self._pages = LeaguePages(database)
        self._checkpoint_url = checkpoint_url
        self._control = control

    def reason_not_to_play(self, run_id: str) -> str | None:
        """Returns why people cannot play a run's game, None when they can. Raises: NotFoundError."""
        from league.config.sides import spec_of

        spec = spec_of(self._pages.game(run_id))
        if not spec.turn_based or spec.num_seats != 2 or len(spec.sides) != 2:
            return f"People play games of two that take turns; {spec.game_id} is not one."
        if len(spec.action_factors) != 1:
            return f"An action of {spec.game_id} has several parts, for which there is no board here yet."
        return None

    def positions(self, run_id: str, moves: Sequence[dict[str, Any]]) -> list[dict[str, Any]]:
        """Returns the position before each move and the last, for games that have a board. NotFoundError."""
        from league.config.sides import spec_of
        from league.serving.boards import Board

        board = Board(spec_of(self._pages.game(run_id)))
        chance = [move.get("chance", ()) for move in moves]
        return [position_as_json(p) for p in board.positions([m["action"] for m in moves], chance)]

    def begin(self, run_id: str, player: str, human: str, seat: int, rated: bool, by: Principal) -> PlayView:
        """Sits somebody down against a player.

        Args:
          human: a name; in the run it is `human.NAME`. seat: theirs. rated: the result counts.

        Raises:
          NotFoundError. BadRequestError: a name or a seat that cannot be. ConflictError: not such a game.
        """
        from league.config.sides import spec_of

        if not NAME.fullmatch(human):
            raise BadRequestError("name: 1 to 40 letters, digits and . _ -, beginning with a letter or digit")
        record = self._pages.player(run_id, player)
        if reason := self.reason_not_to_play(run_id):
            raise ConflictError(reason)
        spec = spec_of(self._pages.game(run_id))
        if record.bot == "human":
            raise ConflictError(f"{player} is a person; choose a player of the pool")
        if not 0 <= seat < spec.num_seats:
            raise BadRequestError(f"seat: 0 to {spec.num_seats - 1}")
        sha = record.learner_state if record.state == "learning" else record.checkpoint
        weights = self._control.sources.weights_of(record) if sha is not None else None
        play = self._plays.add(
            run_id,
            player,
            record.bot,
            weights,
            f"{PREFIX}{human}",
            seat,
            secrets.randbelow(2**31),
            rated,
            by.name,
        )
        return self._go_on(play)

    def get(self, play_id: str) -> PlayView:
        """Returns a game as it stands. Raises: NotFoundError."""
        return self._go_on(self._plays.get(play_id))

    def move(self, play_id: str, action: int) -> PlayView:
        """Plays the person's move and the player's answer.

        Raises:
          NotFoundError. ConflictError: it is over. BadRequestError: the action is not legal.
        """
        play = self._plays.get(play_id)
        table, legal = self._seated(play)
        if table.over or play.state != "playing":
            raise ConflictError("this game is over")
        if action not in legal:
            raise BadRequestError(f"action {action} is not legal here; legal: {', '.join(map(str, legal))}")
        table.game.close()
        return self._go_on(play, action)

    def resign(self, play_id: str) -> PlayView:
        """Gives a game up; a rated one is lost."""
        play = self._plays.get(play_id)
        if play.state != "playing":
            raise ConflictError("this game is over")
        returns = tuple(-1.0 if seat == play.seat else 1.0 for seat in (0, 1))
        self._finish(play, returns, [])
        return self.get(play_id)

    def undo(self, play_id: str) -> PlayView:
        """Takes the person's last move back. Raises: ConflictError: rated, over, or there is none."""
        play = self._plays.get(play_id)
        if play.rated or play.state != "playing":
            raise ConflictError("moves of rated or finished games cannot be taken back")
        turns = [k for k, seat in enumerate(play.seats) if seat == play.seat]
        if not turns:
            raise ConflictError("there is no move to take back yet")
        kept = self._plays.keep(
            play.id, len(play.actions), play.actions[: turns[-1]], play.seats[: turns[-1]]
        )
        return self._go_on(kept)

    def hint(self, play_id: str) -> dict[str, Any]:
        """Returns what the player would do in the person's place. Raises: ConflictError: rated, or over."""
        from agents.acting.policy import NetworkPolicy, probabilities

        play = self._plays.get(play_id)
        if play.rated:
            raise ConflictError("rated games give no hints")
        table, legal = self._seated(play)
        if table.over or not legal:
            raise ConflictError("this game is over")
        turns = table.game.turns()
        policy, factors = table.policy, table.spec.action_factors
        if not isinstance(policy, NetworkPolicy) or len(factors) != 1:
            action = int(policy.act(table.game, turns.env, turns.legal, np.random.default_rng(0))[0])
            return {"probabilities": {str(action): 1.0}, "value": None}
        heads = _asked(table, turns)[0]
        chances = probabilities(heads[:, :-1], turns.legal)[0]
        result = {str(a): round(float(chances[a]), 4) for a in legal}
        return {"probabilities": result, "value": round(float(heads[0, -1]), 4)}

    def _go_on(self, play: PlayRecord, action: int | None = None) -> PlayView:
        """Plays until it is the person's turn or over, and returns what they see."""
        table, legal = self._seated(play)
        actions, seats = list(play.actions), list(play.seats)
        rng = np.random.default_rng([play.seed, len(actions)])
        while not table.over and play.state == "playing":
            turns = table.game.turns()
            seat = int(turns.seat[0])
            if seat == play.seat:
                if action is None:
                    break
                chosen, action = action, None
            else:
                chosen = self._answer(table, turns, rng)
            actions.append(chosen)
            seats.append(seat)
            self._step(table, chosen)
        if len(actions) > len(play.actions):
            play = self._plays.keep(play.id, len(play.actions), tuple(actions), tuple(seats))
        if table.over and play.state == "playing":
            self._finish(play, table.returns, self._moves(play, table.chance))
            play = self._plays.get(play.id)
        if not table.over and play.state == "playing":
            turns = table.game.turns()
            legal = np.flatnonzero(turns.legal[0]).tolist() if len(table.spec.action_factors) == 1 else []
        else:
            legal = []
        position = self._seen(table, play)
        names = position.names if position else {a: str(a) for a in legal}
        table.game.close()
        return PlayView(
            play,
            play.state != "playing",
            bool(legal),
            tuple(legal),
            names,
            position,
            play.actions[-1] if play.actions else None,
            _result(play),
        )

    def _seen(self, table: _Table, play: PlayRecord) -> Position | None:
        """Returns the position as the person sees it."""
        from league.serving.boards import Board

        board = Board(table.spec)
        if play.state == "playing" and not table.over and table.spec.openspiel_id is not None:
            return board.position_for(table.game.histories(np.array([0]))[0], play.seat)
        positions = board.positions(play.actions, table.chance)
        return positions[-1] if positions else None

    def _seated(self, play: PlayRecord) -> tuple[_Table, list[int]]:
        """Returns the game as its moves have left it, and what is legal."""
        import torch

        import envs
        from league.store.checkpoints import CheckpointStore
        from league.store.policies import load_policy

        game = envs.make(self._pages.game(play.run_id), 1, play.seed)
        policy = load_policy(
            CheckpointStore(self._checkpoint_url),
            game.spec,
            bot=play.bot,
            checkpoint=play.checkpoint,
            seed=play.seed,
            dtype=torch.float32,
        )
        table = _Table(game, policy, game.spec)
        for action in play.actions:
            self._step(table, action)
        if table.over or play.state != "playing":
            return table, []
        return table, np.flatnonzero(game.turns().legal[0]).tolist()

    def _answer(self, table: _Table, turns: Any, rng: np.random.Generator) -> int:
        from agents.acting.policy import NetworkPolicy, probabilities

        if not isinstance(table.policy, NetworkPolicy):
            return int(table.policy.act(table.game, turns.env, turns.legal, rng)[0])
        heads = _asked(table, turns)[0]
        if len(table.spec.action_factors) != 1:
            raise ConflictError("people can play only games whose actions have one part")
        chances = probabilities(heads[:, :-1], turns.legal)[0]
        return int(rng.choice(len(chances), p=chances))

    def _step(self, table: _Table, action: int) -> None:
        if getattr(table.policy, "memory_size", 0):
            turns = table.game.turns()
            table.memory_by_seat[int(turns.seat[0])] = _asked(table, turns)[1]
        if table.spec.openspiel_id is not None:
            so_far = table.game.histories(np.array([0]))[0]
            table.chance.append(so_far[len(table.line) :])
            table.line = [*so_far, action]
        step = table.game.step(np.array([action]))
        if step.ended[0]:
            table.over = True
            table.returns = tuple(float(x) for x in step.returns[0])

    def _moves(self, play: PlayRecord, chance: Sequence[list[int]] = ()) -> list[dict[str, Any]]:
        names = play.seated
        moves: list[dict[str, Any]] = [
            {"seat": seat, "player": names[seat], "action": action}
            for seat, action in zip(play.seats, play.actions, strict=True)
        ]
        for move, drawn in zip(moves, chance, strict=False):  # a game given up has none
            if drawn:
                move["chance"] = drawn
        return moves

    def _finish(self, play: PlayRecord, returns: tuple[float, ...], moves: list[dict[str, Any]]) -> None:
        moves = moves or self._moves(play)
        if not self._plays.finish(play.id, returns, moves):
            return  # another server was faster
        if play.rated:
            by = Principal(play.human, self._control.human_scope)
            data = {"players": list(play.seated), "returns": list(returns), "moves": len(play.actions)}
            self._control.enqueue(play.run_id, "played", play.human, data, by)


def _asked(table: _Table, turns: Any) -> tuple[Any, Any]:
    """Returns logits and value, [1, A + 1], and what the network then remembers in this seat, [1, M]."""
    nothing = np.zeros((1, table.policy.memory_size), np.float32)
    memory = table.memory_by_seat.get(int(turns.seat[0]), nothing)
    rows = (np.repeat(x, HINT_ROWS, axis=0) for x in (turns.obs.reshape(1, -1), memory))
    heads, after = table.policy.step(*rows)
    return heads[:1], after[:1]


def _result(play: PlayRecord) -> str | None:
    if play.returns is None:
        return None
    mine, theirs = play.returns[play.seat], play.returns[1 - play.seat]
    return "won" if mine > theirs else "lost" if mine < theirs else "drawn"


def view_as_json(view: PlayView) -> dict[str, Any]:
    """Returns a game as the API shows it."""
    p = view.play
    return {
        "id": p.id,
        "run": p.run_id,
        "player": p.player,
        "you": p.human,
        "seat": p.seat,
        "rated": p.rated,
        "moves": len(p.actions),
        "over": view.over,
        "your_turn": view.your_turn,
        "legal": list(view.legal),
        "names": {str(a): n for a, n in view.names.items()},
        "position": None if view.position is None else position_as_json(view.position),
        "last": view.last,
        "result": view.result,
        "returns": None if p.returns is None else list(p.returns),
    }


def position_as_json(position: Position) -> dict[str, Any]:
    """Returns a position as pages draw it."""
    data = asdict(replace(position, targets={}, names={}))
    data["targets"] = {str(a): cell for a, cell in position.targets.items()}
    data["names"] = {str(a): name for a, name in position.names.items()}
    return data
