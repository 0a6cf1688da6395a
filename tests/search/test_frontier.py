"""The frontier search against problems with known answers."""

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from betarce.errors import InvalidInput
from betarce.features import FeatureSpace
from betarce.rules import decrease_only, immutable
from betarce.search import FrontierSearch, Ladders, Task
from betarce.search.archive import Archive
from betarce.search.direction import steepest
from betarce.testing import check_search_contract
from contract_cases import FOUR, case_named

UNIT = FeatureSpace.infer(np.array([[0.0] * 4, [1.0] * 4]))
TABLE = pd.DataFrame({"a": [0.0, 1.0], "b": [0, 10], "c": [-5.0, 5.0], "d": [0.0, 1.0]})
MIXED = FeatureSpace.infer(TABLE, rules={"d": immutable(), "c": decrease_only()})
CENTERS = np.array([[0.1, 2.0, 1.0, 0.5], [0.4, 9.0, -1.0, 0.25], [0.3, 1.0, 4.0, 0.75]])


class Plane:
    """A depth that rises linearly; points are valid above zero depth."""

    def __init__(self, weights, offset, *, sloped):
        self.weights, self.offset, self.sloped = np.asarray(weights, dtype=float), offset, sloped

    def __call__(self, points, rows):
        depth = points @ self.weights - self.offset
        return depth, depth > 0

    def slopes(self, points, rows):
        return np.broadcast_to(self.weights, points.shape) if self.sloped else None


class Islands:
    """No slope anywhere: deep only around a far point, flat elsewhere."""

    def __init__(self, center):
        self.center = np.asarray(center)

    def __call__(self, points, rows):
        inside = (np.abs(points - self.center) < 0.05).all(axis=1)
        return np.where(inside, 9.0, -1.0), inside

    def slopes(self, points, rows):
        return None


@pytest.mark.slow
@pytest.mark.parametrize("norm", ["l1", "l2"])
@pytest.mark.parametrize("name", FOUR)
def test_it_keeps_the_contract_of_searches(name, norm):
    frugal = FrontierSearch(norm=norm, max_evaluations=30)
    check_search_contract(FrontierSearch(norm=norm), cases=[case_named(name)], frugal=frugal)


def climb(search, bases, depth, features=UNIT, anchors=None, seeds=None):
    task = Task(bases, features, features.box(bases), seeds or list(range(len(bases))))
    return search.climb(task, depth, anchors=anchors)


@pytest.mark.parametrize("sloped", [True, False])
@given(weights=st.lists(st.floats(1, 20), min_size=4, max_size=4, unique=True))
@settings(max_examples=15, deadline=None)
def test_for_a_plane_every_rung_is_near_the_closest_point_there_is(sloped, weights):
    # The L1-closest point moves the steepest feature alone, until it hits its bound; then the next. A larger move is
    # taken for 90 % of the best gain for its distance, so a rung may be a ninth farther.
    plane = Plane(weights, offset=0.1 * sum(weights), sloped=sloped)
    base = np.full((1, 4), 0.1)
    ladders = climb(FrontierSearch(norm="l1"), base, plane)
    order = np.argsort(weights)[::-1]
    for level, point, there in zip(ladders.levels[0], ladders.points[0], ladders.exists[0], strict=True):
        if not there or not np.isfinite(level):
            continue
        left, cost = level, 0.0
        for j in order:
            step = min(left / weights[j], 0.9)
            left, cost = left - step * weights[j], cost + step
        assert plane(point[None], None)[0][0] >= level - 1e-9
        assert UNIT.distance(point[None], base)[0] <= cost / 0.9 + 0.02


def test_rungs_go_from_deep_and_far_to_shallow_and_close():
    plane = Plane([10, 1, 1, 1], 2.0, sloped=False)
    base = np.array([[0.1, 0.2, 0.3, 0.4]])
    ladders = climb(FrontierSearch(norm="l1"), base, plane)
    points = ladders.points[0, ladders.exists[0]]
    depth, _ = plane(points, None)
    assert (depth >= ladders.levels[ladders.exists]).all()
    assert (np.diff(UNIT.distance(points, np.repeat(base, len(points), axis=0))) < 0).all()


