"""A person against a player, and positions as they are drawn."""

from __future__ import annotations

import base64
import zlib

import numpy as np
import pytest

import envs
from agents.acting.collector import Collector
from agents.acting.episode import Episode
from agents.acting.recorder import Recorder, picture
from agents.acting.seating import Series
from agents.players.bots import RandomBot
from league.bootstrap import Services, Stores
from league.control.access import LOCAL
from league.errors import BadRequestError, ConflictError
from league.serving.boards import Board, cards
from league.serving.playing import view_as_json
from league.settings import Settings


@pytest.fixture
def services(stores: Stores, played_run: str) -> Services:
    return stores.services(Settings(loopback=True))


@pytest.mark.parametrize(
    ("game", "actions", "rows", "columns", "pieces"),
    [
        ("native:connect_four", [3, 3, 2], 6, 7, {"first": 2, "second": 1}),
        ("native:tic_tac_toe", [4, 0], 3, 3, {"first": 1, "second": 1}),
        ("openspiel:othello", [19], 8, 8, {"first": 4, "second": 1}),
        ("openspiel:go(board_size=5)", [12, 6], 5, 5, {"first": 1, "second": 1}),
        ("openspiel:breakthrough(rows=6,columns=6)", [], 6, 6, {"first": 12, "second": 12}),
        ("openspiel:chess", [], 8, 8, {"p": 8, "P": 8, "K": 1, "k": 1}),
    ],
)
def test_boards_are_read_as_they_are(
    game: str, actions: list[int], rows: int, columns: int, pieces: dict[str, int]
) -> None:
    positions = Board(envs.make(game, 1).spec).positions(actions)
    assert len(positions) == len(actions) + 1
    last = positions[-1]
    assert (last.rows, last.columns, len(last.cells)) == (rows, columns, rows * columns)
    for piece, count in pieces.items():
        assert last.cells.count(piece) == count, (piece, last.text)


@pytest.mark.parametrize(
    "game", ["native:connect_four", "native:tic_tac_toe", "openspiel:othello", "openspiel:go"]
)
def test_a_piece_comes_to_lie_where_its_action_points(game: str) -> None:
    board, rng = Board(envs.make(game, 1).spec), np.random.default_rng(0)
    actions: list[int] = []
    for _ in range(6):
        position = board.positions(actions)[-1]
        action = int(rng.choice(list(position.targets)))
        actions.append(action)
        after = board.positions(actions)[-1]
        assert position.cells[position.targets[action]] == ""
        assert after.cells[position.targets[action]] == ("second" if position.turn else "first")


def recorded(game_id: str, episodes: int = 1) -> list[Episode]:
    """Plays random games and writes them down."""
    game = envs.make(game_id, 4, 3)
    recorder = Recorder(env=1, seconds_between=0.0)
    sides = len(game.spec.sides)
    collector = Collector(game, [], fragment_length=1, fragment_lanes=1, seed=1, recorder=recorder)
    collector.put_policy("random", RandomBot())
    players, spots = ("random",) * sides, tuple(range(sides))
    collector.add_series(Series(0, players, (0,) * sides, (False,) * sides, 100, "evaluation", "t", spots))
    found: list[Episode] = []
    while len(found) < episodes:
        collector.tick()
        found += recorder.take()
    game.close()
    return found


@pytest.mark.parametrize("game", ["native:leduc_poker", "native:kuhn_poker", "openspiel:backgammon"])
def test_games_with_chance_are_played_again_with_the_chance_that_was_written_down(game: str) -> None:
    board = Board(envs.make(game, 1).spec)
    for episode in recorded(game, 5):
        chance = [move.get("chance", []) for move in episode.moves]
        assert any(chance)
        positions = board.positions([m["action"] for m in episode.moves], chance)
        assert len(positions) == len(episode.moves) + 1
        for move, position in zip(episode.moves, positions, strict=False):
            assert position.turn == move["seat"]
            assert sorted(position.names) == move["legal"]
        assert positions[-1].turn is None


def test_hands_are_shown_and_what_one_must_not_see_is_not() -> None:
    board = Board(envs.make("native:leduc_poker", 1).spec)
    # King of hearts and jack of spades, both call, queen of spades on the table.
    first, second = board.positions([1, 1], [[5, 0], []])[:2]
    third = board.position_for([5, 0, 1, 1, 2], 0)
    assert (first.kind, first.hands, first.table) == ("hands", (("K♥",), ("J♠",)), ())
    assert second.turn == 1
    assert third is not None
    assert (third.hands, third.table) == ((("K♥",), ("?",)), ("Q♠",))
    assert "[Private: 0]" not in third.text
    other = board.position_for([5, 0, 1, 1, 2], 1)
    assert other is not None
    assert other.hands == (("?",), ("J♠",))
    dark = Board(envs.make("openspiel:phantom_ttt", 1).spec).position_for([4], 1)
    assert dark is not None
    assert (dark.kind, dark.cells, dark.targets) == ("text", (), {}), "nor where the other has played"
    assert "x" not in dark.text
    assert cards("universal_poker", "P0 Cards: AhKd\nP1 Cards: 2c2s\nBoardCards QdTd9d\n") == (
        (("A♥", "K♦"), ("2♣", "2♠")), ("Q♦", "T♦", "9♦"),
    )  # fmt: skip


