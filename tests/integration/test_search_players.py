"""A player that looks ahead is a player: added over every face, rated, matched, played by people."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from league.bootstrap import Stores
from league.config import RunConfig
from league.control.access import LOCAL
from league.control.sources import NewPlayer
from league.errors import BadRequestError
from league.store.checkpoints import CheckpointStore
from league.study.tournaments import TournamentRules
from matchmaking.sequential import StopRule
from tests.serial_league import play


def test_a_searching_guest_is_rated_and_better_than_who_it_is_made_of(
    stores: Stores, small_config: Callable[..., RunConfig]
) -> None:
    run_id = play(stores, small_config(), stop_at=60_000).id
    services = stores.services()
    command = services.control.add_player(
        run_id, NewPlayer("ahead", source_player="main.0", search=32), LOCAL
    )
    assert command.state == "done"
    guest = services.league.player(run_id, "ahead")
    assert (guest.bot, guest.role, guest.state) == ("search:32", "guest", "frozen")
    assert guest.checkpoint is not None, "its weights are kept as anybody's"
    play(stores, small_config(), resume=run_id)
    assert stores.service().standing(run_id, "ahead").rated_games > 0
    store = CheckpointStore(stores.checkpoint_url)
    rules = TournamentRules("round-robin", ("main.0", "main.0@search:32"), stop=StopRule(0.05, max_games=64))
    (pair,) = stores.service().tournament(run_id, store, rules).pairs
    assert pair.score < 0.35, "32 positions ahead are worth more than none"


def test_what_cannot_look_ahead_is_refused(stores: Stores, small_config: Callable[..., RunConfig]) -> None:
    run_id = play(stores, small_config(), stop_at=20_000).id
    control = stores.services().control
    for new, why in (
        (NewPlayer("a", bot="random", search=8), "search: only of a player or an upload with a network"),
        (NewPlayer("b", bot="search:8"), "search:N of a player with a network"),
    ):
        with pytest.raises(BadRequestError, match=why):
            control.add_player(run_id, new, LOCAL)