def test_a_base_that_is_deep_enough_is_its_own_only_rung():
    ladders = climb(FrontierSearch(), np.full((1, 4), 0.9), Plane([20, 1, 1, 1], 2.0, sloped=False))
    assert ladders.exists.sum() == 1
    np.testing.assert_array_equal(ladders.points[ladders.exists], np.full((1, 4), 0.9))


@pytest.mark.parametrize("sloped", [True, False])
def test_a_base_that_is_nearly_deep_enough_has_rungs_close_to_itself(sloped):
    base = np.full((1, 4), 0.5)
    ladders = climb(FrontierSearch(), base, Plane([10, 1, 1, 1], 4.5, sloped=sloped))
    distances = UNIT.distance(ladders.points[0, ladders.exists[0]], base)
    assert distances[-1] == 0
    assert distances[-2] < 0.01
    assert (distances[-12:-2] / distances[-11:-1] < 1.25).all()


@pytest.mark.parametrize("share", [0.2, 0.4, 0.8])
def test_where_slopes_are_known_a_mixture_is_met_as_well_as_can_be(share):
    weights = np.array([6.0, 5.0, 3.0, 1.0])
    base = np.full((1, 4), 0.1)
    ladders = climb(FrontierSearch(norm=share, price=0), base, Plane(weights, 1.6, sloped=True))
    ideal = steepest(weights[None], share)[0]
    for point in ladders.points[0, ladders.exists[0]][-8:-1]:
        away = point - base[0]
        best = ideal * (away @ weights) / (ideal @ weights)
        cost = [(1 - share) * np.abs(x).sum() + share * np.linalg.norm(x) for x in (away, best)]
        assert cost[0] <= 1.02 * cost[1]


def test_where_climbing_is_stuck_an_anchor_shows_the_way():
    base, far = np.full((1, 4), 0.2), np.full((1, 1, 4), 0.8)
    depth = Islands(far[0, 0])
    assert not climb(FrontierSearch(), base, depth).exists.any()
    ladders = climb(FrontierSearch(), base, depth, anchors=far)
    points = ladders.points[ladders.exists]
    assert depth(points, None)[1].all()
    distances = UNIT.distance(points, np.repeat(base, len(points), axis=0))
    assert distances[0] == pytest.approx(UNIT.distance(far[0], base)[0])
    assert (np.diff(distances) < 0).all()


@pytest.mark.parametrize("sloped", [True, False])
def test_types_rules_and_bounds_hold_on_every_rung_and_for_every_candidate(sloped):
    plane = Plane([5, 0.6, -0.4, 50], 3.0, sloped=sloped)
    box = MIXED.box(CENTERS)

    class Watch(Plane):
        def __call__(self, points, rows):
            assert (points >= box.lower[rows]).all()
            assert (points <= box.upper[rows]).all()
            np.testing.assert_array_equal(MIXED.encode(MIXED.decode(points)), points)
            return plane(points, rows)

    ladders = climb(FrontierSearch(), CENTERS, Watch(plane.weights, 3.0, sloped=sloped), MIXED)
    assert ladders.exists.any(axis=1).all()


@pytest.mark.parametrize("sloped", [True, False])
def test_a_row_does_not_depend_on_the_batch_it_is_in(sloped):
    plane = Plane([5, 0.6, -0.4, 50], 3.0, sloped=sloped)
    together = climb(FrontierSearch(), CENTERS, plane, MIXED)
    for i in range(len(CENTERS)):
        alone = climb(FrontierSearch(), CENTERS[[i]], plane, MIXED, seeds=[i])
        np.testing.assert_array_equal(alone.points[0], together.points[i])
        np.testing.assert_array_equal(alone.exists[0], together.exists[i])
        assert alone.n_evaluations[0] == together.n_evaluations[i]


