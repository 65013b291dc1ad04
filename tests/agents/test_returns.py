"""GAE by hand."""

from __future__ import annotations

import pytest
import torch

from agents.errors import ShapeError
from agents.returns import gae


def column(*values: float) -> torch.Tensor:
    return torch.tensor(values, dtype=torch.float32)[:, None]


def test_gae_of_three_steps_by_hand() -> None:
    # γ = 0.9, λ = 0.5; δ = r + γV' − V = 1 + 1.8 − 1, 0 + 2.7 − 2, 2 + 3.6 − 3
    # A_2 = 2.6; A_1 = 0.7 + 0.45·2.6 = 1.87; A_0 = 1.8 + 0.45·1.87 = 2.6415
    result = gae(column(1, 0, 2), column(0.9, 0.9, 0.9), column(1, 2, 3), torch.tensor([4.0]), lambda_=0.5)
    assert result.advantages[:, 0].tolist() == pytest.approx([2.6415, 1.87, 2.6])
    assert result.returns[:, 0].tolist() == pytest.approx([3.6415, 3.87, 5.6])


def test_nothing_flows_back_over_the_end_of_an_episode() -> None:
    result = gae(column(1, 5), column(0, 1), column(0.5, 0), torch.tensor([7.0]), lambda_=1.0)
    assert result.advantages[:, 0].tolist() == pytest.approx([0.5, 12.0])


def test_lambda_one_is_monte_carlo_and_zero_is_td() -> None:
    rewards, ones, values = column(0, 0, 1), column(1, 1, 0), column(0.2, 0.4, 0.6)
    assert gae(rewards, ones, values, torch.zeros(1), lambda_=1.0).returns[:, 0].tolist() == pytest.approx(
        [1.0, 1.0, 1.0]
    )
    assert gae(rewards, ones, values, torch.zeros(1), lambda_=0.0).advantages[:, 0].tolist() == pytest.approx(
        [0.2, 0.2, 0.4]
    )


def test_shapes_that_do_not_fit_are_named() -> None:
    with pytest.raises(ShapeError, match=r"\(2, 1\), \(3, 1\)"):
        gae(column(1, 2), column(1, 1, 1), column(1, 2), torch.zeros(1))
