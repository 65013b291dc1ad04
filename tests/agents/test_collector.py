"""What the collector gathers is what was played."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt
import pytest
import torch

import envs
from agents.acting.collector import Collector
from agents.acting.policy import NetworkPolicy
from agents.acting.seating import Seating, Series
from agents.fragment import Fragment
from agents.networks.build import build
from agents.networks.spec import NetworkSpec
from agents.players.bots import RandomBot
from envs.vector_game import VectorGame

SPEC = NetworkSpec(84, 7, (16,))


def series(
    number: int, a: str, b: str, episodes: int = 64, learners: tuple[bool, bool] = (True, False)
) -> Series:
    return Series(number, (a, b), (0, 0), learners, episodes, "training", "test")


class FirstLegal:
    """Plays the lowest legal column."""

    def act(
        self,
        game: VectorGame,
        env: npt.NDArray[np.int32],
        legal: npt.NDArray[np.bool_],
        rng: np.random.Generator,
    ) -> npt.NDArray[np.int64]:
        return np.argmax(legal, axis=1)


def collector(
    num_envs: int = 64, learners: tuple[str, ...] = ("main",), t: int = 4, b: int = 16
) -> Collector:
    game = envs.make("native:connect_four", num_envs, 0)
    c = Collector(game, list(learners), fragment_length=t, fragment_lanes=b, seed=0)
    for i, name in enumerate(learners):
        c.update_learner(name, NetworkPolicy(build(SPEC, i)), version=0, generation=0)
    c.put_policy("random", RandomBot())
    return c


def fragments(c: Collector, count: int, player: str = "main") -> list[Fragment]:
    found: list[Fragment] = []
    number = 1000
    while len(found) < count:
        if c.queued_episodes < 64:
            c.add_series(series(number, "main", "random"))
            number += 1
        c.tick()
        while c.ready_fragments(player):
            found.append(c.take_fragment(player))
    return found


def test_every_decision_is_replayable_from_its_fragment() -> None:
    """The network that acted, run again on the stored observations, gives the stored numbers."""
    c = collector()
    c.add_series(series(0, "main", "random"))
    network = build(SPEC, 0)
    for fragment in fragments(c, 5):
        assert fragment.obs.shape == (5, 16, 84)
        assert fragment.obs.dtype == np.uint8
        heads = network(torch.tensor(fragment.obs[:-1]).float()).detach()
        logits = heads[..., :-1].masked_fill(~torch.tensor(fragment.legal), -torch.inf)
        log_pi = torch.log_softmax(logits, -1)
        taken = log_pi.gather(-1, torch.tensor(fragment.actions, dtype=torch.int64)[..., None])[..., 0]
        assert taken.numpy() == pytest.approx(fragment.log_probs, abs=1e-4)
        assert heads[..., -1].numpy() == pytest.approx(fragment.values[:-1], abs=1e-4)
        after = network(torch.tensor(fragment.obs[-1]).float()).detach()[..., -1].numpy()
        not_over = ~fragment.terminal[-1]
        assert after[not_over] == pytest.approx(fragment.values[-1][not_over], abs=1e-4)


def test_a_column_of_a_fragment_follows_one_seat_move_by_move() -> None:
    """Within an episode a seat's own stones grow by exactly the stone it has just played."""
    c = collector()
    c.add_series(series(0, "main", "random"))
    within = ends = 0
    for fragment in fragments(c, 10):
        planes = fragment.obs.reshape(5, 16, 2, 6, 7).astype(int)
        for t in range(4):
            for lane in range(16):
                mine, after = planes[t, lane, 0], planes[t + 1, lane, 0]
                column = fragment.actions[t, lane]
                assert fragment.legal[t, lane, column]
                if fragment.terminal[t, lane]:
                    ends += 1  # another episode follows, of whichever game needed the page first
                    continue
                grown = after - mine
                assert grown.sum() == 1
                assert grown[:, column].sum() == 1
                assert planes[t + 1, lane, 1].sum() == planes[t, lane, 1].sum() + 1
                assert fragment.rewards[t, lane] == 0.0
                within += 1
    assert within > 100
    assert ends > 10


def test_rewards_are_the_games_outcomes() -> None:
    """A win belongs to the mover's last decision, also when the opponent made the last move."""
    c = collector()
    c.add_series(series(0, "main", "random", episodes=64))
    got = fragments(c, 30)
    terminal = np.concatenate([f.rewards[f.terminal] for f in got])
    running = np.concatenate([f.rewards[~f.terminal] for f in got])
    assert set(np.unique(terminal)) <= {-1.0, 0.0, 1.0}
    assert (terminal == -1.0).any()
    assert (terminal == 1.0).any()
    assert (running == 0.0).all()
    results = c.take_results()
    played = sum(int(r.counts.sum()) for r in results)
    won = sum(pair.wins for r in results for pair in r.pairs()) / played
    assert (terminal == 1.0).mean() == pytest.approx(won, abs=0.08)


