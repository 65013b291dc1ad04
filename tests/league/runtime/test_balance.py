"""Cores go where they are needed: to play, or to learning."""

from __future__ import annotations

import pytest

from league.runtime.cluster.balance import LOOK_SECONDS, SHY_SECONDS, Balance, Shares, threads_each


def play(balance: Balance, cores: int, learner_rate: float, seconds: float, begin: float = 0.0) -> float:
    """A machine on which a worker makes a fragment a second and a thread learns from `learner_rate`."""
    now = begin
    while now < begin + seconds:
        now += 1.0
        threads = threads_each(cores, balance.workers, 1)
        made, learnt = float(balance.workers), learner_rate * threads**0.7
        shares = Shares(max(0.0, 1.0 - learnt / made), max(0.0, 1.0 - made / learnt))
        balance.look(shares, now)
    return now


@pytest.mark.parametrize("cores", [1, 2])
def test_one_worker_is_the_least(cores: int) -> None:
    balance = Balance(cores, 1, 0.0)
    play(balance, cores, 0.1, 300)
    assert balance.workers == 1


def test_fast_learners_leave_every_other_core_to_play() -> None:
    balance = Balance(16, 1, 0.0)
    play(balance, 16, 100.0, 300)
    assert balance.workers == 15


@pytest.mark.parametrize(("rate", "least", "most"), [(1.0, 4, 9), (0.5, 3, 7), (4.0, 9, 15)])
def test_workers_give_way_to_a_slow_learner_until_both_are_busy(rate: float, least: int, most: int) -> None:
    balance = Balance(16, 1, 0.0)
    play(balance, 16, rate, 600)
    assert least <= balance.workers <= most
    made, learnt = balance.workers, rate * threads_each(16, balance.workers, 1) ** 0.7
    assert min(made, learnt) / max(made, learnt) > 0.6


def test_what_was_too_many_is_tried_again_only_after_a_while() -> None:
    balance = Balance(8, 1, 0.0)
    balance.look(Shares(0.6, 0.0), LOOK_SECONDS)
    few = balance.workers
    assert few < 7
    for k in range(2, 12):
        balance.look(Shares(0.0, 0.5), k * LOOK_SECONDS)
    assert balance.workers == 6
    balance.look(Shares(0.0, 0.5), LOOK_SECONDS + SHY_SECONDS + 1.0)
    assert balance.workers == 7


def test_it_changes_nothing_between_looks_and_follows_the_machines() -> None:
    balance = Balance(8, 2, 0.0)
    balance.look(Shares(0.9, 0.0), LOOK_SECONDS / 2)
    assert balance.workers == 6
    balance.resize(32, 1.0)
    assert balance.workers == 30
    balance.resize(3, 2.0)
    assert balance.workers == 1


def test_free_cores_are_threads_of_the_learners() -> None:
    machines = ((2, 1, 1), (8, 2, 1), (8, 2, 3), (2, 8, 1), (64, 1, 1))
    assert [threads_each(*machine) for machine in machines] == [1, 6, 2, 1, 16]
