"""Growing Spheres against problems with known answers."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from betarce.errors import InvalidInput
from betarce.features import FeatureSpace
from betarce.rules import immutable
from betarce.search import GrowingSpheresSearch, Task
from betarce.testing import check_search_contract
from contract_cases import FOUR, case_named

UNIT = FeatureSpace.infer(np.array([[0.0] * 3, [1.0] * 3]))


@pytest.mark.slow
@pytest.mark.parametrize("name", FOUR)
def test_it_keeps_the_contract_of_searches(name):
    check_search_contract(
        GrowingSpheresSearch(), cases=[case_named(name)], frugal=GrowingSpheresSearch(max_evaluations=150)
    )


def half_space(threshold):
    return lambda points, rows: points[:, 0] > threshold


def find(search, centers, predicate, features=UNIT, seeds=None):
    return search.find(Task(centers, features, features.box(centers), seeds or list(range(len(centers)))), predicate)


@given(start=st.floats(0, 0.4), threshold=st.floats(0.45, 0.9), seed=st.integers(0, 1000))
@settings(max_examples=30)
def test_the_point_found_is_near_the_closest_there_is(start, threshold, seed):
    centers = np.array([[start, 0.5, 0.5]])
    result = find(GrowingSpheresSearch(n_candidates=200), centers, half_space(threshold), seeds=[seed])
    assert result.status == ["found"]
    distance = UNIT.distance(result.points, centers, norm="l2")[0]
    closest = threshold - start
    assert closest <= distance <= closest + 0.35


def test_a_centre_that_qualifies_is_returned_at_once():
    centers = np.array([[0.7, 0.1, 0.2]])
    result = find(GrowingSpheresSearch(), centers, half_space(0.5))
    np.testing.assert_array_equal(result.points, centers)
    assert result.n_evaluations[0] == 1


def test_halving_finds_what_lies_far_below_the_first_radius():
    centers = np.array([[0.5 - 1e-7, 0.5, 0.5]])
    result = find(GrowingSpheresSearch(initial_radius=0.5), centers, half_space(0.5))
    assert UNIT.distance(result.points, centers, norm="l2")[0] < 1e-5


def test_without_halving_the_first_ball_would_do():
    # With no hit in the first ball the search starts at its surface: nothing closer than the radius is returned.
    centers = np.array([[0.0, 0.5, 0.5]])
    result = find(GrowingSpheresSearch(initial_radius=0.1), centers, half_space(0.3))
    assert 0.3 < UNIT.distance(result.points, centers, norm="l2")[0] < 0.6


def test_shells_are_filled_evenly():
    drawn = []

    def nothing(points, rows):
        drawn.append(points.copy())
        return np.zeros(len(points), dtype=bool)

    centers = np.array([[0.0, 0.0, 0.0]])
    search = GrowingSpheresSearch(initial_radius=1.0, n_candidates=20_000, max_evaluations=45_000, bounded=False)
    find(search, centers, nothing)
    ball, shell = drawn[1], drawn[2]
    radii = np.linalg.norm(ball, axis=1)
    assert radii.max() <= 1
    # In three dimensions, the share within radius r is r cubed; and the mean of a uniform ball is its centre.
    assert (radii <= 0.5).mean() == pytest.approx(0.125, abs=0.01)
    np.testing.assert_allclose(ball.mean(axis=0), 0, atol=0.02)
    shell_radii = np.linalg.norm(shell, axis=1)
    assert shell_radii.min() >= 1
    assert shell_radii.max() <= 2
    assert (shell_radii <= 1.5).mean() == pytest.approx((1.5**3 - 1) / 7, abs=0.015)


def test_bounds_can_be_lifted_as_in_the_paper():
    centers = np.array([[0.9, 0.5, 0.5]])
    outside = half_space(1.2)
    assert find(GrowingSpheresSearch(), centers, outside).status == ["not-found"]
    free = find(GrowingSpheresSearch(bounded=False), centers, outside)
    assert free.status == ["found"]
    assert free.points[0, 0] > 1.2


def test_a_feature_that_cannot_move_takes_no_share_of_the_radius():
    features = UNIT.with_rules({"x1": immutable(), "x2": immutable()})
    centers = np.array([[0.2, 0.3, 0.4]])
    result = find(GrowingSpheresSearch(), centers, half_space(0.5), features)
    assert result.points[0, 1] == 0.3
    assert result.points[0, 2] == 0.4
    assert 0.5 < result.points[0, 0] < 0.62


def test_distances_are_in_units_of_the_range():
    wide = FeatureSpace.infer(np.array([[0.0, 0.0], [1.0, 1000.0]]))
    centers = np.array([[0.5, 500.0]])
    result = find(GrowingSpheresSearch(), centers, lambda points, rows: points[:, 1] > 600, wide)
    assert wide.distance(result.points, centers, norm="l2")[0] < 0.35


@pytest.mark.parametrize(
    "options",
    [{"initial_radius": 0}, {"initial_radius": np.inf}, {"n_candidates": 0}, {"max_evaluations": 1.5}, {"norm": "l3"}],
)
def test_wrong_options_are_refused(options):
    with pytest.raises(InvalidInput, match=f"`{next(iter(options))}` must be"):
        GrowingSpheresSearch(**options)


def nowhere(points, rows):
    return np.zeros(len(points), dtype=bool)


def test_the_whole_box_and_the_budget_are_told_apart_where_nothing_is_found():
    centers = np.full((2, 3), 0.4)
    assert find(GrowingSpheresSearch(), centers, nowhere).status == ["not-found"] * 2
    assert find(GrowingSpheresSearch(max_evaluations=150), centers, nowhere).status == ["budget-spent"] * 2


@pytest.mark.parametrize("n_columns", [1, 2, 3])
def test_one_row_alone_got_other_last_digits_with_two_numbers_to_move(n_columns):
    """numpy takes another way to a power of 2 or of a half if there is one exponent than if there are many."""
    rng = np.random.default_rng(n_columns)
    starts = rng.random((40, n_columns))
    features = FeatureSpace.infer(rng.random((50, n_columns)))
    wanted = starts.sum(axis=1) + 0.3 * rng.random(40)

    def find(rows):
        task = Task(starts[rows], features, features.unbounded(starts[rows]), [int(row) for row in rows])
        return GrowingSpheresSearch().find(task, lambda points, at: points.sum(axis=1) > wanted[rows][at]).points

    together = find(np.arange(40))
    for row in range(40):
        assert find(np.array([row])).tobytes() == together[row].tobytes(), row