def test_of_a_game_of_pixels_what_the_players_saw_is_kept() -> None:
    (episode,) = recorded("native:pong")
    seen = episode.moves[0]["picture"]
    pixels = np.frombuffer(zlib.decompress(base64.b64decode(seen["data"])), np.uint8)
    assert (seen["rows"], seen["columns"], seen["channels"]) == (12, 16, 1)
    assert pixels.shape == (12 * 16,)
    assert set(pixels.tolist()) == {0, 255}
    wide = picture(np.arange(3 * 200 * 100, dtype=np.uint8).reshape(3, 200, 100))
    assert (wide["rows"], wide["columns"], wide["channels"]) == (67, 34, 3)
    assert Board(envs.make("native:pong", 1).spec).positions([0, 1]) == []


@pytest.mark.parametrize("seat", [0, 1])
@pytest.mark.parametrize("opponent", ["main.0", "mcts:2"])
def test_a_game_is_played_to_its_end_by_any_server(
    stores: Stores, services: Services, played_run: str, seat: int, opponent: str
) -> None:
    view = services.plays.begin(played_run, opponent, "ada", seat, True, LOCAL)
    assert len(view.play.actions) == seat  # the player has moved first, or it is our turn
    while not view.over:
        assert view.your_turn
        other = stores.services(Settings(loopback=True))  # nothing is remembered but what is stored
        view = other.plays.move(view.play.id, view.legal[-1])
    assert view_as_json(view)["result"] in ("won", "lost", "drawn")
    moves = services.league.episodes(played_run, limit=1)[0]
    assert moves.length == len(view.play.actions)
    assert moves.players[seat] == "human.ada"
    human = services.league.player(played_run, "human.ada")
    assert (human.role, human.bot) == ("guest", "human")
    assert human.wins + human.draws + human.losses == 1
    (match,) = services.league.matches(played_run, limit=5, player="human.ada")
    outcome = match.series.outcome
    mine = outcome.wins if match.series.first == "human.ada" else outcome.losses
    assert mine == (view.result == "won")
    with pytest.raises(ConflictError, match="over"):
        services.plays.move(view.play.id, 0)


def test_an_unrated_game_gives_hints_takes_back_and_counts_nowhere(
    services: Services, played_run: str
) -> None:
    view = services.plays.begin(played_run, "main.0", "bob", 0, False, LOCAL)
    hint = services.plays.hint(view.play.id)
    assert sum(hint["probabilities"].values()) == pytest.approx(1.0, abs=1e-3)
    moved = services.plays.move(view.play.id, 3)
    assert len(moved.play.actions) == 2
    assert services.plays.undo(view.play.id).play.actions == ()
    with pytest.raises(BadRequestError, match="not legal"):
        services.plays.move(view.play.id, 9)
    given_up = services.plays.resign(view.play.id)
    assert (given_up.over, given_up.result) == (True, "lost")
    assert not [p for p in services.league.players(played_run, limit=500) if p.name == "human.bob"]


def test_people_are_never_matched_by_the_league(stores: Stores, services: Services, played_run: str) -> None:
    from league.config.sections import RatingsConfig
    from league.pool.ratings import PoolRatings
    from league.pool.records import PlayerRecord
    from matchmaking.ratings.base import Rating

    ratings = PoolRatings(RatingsConfig(), 2, {"trueskill": {"human.ada": Rating(25.0, 8.0)}})
    ratings.see(PlayerRecord("human.ada", "guest", "frozen", bot="human"))
    assert len(ratings.rated) == 0


@pytest.mark.parametrize(
    ("player", "name", "seat", "why"),
    [
        ("main.0", "a b", 0, "name"),
        ("main.0", "x" * 60, 0, "name"),
        ("main.0", "ada", 2, "seat"),
        ("nobody", "ada", 0, "no player"),
    ],
)
def test_what_cannot_be_played_is_said(
    services: Services, played_run: str, player: str, name: str, seat: int, why: str
) -> None:
    with pytest.raises(Exception, match=why):
        services.plays.begin(played_run, player, name, seat, True, LOCAL)
