"""AlphaStar's roles (Vinyals et al. 2019, Methods, "Main agents", "Main exploiters", "League exploiters")."""

from __future__ import annotations

from collections import Counter

import numpy as np
import pytest

from matchmaking.errors import RosterError
from matchmaking.payoff import PayoffMatrix
from matchmaking.records import Match, Player
from matchmaking.roles import (
    LeagueExploiter,
    Main,
    MainExploiter,
    Mixture,
    RoleRule,
    len_without_monotone_suffix,
    snapshot_due,
)
from matchmaking.roster import Context, Roster
from matchmaking.samplers import Fixed, Pfsp, SelfPlay, Uniform

MAIN = Player("main.0", "main", "learning")
EXPLOITER = Player("main_exploiter.0", "main_exploiter", "learning")


def past_main(n: int, state: str = "frozen") -> Player:
    return Player(f"main.0.v{n}", "historical", state, "main.0", "main")  # type: ignore[arg-type]


def past_exploiter(n: int) -> Player:
    return Player(f"main_exploiter.0.v{n}", "historical", "frozen", "main_exploiter.0", "main_exploiter")


def draws(rule: RoleRule, me: str, roster: Roster, payoff: PayoffMatrix, n: int = 100_000) -> Counter[Match]:
    rng = np.random.default_rng(0)
    return Counter(rule.match(Context(me, roster, payoff, rng)) for _ in range(n))


def branches(rule: RoleRule, me: str, roster: Roster, payoff: PayoffMatrix) -> dict[str, float]:
    total: Counter[str] = Counter()
    for match, count in draws(rule, me, roster, payoff).items():
        total[match.branch] += count
    return {branch: count / 100_000 for branch, count in total.items()}


def test_main_plays_half_pfsp_15_percent_verification_35_percent_self_play() -> None:
    roster = Roster([MAIN, past_main(1), past_main(2), past_exploiter(1)])
    payoff = PayoffMatrix()
    payoff.record("main.0", "main_exploiter.0.v1", 1, 0, 9)
    shares = branches(Main(1, 2), "main.0", roster, payoff)
    assert shares["pfsp"] == pytest.approx(0.50, abs=0.005)
    assert shares["verify_exploiters"] == pytest.approx(0.15, abs=0.005)
    assert shares["self_play"] == pytest.approx(0.35, abs=0.005)


def test_main_verifies_forgotten_past_mains_when_no_exploiter_beats_it() -> None:
    roster = Roster([MAIN, past_main(1), past_main(2), past_main(3), past_exploiter(1)])
    payoff = PayoffMatrix()
    payoff.record("main.0", "main_exploiter.0.v1", 9, 0, 1)
    payoff.record("main.0", "main.0.v1", 2, 0, 8)  # forgotten
    payoff.record("main.0", "main.0.v2", 9, 0, 1)
    payoff.record("main.0", "main.0.v3", 6, 0, 4)
    shares = branches(Main(1, 2), "main.0", roster, payoff)
    assert shares["verify_forgotten"] == pytest.approx(0.15, abs=0.005)


def test_main_falls_back_to_self_play_when_nothing_needs_verification() -> None:
    roster = Roster([MAIN, past_main(1)])
    payoff = PayoffMatrix()
    payoff.record("main.0", "main.0.v1", 9, 0, 1)
    assert branches(Main(1, 2), "main.0", roster, payoff) == {
        "pfsp": pytest.approx(0.5, abs=0.005),
        "self_play": pytest.approx(0.5, abs=0.005),
    }


def test_main_without_history_plays_itself() -> None:
    counts = draws(Main(1, 2), "main.0", Roster([MAIN]), PayoffMatrix(), 100)
    assert counts == {Match("main.0", "main.0", "self_play"): 100}


def test_main_learns_on_the_history_of_a_main_that_beats_it() -> None:
    other = Player("main.1", "main", "learning")
    past = Player("main.1.v1", "historical", "frozen", "main.1", "main")
    payoff = PayoffMatrix()
    payoff.record("main.0", "main.1", 1, 0, 9)
    counts = draws(
        Main(1, 2, pfsp_share=0, verification_share=0), "main.0", Roster([MAIN, other, past]), payoff
    )
    assert {(m.opponent, m.branch) for m in counts} == {
        ("main.1.v1", "self_play_history"),
        ("main.0", "self_play"),
    }


def test_pfsp_meets_the_hardest_most() -> None:
    roster = Roster([MAIN, past_main(1), past_main(2)])
    payoff = PayoffMatrix()
    payoff.record("main.0", "main.0.v1", 9, 0, 1)
    payoff.record("main.0", "main.0.v2", 5, 0, 5)
    counts = draws(Main(1, 2, pfsp_share=1.0, verification_share=0.0), "main.0", roster, payoff)
    assert counts[Match("main.0", "main.0.v1", "pfsp")] / 100_000 == pytest.approx(0.01 / 0.26, abs=0.003)


