"""Returns by hand, by published numbers, and against each other."""

from __future__ import annotations

import pytest
import torch

from agents.errors import ShapeError
from agents.returns import gae, td_lambda, upgo, vtrace


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


def test_vtrace_gives_the_published_numbers() -> None:
    """The case of rlax's vtrace_test.py (DeepMind 2019): two trajectories of four decisions."""
    behaviour = torch.tensor(
        [
            [[8.9, 0.7], [5.0, 1.0], [0.6, 0.1], [-0.9, -0.1]],
            [[0.3, -5.0], [1.0, -8.0], [0.3, 1.7], [4.7, 3.3]],
        ]
    )
    target = torch.tensor(
        [[[0.4, 0.5], [9.2, 8.8], [0.7, 4.4], [7.9, 1.4]], [[1.0, 0.9], [1.0, -1.0], [-4.3, 8.7], [0.8, 0.3]]]
    )
    actions = torch.tensor([[0, 1, 0, 0], [1, 0, 0, 1]])[..., None]
    log_ratio = torch.log_softmax(target, -1).gather(-1, actions) - torch.log_softmax(behaviour, -1).gather(
        -1, actions
    )
    rewards = torch.tensor([[-1.3, -1.3, 2.3, 42.0], [1.3, 5.3, -3.3, -5.0]]).T
    discounts = torch.tensor([[0.0, 0.89, 0.85, 0.99], [0.88, 1.0, 0.83, 0.95]]).T
    values = torch.tensor([[2.1, 1.1, -3.1, 0.0], [3.1, 0.1, -1.1, 7.4]]).T
    found = vtrace(rewards, discounts, values, torch.tensor([8.4, -1.2]), log_ratio[..., 0].exp().T)
    errors = [[-1.6155143, -3.4973226, 1.8670533, 50.316002], [1.4662437, 3.6116405, -8.3327293e-5, -13.54]]
    torch.testing.assert_close((found.targets - values).T, torch.tensor(errors), rtol=1e-3, atol=1e-5)
    torch.testing.assert_close(found.advantages.T, torch.tensor(errors), rtol=1e-3, atol=1e-5)


def trajectories(t: int = 7, b: int = 5) -> tuple[torch.Tensor, ...]:
    """Random rewards, discounts (with ends of episodes), values and bootstrap values."""
    rng = torch.Generator().manual_seed(0)
    discounts = torch.where(torch.rand(t, b, generator=rng) < 0.25, 0.0, 0.97)
    return (
        torch.randn(t, b, generator=rng),
        discounts,
        torch.randn(t, b, generator=rng),
        torch.randn(b, generator=rng),
    )


@pytest.mark.parametrize("lambda_", [0.0, 0.6, 1.0])
def test_on_policy_vtrace_is_the_lambda_return_is_gae(lambda_: float) -> None:
    rewards, discounts, values, last = trajectories()
    by_gae = gae(rewards, discounts, values, last, lambda_=lambda_)
    by_vtrace = vtrace(rewards, discounts, values, last, torch.ones_like(values), lambda_=lambda_)
    by_lambda = td_lambda(rewards, discounts, values, last, lambda_=lambda_)
    torch.testing.assert_close(by_vtrace.targets, by_gae.returns)
    torch.testing.assert_close(by_lambda, by_gae.returns)
    torch.testing.assert_close(by_vtrace.advantages, by_gae.advantages)


def test_lambda_one_on_policy_is_the_discounted_sum_of_rewards() -> None:
    rewards, discounts, values, last = trajectories()
    running, sums = last, []
    for t in range(len(rewards) - 1, -1, -1):
        running = rewards[t] + discounts[t] * running
        sums.append(running)
    found = vtrace(rewards, discounts, values, last, torch.ones_like(values))
    torch.testing.assert_close(found.targets, torch.stack(sums[::-1]))


def test_what_the_policy_would_never_do_teaches_nothing() -> None:
    rewards, discounts, values, last = trajectories()
    found = vtrace(rewards, discounts, values, last, torch.zeros_like(values))
    torch.testing.assert_close(found.targets, values)
    assert float(found.advantages.abs().max()) == 0.0


def test_vtrace_by_hand_with_every_clip() -> None:
    # Two decisions, γ = 1, ratios 4 and 2, ρ̄ = 3, c̄ = 1.5, ρ̄_pg = 2.5, λ = 0.5; V = 1, 2, bootstrap 3.
    # δ_1 = 2·(1 + 3 − 2) = 4, v_1 = 6; δ_0 = 3·(0 + 2 − 1) = 3, v_0 − 1 = 3 + 0.5·1.5·4 = 6
    # A_1 = 2·(1 + 3 − 2) = 4; A_0 = 2.5·(0 + 0.5·6 + 0.5·2 − 1) = 7.5
    found = vtrace(
        column(0, 1), column(1, 1), column(1, 2), torch.tensor([3.0]), column(4, 2),
        lambda_=0.5, clip_rho=3.0, clip_c=1.5, clip_pg_rho=2.5,
    )  # fmt: skip
    assert found.targets[:, 0].tolist() == pytest.approx([7.0, 6.0])
    assert found.advantages[:, 0].tolist() == pytest.approx([7.5, 4.0])


def test_upgoing_returns_follow_what_went_well_and_no_further() -> None:
    # V = 1, 2, 0, bootstrap 4, γ = 1. Third: 1 + 4 ≥ 0, followed. Second: 0 + 0 < 2, not followed.
    found = upgo(column(0.5, 0, 1), column(1, 1, 1), column(1, 2, 0), torch.tensor([4.0]))
    assert found[:, 0].tolist() == pytest.approx([2.5, 5.0, 5.0])


@pytest.mark.parametrize("function", [vtrace, td_lambda, upgo])
def test_the_others_name_shapes_that_do_not_fit_too(function: object) -> None:
    ratios = [column(1, 1)] if function is vtrace else []
    with pytest.raises(ShapeError, match=r"\(2, 1\), \(3, 1\)"):
        function(column(1, 2), column(1, 1, 1), column(1, 2), torch.zeros(1), *ratios)  # type: ignore[operator]
