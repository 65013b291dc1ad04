"""The compiled loops against slow ones."""

from __future__ import annotations

import numpy as np
import pytest
import torch

from agents.acting import kernels
from agents.networks.distributions import Categorical


def sample(
    heads: np.ndarray,
    legal: np.ndarray,
    temperature: float,
    seed: int = 0,
    factors: tuple[int, ...] | None = None,
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    n = len(heads)
    actions, log_probs, values = np.zeros(n, np.int64), np.zeros(n, np.float32), np.zeros(n, np.float32)
    uniforms = np.random.default_rng(seed).random((n, len(factors or (1,))), np.float32)
    rows, asked = np.arange(n, dtype=np.int32), np.ones(n, np.bool_)
    parts = np.array(factors or (legal.shape[1],), np.int64)
    kernels.sample_actions(
        heads, asked, rows, legal, parts, uniforms, temperature, actions, log_probs, values
    )
    return actions, log_probs, values


def test_group_rows_sorts_stably_by_policy() -> None:
    policy = np.array([2, 0, 2, 1, 0], np.int32)
    order, starts = kernels.group_rows(policy, 4)
    assert order.tolist() == [1, 4, 3, 0, 2]
    assert starts.tolist() == [0, 2, 3, 5, 5]


def test_rows_that_were_not_asked_stay_as_they_are() -> None:
    heads, legal = np.array([[0.0, 9.0, 0.5]] * 3, np.float32), np.ones((3, 2), np.bool_)
    actions, values = np.full(3, 7), np.zeros(3, np.float32)
    rows, asked = np.array([2, 0, 1], np.int32), np.array([True, False, True])
    parts, uniforms = np.array([2]), np.full((3, 1), 0.5, np.float32)
    kernels.sample_actions(
        heads, asked, rows, legal, parts, uniforms, 0.0, actions, np.zeros(3, np.float32), values
    )
    assert actions.tolist() == [7, 1, 1]
    assert values.tolist() == [0.0, 0.5, 0.5]


def test_actions_are_drawn_from_the_masked_softmax() -> None:
    heads = np.tile(np.array([[1.0, 2.0, 0.5, 9.0, 0.25]], np.float32), (60_000, 1))
    legal = np.tile(np.array([[True, True, True, False]]), (60_000, 1))
    actions, log_probs, values = sample(heads, legal, 1.0)
    expected = torch.softmax(torch.tensor([1.0, 2.0, 0.5]), 0).numpy()
    assert np.bincount(actions, minlength=4)[:3] / 60_000 == pytest.approx(expected, abs=0.01)
    assert log_probs == pytest.approx(np.log(expected)[actions], abs=1e-5)
    assert (values == 0.25).all()


def test_an_action_of_parts_is_drawn_part_by_part() -> None:
    heads = np.tile(np.array([[1.0, 2.0, 0.0, 3.0, 0.5, 0.25]], np.float32), (60_000, 1))
    legal = np.tile(np.array([[True, True, True, False, True]]), (60_000, 1))
    actions, log_probs, values = sample(heads, legal, 1.0, factors=(2, 3))
    first, second = np.divmod(actions, 3)
    one, two = np.exp([1.0, 2.0]) / np.exp([1.0, 2.0]).sum(), np.exp([0.0, 0.5]) / np.exp([0.0, 0.5]).sum()
    assert (second != 1).all()  # masked
    assert np.bincount(first) / 60_000 == pytest.approx(one, abs=0.01)
    assert np.bincount(second, minlength=3)[[0, 2]] / 60_000 == pytest.approx(two, abs=0.01)
    together = np.log(one[first]) + np.log(two[second // 2])
    assert log_probs == pytest.approx(together, abs=1e-5)
    policy = Categorical(torch.tensor(heads[:64, :5]), torch.tensor(legal[:64]), (2, 3))
    assert policy.log_prob(torch.tensor(actions[:64])).numpy() == pytest.approx(log_probs[:64], abs=1e-5)
    assert (values == 0.25).all()


def test_temperature_zero_plays_the_best_legal_action() -> None:
    heads = np.array([[0.0, 3.0, 1.0, 0.0], [5.0, 1.0, 2.0, 0.0]], np.float32)
    legal = np.array([[True, True, True], [False, True, True]])
    actions, log_probs, _ = sample(heads, legal, 0.0)
    assert actions.tolist() == [1, 2]
    assert log_probs[1] == pytest.approx(-np.log1p(np.exp(-1.0)), abs=1e-5)


@pytest.mark.parametrize("temperature", [0.0, 0.5, 1.0])
def test_even_broken_networks_play_legal_actions(temperature: float) -> None:
    heads = np.full((50, 4), np.nan, np.float32)
    legal = np.zeros((50, 3), np.bool_)
    legal[:, 1] = True
    actions, _, _ = sample(heads, legal, temperature)
    assert (actions == 1).all()