def test_retired_players_are_never_met() -> None:
    roster = Roster([MAIN, past_main(1, "retired"), past_main(2)])
    met = {m.opponent for m in draws(Main(1, 2), "main.0", roster, PayoffMatrix(), 2000)}
    assert met == {"main.0", "main.0.v2"}


def test_main_exploiter_meets_the_main_and_its_history_when_hopeless() -> None:
    roster = Roster([MAIN, EXPLOITER, past_main(1)])
    payoff, rule = PayoffMatrix(), MainExploiter(1, 2)
    assert branches(rule, "main_exploiter.0", roster, payoff) == {"exploit": 1.0}
    payoff.record("main_exploiter.0", "main.0", 1, 0, 9)  # w = 0.1
    assert branches(rule, "main_exploiter.0", roster, payoff) == {"curriculum": 1.0}


def test_an_exploiter_without_a_main_says_what_to_add() -> None:
    with pytest.raises(RosterError, match="has no main to exploit; add a player with role: main"):
        MainExploiter(1, 2).match(
            Context("x.0", Roster([EXPLOITER]), PayoffMatrix(), np.random.default_rng(0))
        )


def test_league_exploiter_meets_all_history_and_nobody_learning() -> None:
    roster = Roster([MAIN, EXPLOITER, past_main(1), past_exploiter(1)])
    met = {m.opponent for m in draws(LeagueExploiter(1, 2), "l.0", roster, PayoffMatrix(), 1000)}
    assert met == {"main.0.v1", "main_exploiter.0.v1"}


def test_main_exploiter_resets_after_every_snapshot_and_main_never() -> None:
    rng = np.random.default_rng(0)
    assert all(MainExploiter(1, 2).resets(rng) for _ in range(100))
    assert not any(Main(1, 2).resets(rng) for _ in range(100))
    resets = sum(LeagueExploiter(1, 2).resets(rng) for _ in range(10_000))
    assert resets == pytest.approx(2500, abs=150)


def test_snapshots_wait_for_min_steps_then_for_winning_then_for_max_steps() -> None:
    roster = Roster([MAIN, EXPLOITER, past_main(1)])
    payoff, rule = PayoffMatrix(), MainExploiter(1000, 5000)
    payoff.record("main_exploiter.0", "main.0", 8, 0, 2)
    assert not snapshot_due(rule, "main_exploiter.0", 999, roster, payoff)
    assert snapshot_due(rule, "main_exploiter.0", 1000, roster, payoff)
    payoff.record("main_exploiter.0", "main.0", 0, 0, 4)
    assert not snapshot_due(rule, "main_exploiter.0", 4999, roster, payoff)
    assert snapshot_due(rule, "main_exploiter.0", 5000, roster, payoff)


def test_a_main_without_history_is_copied_only_at_max_steps() -> None:
    rule = Main(1000, 5000)
    assert not snapshot_due(rule, "main.0", 4999, Roster([MAIN]), PayoffMatrix())
    assert snapshot_due(rule, "main.0", 5000, Roster([MAIN]), PayoffMatrix())


@pytest.mark.parametrize(
    ("win_rates", "kept"),
    [([], 0), ([0.5], 0), ([0.9, 0.7, 0.5], 0), ([0.2, 0.9, 0.6], 2), ([0.1, 0.2, 0.3], 3)],
)
def test_the_falling_tail_of_a_history_is_left_out(win_rates: list[float], kept: int) -> None:
    assert len_without_monotone_suffix(win_rates) == kept


def test_a_mixture_uses_its_samplers_by_weight_and_skips_those_that_find_nobody() -> None:
    rule = Mixture(
        1,
        2,
        (("old", 3.0, Uniform("mine")), ("hard", 1.0, Pfsp("exploiters")), ("self", 2.0, SelfPlay())),
    )
    roster = Roster([MAIN, past_main(1), past_main(2)])
    shares = branches(rule, "main.0", roster, PayoffMatrix())
    # "hard" finds nobody; its sixth is shared by the others as three to two.
    assert shares == {"old": pytest.approx(0.6, abs=0.005), "self": pytest.approx(0.4, abs=0.005)}
    alone = Mixture(1, 2, (("hard", 1.0, Pfsp("exploiters")), ("bot", 1.0, Fixed(("gone",)))))
    assert branches(alone, "main.0", roster, PayoffMatrix()) == {"self_play": 1.0}


def test_a_mixture_is_copied_at_max_steps_or_after_beating_its_targets() -> None:
    roster, payoff = Roster([MAIN, past_main(1)]), PayoffMatrix()
    payoff.record("main.0", "main.0.v1", 9, 0, 1)
    timed = Mixture(10, 100, (("self", 1.0, SelfPlay()),))
    assert not snapshot_due(timed, "main.0", 99, roster, payoff)
    assert snapshot_due(timed, "main.0", 100, roster, payoff)
    winning = Mixture(10, 100, (("self", 1.0, SelfPlay()),), targets_pool="mine", reset_probability=1.0)
    assert snapshot_due(winning, "main.0", 10, roster, payoff)
    assert winning.resets(np.random.default_rng(0))
