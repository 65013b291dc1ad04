"""Positions of games as something to look at: grids of cells where the game has a board, text elsewhere.

Positions come from OpenSpiel, in its own notation, so a native game needs a twin there. Games with chance
or simultaneous moves cannot be played again from their moves alone; of them only the moves are shown.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import pyspiel

from envs.spec import GameSpec

ROWS = re.compile(r"^\s*\d{1,2} ?((?:[A-Za-z.+\-*]\s?)+?)\s*\d{0,2}\s*$")
EMPTY = frozenset(".+-")
# What a cell holds, by game, as the page draws it: the first player's pieces, the second's.
SIDES = {"connect_four": "xo", "tic_tac_toe": "xo", "breakthrough": "bw", "othello": "xo", "go": "XO"}


@dataclass(frozen=True)
class Position:
    """One position: `rows` × `columns` cells, row by row, each empty or a piece; or text alone.

    `pieces` is how cells are drawn: discs, letters or chess. `targets`: for each legal action the cell that
    stands for it, where one does. `names`: what each legal action is called.
    """

    kind: str
    text: str
    rows: int
    columns: int
    cells: tuple[str, ...]
    pieces: str
    turn: int | None
    targets: dict[int, int]
    names: dict[int, str]


class Board:
    """Plays a game's moves again and looks at every position."""

    def __init__(self, spec: GameSpec) -> None:
        """A game without a board has no positions: see `has_positions`."""
        self._game: Any = None
        if spec.openspiel_id is not None and spec.turn_based:
            game = pyspiel.load_game(spec.openspiel_id)
            if game.get_type().chance_mode == pyspiel.GameType.ChanceMode.DETERMINISTIC:
                self._game, self._name = game, game.get_type().short_name

    @property
    def has_positions(self) -> bool:
        return self._game is not None

    def positions(self, actions: Sequence[int]) -> list[Position]:
        """Returns the position before each move, and the last; as far as the moves are possible."""
        if self._game is None:
            return []
        state = self._game.new_initial_state()
        found = [self._position(state)]
        for action in actions:
            if state.is_terminal() or action not in state.legal_actions():
                break
            state.apply_action(action)
            found.append(self._position(state))
        return found

    def _position(self, state: Any) -> Position:
        text = str(state)
        over = state.is_terminal()
        turn = None if over else int(state.current_player())
        legal = [] if over else state.legal_actions()
        names = {a: state.action_to_string(turn, a) for a in legal}
        cells = self._cells(text)
        if cells is None:
            return Position("text", text, 0, 0, (), "letters", turn, {}, names)
        rows, columns = len(cells), len(cells[0])
        flat = tuple("" if c in EMPTY else c for row in cells for c in row)
        pieces = "discs" if self._name in SIDES else "chess" if self._name == "chess" else "letters"
        if self._name in SIDES:
            sides = SIDES[self._name]
            flat = tuple({sides[0]: "first", sides[1]: "second"}.get(c, c) for c in flat)
        targets = {a: t for a in legal if (t := self._target(a, rows, columns, flat, names[a])) is not None}
        return Position("grid", text, rows, columns, flat, pieces, turn, targets, names)

    def _cells(self, text: str) -> list[str] | None:
        if self._name == "chess":
            board = text.split(" ")[0]
            return [re.sub(r"\d", lambda m: "." * int(m[0]), row) for row in board.split("/")]
        if self._name in ("connect_four", "tic_tac_toe"):
            rows = [line for line in text.splitlines() if line and set(line) <= set(".xo")]
        else:
            rows = [m[1].replace(" ", "") for line in text.splitlines() if (m := ROWS.match(line))]
        fine = len(rows) > 1 and len({len(row) for row in rows}) == 1
        return rows if fine else None

    def _target(self, action: int, rows: int, columns: int, cells: tuple[str, ...], name: str) -> int | None:
        if self._name == "connect_four":  # where the disc will come to lie
            empty = [k for k in range(action, rows * columns, columns) if not cells[k]]
            return empty[-1] if empty else None
        if self._name == "tic_tac_toe":
            return action
        match = re.fullmatch(r"(?:[BWbw] )?([a-z])(\d{1,2})", name.strip())
        if match is None:
            return None
        letters = "abcdefghjklmnopqrstuvwxyz" if self._name == "go" else "abcdefghijklmnopqrstuvwxyz"
        column, number = letters.index(match[1]), int(match[2])
        row = number - 1 if self._name == "othello" else rows - number
        cell = row * columns + column
        return cell if 0 <= row < rows and 0 <= column < columns else None