def test_self_play_is_learnt_from_both_seats() -> None:
    c = collector()
    c.add_series(series(0, "main", "main", episodes=64, learners=(True, True)))
    for _ in range(40):
        c.tick()
    assert c.counts.learning_steps == c.counts.moves
    one_sided = collector()
    one_sided.add_series(series(0, "main", "random", episodes=64))
    for _ in range(40):
        one_sided.tick()
    assert one_sided.counts.learning_steps == pytest.approx(one_sided.counts.moves / 2, rel=0.1)


def test_two_learners_get_only_their_own_decisions() -> None:
    c = collector(learners=("main", "other"))
    c.put_policy("first", FirstLegal())
    c.update_learner("other", NetworkPolicy(build(SPEC, 5)), 0, 0)
    c.add_series(series(0, "main", "first", episodes=32))
    c.add_series(series(1, "other", "first", episodes=32))
    network = build(SPEC, 5)
    seen = 0
    while seen < 3:
        if c.queued_episodes < 64:
            c.add_series(series(100 + seen, "other", "first", episodes=64))
        c.tick()
        while c.ready_fragments("other"):
            fragment = c.take_fragment("other")
            values = network(torch.tensor(fragment.obs[:-1]).float()).detach()[..., -1].numpy()
            assert values == pytest.approx(fragment.values[:-1], abs=1e-4)
            seen += 1


def test_a_new_generation_leaves_nothing_of_the_old_in_flight() -> None:
    c = collector(t=2, b=4)
    c.add_series(series(0, "main", "random", episodes=1000))
    for _ in range(6):
        c.tick()
    assert c.ready_fragments("main")
    c.update_learner("main", NetworkPolicy(build(SPEC, 9)), version=0, generation=1)
    assert not c.ready_fragments("main")
    network = build(SPEC, 9)
    while not c.ready_fragments("main"):
        c.tick()
    fragment = c.take_fragment("main")
    assert fragment.generation == 1
    values = network(torch.tensor(fragment.obs[:-1]).float()).detach()[..., -1].numpy()
    assert values == pytest.approx(fragment.values[:-1], abs=1e-4)


def test_fragments_carry_their_oldest_version() -> None:
    c = collector(t=4, b=8)
    c.add_series(series(0, "main", "random", episodes=1000))
    for version in range(1, 30):
        c.tick()
        c.update_learner("main", NetworkPolicy(build(SPEC, 0)), version, 0)
        while c.ready_fragments("main"):
            fragment = c.take_fragment("main")
            # Four decisions of one seat take eight ticks of a turn-based game.
            assert version - 20 <= fragment.version <= version - 7


def test_seats_are_balanced_and_outcomes_counted_by_seat() -> None:
    c = collector()
    c.put_policy("first", FirstLegal())
    c.add_series(
        series(0, "first", "first", episodes=10, learners=(False, False)),
        series(1, "random", "first", episodes=500, learners=(False, False)),
    )
    results = []
    while len(results) < 2:
        if c.queued_episodes < 64:
            c.add_series(series(100 + c.counts.moves, "random", "random", 64, (False, False)))
        c.tick()
        results += [r for r in c.take_results() if r.series.number < 2]
    fixed, uneven = sorted(results, key=lambda r: r.series.number)
    # Both play the lowest column: the same game every time, and the same seat wins it.
    assert fixed.counts[0].tolist() in ([[5, 0, 0], [0, 0, 5]], [[0, 0, 5], [5, 0, 0]])
    assert uneven.counts[0].sum(axis=1).tolist() == [250, 250]
    assert uneven.moves > 500 * 7


def test_late_series_do_not_stop_play() -> None:
    c = collector(num_envs=32)
    c.add_series(series(0, "random", "random", episodes=4, learners=(False, False)))
    for _ in range(100):
        c.tick()
    assert c.counts.moves == 3200
    c.add_series(series(1, "random", "random", episodes=64, learners=(False, False)))
    for _ in range(100):
        c.tick()
    (result,) = [r for r in c.take_results() if r.series.number == 0]
    assert result.counts.sum() > 32


def test_seating_keeps_a_series_result_whole() -> None:
    seating = Seating(4)
    seating.add(series(7, "a", "b", episodes=4), (0, 1), (-1, -1))
    seating.fill()
    assert seating.policy_of.tolist() == [[0, 1], [1, 0], [0, 1], [1, 0]]
    seating.add(series(8, "a", "b", episodes=4), (0, 1), (-1, -1))
    ended = np.ones(4, np.bool_)
    returns = np.array([[1, -1], [1, -1], [0, 0], [-1, 1]], np.float32)
    seating.count_moves(np.arange(4, dtype=np.int32))
    assert seating.finish(ended, returns) == 4
    (result,) = seating.take_results()
    (pair,) = result.pairs()
    assert (pair.wins, pair.draws, pair.losses, result.moves) == (2, 1, 1, 4)
    assert pair.counts.tolist() == [[1, 1, 0], [1, 0, 1]]
