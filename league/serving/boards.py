"""Positions of games as something to look at: grids of cells where the game has a board, text elsewhere.

Positions come from OpenSpiel, in its own notation, so a native game needs a twin there. Games with chance
are played again with the chance that was written down; of games with simultaneous moves only the moves are
shown.
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
    """One position: a grid of `rows` × `columns` cells, row by row, each empty or a piece; hands; or text.

    `hands`: each seat's cards, "?" where they are not to be seen; `table`: those that lie open. `pieces` is
    how cells are drawn: discs, letters or chess. `targets`: for each legal action the cell that stands for
    it, where one does. `names`: what each legal action is called.
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
    hands: tuple[tuple[str, ...], ...] = ()
    table: tuple[str, ...] = ()


class Board:
    """Plays a game's moves again and looks at every position."""

    def __init__(self, spec: GameSpec) -> None:
        """A game without a board has no positions."""
        self._game: Any = None
        if spec.openspiel_id is not None and spec.turn_based:
            game = pyspiel.load_game(spec.openspiel_id)
            if game.get_type().chance_mode != pyspiel.GameType.ChanceMode.SAMPLED_STOCHASTIC:
                self._game, self._name = game, game.get_type().short_name

    def positions(self, actions: Sequence[int], chance: Sequence[Sequence[int]] = ()) -> list[Position]:
        """Returns the position before each move, and the last; as far as the moves are possible.

        Args:
          chance: what chance did before each move.
        """
        if self._game is None:
            return []
        state = self._game.new_initial_state()
        result: list[Position] = []
        for k, action in enumerate(actions):
            for drawn in chance[k] if k < len(chance) else ():
                if not state.is_chance_node() or drawn not in state.legal_actions():
                    return result
                state.apply_action(drawn)
            if state.is_terminal() or state.is_chance_node() or action not in state.legal_actions():
                return result
            result.append(self._position(state))
            state.apply_action(action)
        if not state.is_chance_node():
            result.append(self._position(state))
        return result

    def position_for(self, history: Sequence[int], seat: int) -> Position | None:
        """Returns a position as one seat sees it, None where there is no telling.

        Args:
          history: every action since the start, chance included.
        """
        if self._game is None:
            return None
        state = self._game.new_initial_state()
        for action in history:
            if action not in state.legal_actions():
                return None
            state.apply_action(action)
        if state.is_chance_node():
            return None
        position = self._position(state)
        kind = self._game.get_type()
        if state.is_terminal() or kind.information == pyspiel.GameType.Information.PERFECT_INFORMATION:
            return position
        hands = tuple(hand if k == seat else ("?",) * len(hand) for k, hand in enumerate(position.hands))
        text = state.information_state_string(seat) if kind.provides_information_state_string else ""
        # Nothing of the whole position is left but what is this seat's: a board may show what is hidden.
        kept = "hands" if hands else "text"
        return Position(
            kept, text, 0, 0, (), "letters", position.turn, {}, position.names, hands, position.table
        )

    def _position(self, state: Any) -> Position:
        text = str(state)
        over = state.is_terminal()
        hands, table = cards(self._name, text)
        turn = None if over else int(state.current_player())
        legal = [] if over else state.legal_actions()
        names = {a: state.action_to_string(turn, a) for a in legal}
        if hands:
            return Position("hands", text, 0, 0, (), "letters", turn, {}, names, hands, table)
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


def cards(game: str, text: str) -> tuple[tuple[tuple[str, ...], ...], tuple[str, ...]]:
    """Returns (each seat's cards, those on the table) out of a poker game's notation; nothing elsewhere."""
    if game == "kuhn_poker":
        dealt = re.match(r"\d+(?: \d+)*", text)
        numbers = [int(n) for n in dealt[0].split()] if dealt else []
        names = "JQK" if len(numbers) <= 2 else "TJQKA"
        return tuple((names[n] if n < len(names) else str(n),) for n in numbers), ()
    if game == "leduc_poker":
        result = re.search(r"Cards \(public[^)]*\): ([-\d ]+)", text)
        numbers = [int(n) for n in result[1].split()] if result else []
        names = "JQK" if len(numbers) <= 3 else "TJQKA"  # a rank more for each player above two
        named = [names[n // 2] + "♠♥"[n % 2] if 0 <= n < 2 * len(names) else "" for n in numbers]
        return tuple((name,) for name in named[1:] if name), tuple(name for name in named[:1] if name)
    if game == "universal_poker":
        hands = [result[1] for result in re.finditer(r"P\d+ Cards: (\w*)", text)]
        table = re.search(r"BoardCards (\w*)", text)
        return tuple(_pairs(hand) for hand in hands), _pairs(table[1] if table else "")
    return (), ()


def _pairs(text: str) -> tuple[str, ...]:
    suits = {"s": "♠", "h": "♥", "d": "♦", "c": "♣"}
    return tuple(text[k] + suits.get(text[k + 1], text[k + 1]) for k in range(0, len(text) - 1, 2))
