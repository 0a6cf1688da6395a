"""Levels of depth: fine near the base, never coarse above it."""

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from betarce.search.levels import CLOSE, DEEPEST, SHALLOWEST, levels_above


@given(depth=st.floats(-100, 100))
def test_levels_fall_from_the_deepest_to_everything(depth):
    [levels] = levels_above(np.array([depth]))
    assert levels[0] == DEEPEST
    assert levels[-1] == -np.inf
    finite = levels[np.isfinite(levels)]
    assert (np.diff(finite) <= 0).all()
    assert (finite >= SHALLOWEST).all()
    # Where votes are decided a rung is at most a few percent less deep than the one before.
    least = np.where(finite[:-1] > CLOSE, 0.8, 0.93)
    assert (finite[1:] >= least * finite[:-1] - 1e-12).all()


@given(depth=st.floats(0.8, 7.9))
def test_steps_are_a_share_of_the_way_that_is_left_to_the_base(depth):
    [levels] = levels_above(np.array([depth]))
    above = levels[np.isfinite(levels)] - depth
    assert (above[above > 0][1:] >= 0.85 * above[above > 0][:-1] - 1e-12).all()


def test_a_row_has_the_same_levels_in_any_batch():
    depth = np.array([-np.inf, -1.0, 0.5, 2.0, 9.0])
    np.testing.assert_array_equal(levels_above(depth), np.vstack([levels_above(depth[[i]]) for i in range(5)]))