def test_anchors_are_the_safest_rungs_of_all():
    plane = Plane([10, 1, 1, 1], 2.0, sloped=False)
    base, deep = np.full((1, 4), 0.2), np.full((1, 2, 4), 0.95)
    ladders = climb(FrontierSearch(), base, plane, anchors=deep)
    points = ladders.points[0, ladders.exists[0]]
    np.testing.assert_allclose(points[0], 0.95)
    without = climb(FrontierSearch(), base, plane)
    np.testing.assert_array_equal(points[-10:], without.points[0, without.exists[0]][-10:])


@pytest.mark.parametrize("sloped", [True, False])
def test_depth_was_asked_about_no_points_where_no_row_was_left_to_move(sloped):
    class Picky(Plane):
        def __call__(self, points, rows):
            assert len(points), "models of users take no empty tables"
            return super().__call__(points, rows)

    for centers in (CENTERS, CENTERS[:1], np.vstack([CENTERS, [[0.9, 9.0, 1.0, 0.5]]])):
        for depth in (Picky([5, 0.6, -0.4, 50], 30.0, sloped=sloped), Picky([5, 0.6, -0.4, 0], 3.0, sloped=sloped)):
            climb(FrontierSearch(), centers, depth, MIXED, anchors=np.repeat(centers[:, None], 2, axis=1))


def test_inputs_are_left_alone():
    before = CENTERS.copy()
    climb(FrontierSearch(), CENTERS, Plane([5, 0.6, -0.4, 50], 3.0, sloped=False), MIXED)
    np.testing.assert_array_equal(CENTERS, before)


class Nowhere:
    """A goal that no point reaches; counts how often each row is asked."""

    def __init__(self, n_rows):
        self.asked = np.zeros(n_rows, dtype=int)

    def __call__(self, points, rows):
        self.asked += np.bincount(rows, minlength=len(self.asked))
        return np.full(len(points), -1.0), np.zeros(len(points), dtype=bool)

    def slopes(self, points, rows):
        return None

    def is_robust(self, points, rows):
        return self(points, rows)[1]

    def anchors(self, task):
        return np.repeat(task.starts[:, None] * 0.5, 2, axis=1)


@pytest.mark.parametrize("budget", [1, 2, 100, 101, 250, 3000])
def test_growing_spheres_overran_the_budget_of_a_frontier_search_that_met_nothing(budget):
    goal = Nowhere(len(CENTERS))
    task = Task(CENTERS, MIXED, MIXED.box(CENTERS), [0, 1, 2])
    ladders = FrontierSearch(max_evaluations=budget).ladders(task, goal)
    assert (ladders.n_evaluations == goal.asked).all()
    assert (goal.asked <= budget).all()
    assert ladders.spent.all() or budget == 3000
    assert not ladders.exists.any()


@pytest.mark.parametrize("budget", range(60, 140, 8))
def test_a_budget_that_ended_while_rungs_were_placed_made_not_a_number_of_their_places(budget):
    plane = Plane([3.0, 0.2, -0.4, 1.0], offset=2.5, sloped=False)
    ladders = climb(FrontierSearch(max_evaluations=budget), CENTERS, plane, MIXED)
    assert np.isfinite(ladders.points[ladders.exists]).all()
    assert (ladders.n_evaluations <= budget).all()


@pytest.mark.parametrize("budget", [1, 40, 100, 500])
def test_the_budget_is_kept_and_its_end_is_said(budget):
    asked = np.zeros(3, dtype=int)

    class Count(Plane):
        def __call__(self, points, rows):
            np.add.at(asked, rows, 1)
            return super().__call__(points, rows)

    depth, anchors = Count([5, 0.6, -0.4, 50], 400.0, sloped=False), np.repeat(CENTERS[:, None], 2, axis=1)
    anchors[:, :, 0] = 0.9
    ladders = climb(FrontierSearch(max_evaluations=budget), CENTERS, depth, MIXED, anchors=anchors)
    np.testing.assert_array_equal(asked, ladders.n_evaluations)
    assert (asked <= budget).all()
    assert not ladders.exists.any()
    if budget < 100:
        assert ladders.spent.all()


