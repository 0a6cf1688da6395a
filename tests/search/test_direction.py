"""The cheapest direction to rise in, against other directions."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from betarce.search.direction import steepest


def cost(directions, share):
    return (1 - share) * np.abs(directions).sum(axis=-1) + share * np.linalg.norm(directions, axis=-1)


@given(seed=st.integers(0, 10_000), share=st.floats(0, 1))
def test_no_other_direction_gains_more_for_its_cost(seed, share):
    rng = np.random.default_rng(seed)
    slopes = rng.normal(size=(1, 5))
    direction = steepest(slopes, share)
    others = np.vstack([rng.normal(size=(200, 5)), direction + 0.05 * rng.normal(size=(200, 5)), np.eye(5), -np.eye(5)])
    best = (direction @ slopes[0]) / cost(direction, share)
    assert ((others @ slopes[0]) / cost(others, share) <= best + 1e-3).all()


def test_a_larger_share_of_l2_spreads_over_more_features():
    slopes = np.array([[4.0, -3.0, 2.0, 1.0]])
    used = [int((np.abs(steepest(slopes, share)) > 1e-6).sum()) for share in (0.0, 0.3, 0.5, 0.8, 1.0)]
    assert used[0] == 1
    assert used[-1] == 4
    assert used == sorted(used)


@pytest.mark.parametrize("share", [0.0, 0.4, 1.0])
def test_without_any_slope_there_is_no_direction(share):
    np.testing.assert_array_equal(steepest(np.zeros((2, 3)), share), np.zeros((2, 3)))