class Terraces:
    """A depth without slopes that rises in small steps of its own along every feature."""

    def __init__(self, seed):
        rng = np.random.default_rng(seed)
        self.edges, self.gains = np.sort(rng.random((4, 60))), rng.exponential(size=(4, 60)) / 6

    def __call__(self, points, rows):
        depth = sum(
            (gains * (points[:, [j]] > edges)).sum(axis=1)
            for j, (edges, gains) in enumerate(zip(self.edges, self.gains, strict=True))
        )
        return depth - 6, depth > 6

    def slopes(self, points, rows):
        return None


def test_a_thorough_search_comes_closer_where_depth_has_steps():
    bases = np.full((1, 4), 0.1)

    def distance(search, seed):
        ladders = climb(search, bases, Terraces(seed))
        rungs = ladders.exists[0] & (ladders.levels[0] > 1) & (ladders.levels[0] < 3)
        points = ladders.points[0, rungs]
        return UNIT.distance(points, np.repeat(bases, len(points), axis=0)).mean()

    usual = np.mean([distance(FrontierSearch(), seed) for seed in range(30)])
    thorough = np.mean([distance(FrontierSearch.thorough(), seed) for seed in range(30)])
    assert thorough < 0.99 * usual


def test_wide_tables_try_some_features_at_a_time():
    wide = FeatureSpace.infer(np.vstack([np.zeros(300), np.ones(300)]))
    base = np.full((2, 300), 0.2)
    weights = np.zeros(300)
    weights[:150] = 20
    ladders = climb(FrontierSearch(), base, Plane(weights, 600.0, sloped=False), wide)
    assert ladders.exists.any(axis=1).all()


def test_l2_spreads_the_change_and_l1_does_not():
    plane = Plane([10, 9.9, 9.8, 9.7], 4.0, sloped=True)
    base = np.full((1, 4), 0.1)
    norms = {}
    for norm in ("l1", "l2"):
        ladders = climb(FrontierSearch(norm=norm), base, plane)
        points = ladders.points[0, ladders.exists[0]]
        norms[norm] = np.median((np.abs(points - base) > 1e-9).sum(axis=1))
    assert norms["l1"] < norms["l2"]


@pytest.mark.parametrize(
    "options",
    [
        {"norm": "l3"},
        {"norm": 1.5},
        {"steps": ()},
        {"steps": (0.0,)},
        {"max_climbs": 0},
        {"refinements": -1},
        {"max_evaluations": 0},
    ],
)
def test_wrong_options_are_refused(options):
    with pytest.raises(InvalidInput, match=f"`{next(iter(options))}` must be"):
        FrontierSearch(**options)


@given(seed=st.integers(0, 10_000))
def test_the_archive_keeps_the_cheapest_valid_point_of_every_level(seed):
    rng = np.random.default_rng(seed)
    levels = np.array([3.0, 2.0, 1.0, 0.0, -np.inf])
    archive = Archive(np.tile(levels, (3, 1)), n_features=1)
    everything = []
    for _ in range(4):
        rows, depth, cost = rng.integers(3, size=20), rng.normal(1, 2, 20), rng.random(20)
        valid = rng.random(20) < 0.7
        archive.add(rows, cost[:, None], depth, valid, cost)
        everything.extend(zip(rows, depth, cost, valid, strict=True))
    points, costs = archive.best()
    for row in range(3):
        for k, level in enumerate(levels):
            best = min((c for r, z, c, v in everything if r == row and v and z >= level), default=np.inf)
            assert costs[row, k] == best
            assert best == np.inf or points[row, k, 0] == best


def test_ladders_can_be_spread_over_more_rows():
    ladders = climb(FrontierSearch(), CENTERS, Plane([5, 0.6, -0.4, 50], 3.0, sloped=False), MIXED)
    spread = ladders.spread(np.array([0, 2, 5]), 6)
    np.testing.assert_array_equal(spread.exists.any(axis=1), [True, False, True, False, False, True])
    assert not Ladders.none(2, 3).exists.any()
