"""Rungs on mixed tables: what company cannot change, and that no change can be spared."""

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from betarce.errors import InvalidInput
from betarce.features import FeatureSpace
from betarce.rules import cost, immutable
from betarce.search import FrontierSearch, GrowingSpheresSearch, Task
from betarce.testing import RULE_SETS, rule_case
from betarce.testing.contract import Contract

N = 10
TABLE = rule_case("none").X


def features_under(kind, most=None):
    return rule_case(kind, max_changes=most).features


def company_changes_nothing(run, *, alone):
    together = run(np.arange(N))
    Contract("the search", "a mixed table").company(run, together, N, alone)
    return together


class Hills:
    """A depth over a mixed table: numbers rise or fall it, each name has a height of its own.

    A missing number stands for one in the middle.
    """

    def __init__(self, features, seed, *, sloped, offset=1.0):
        rng = np.random.default_rng(seed)
        self.features, self.sloped, self.offset = features, sloped, offset
        self.middle = np.array([column.common[0] if len(column.common) else 0.0 for column in features.columns])
        self.weights = np.where(features.is_nominal, 0, rng.normal(size=len(features)) * 6) / features.scale
        self.heights = [rng.normal(size=len(column.levels or ())) for column in features.columns]

    def __call__(self, points, rows):
        filled = np.where(np.isnan(points), self.middle, points)
        depth = (filled - self.middle) @ self.weights - self.offset
        for j in np.flatnonzero(self.features.is_nominal):
            depth = depth + self.heights[j][filled[:, j].astype(int)]
        return depth, depth > -2

    def slopes(self, points, rows):
        return np.where(np.isnan(points), 0.0, self.weights) if self.sloped else None


def task_of(features, bases, rows):
    return Task(bases[rows], features, features.box(bases[rows]), [int(row) for row in rows])


def climb(search, features, depth, bases, rows):
    return search.climb(task_of(features, bases, rows), depth)


@pytest.mark.slow
@pytest.mark.parametrize("sloped", [True, False], ids=["sloped", "slopeless"])
@pytest.mark.parametrize("norm", ["l1", 0.4])
@pytest.mark.parametrize("kind", RULE_SETS)
def test_company_changes_no_ladder_under_any_rule(kind, norm, sloped):
    features = features_under(kind)
    bases, depth = features.encode(TABLE[:N]), Hills(features, 3, sloped=sloped)

    def run(rows):
        ladders = climb(FrontierSearch(norm=norm), features, depth, bases, rows)
        return vars(ladders)

    together = company_changes_nothing(run, alone=(0, 6))
    points, exists = together["points"], together["exists"]
    assert exists.any()
    rows, rungs = np.nonzero(exists)
    assert not features.violations(points[rows, rungs], features.box(bases[rows])).any()


class Shaky:
    """Features that count the same, by a sum whose last bits hang on how many points are asked about at once."""

    def __init__(self, *, sloped):
        self.sloped = sloped

    def __call__(self, points, rows):
        depth = (points.sum(axis=1) * 4 - 3) * (1 + 2e-16 * (len(points) % 13))
        return depth, depth > -3

    def slopes(self, points, rows):
        tilt = 1 + 2e-16 * ((np.arange(points.shape[1]) * len(points)) % 13)
        return np.tile(4 * tilt, (len(points), 1)) if self.sloped else None


@pytest.mark.parametrize("norm", ["l1", 0.4, "l2"])
@pytest.mark.parametrize("sloped", [True, False], ids=["sloped", "slopeless"])
def test_which_of_equal_features_changes_does_not_hang_on_rounding(sloped, norm):
    features = FeatureSpace.infer(np.array([[0.0] * 6, [1.0] * 6]))
    bases = np.random.default_rng(0).random((N, 6)).round(1) / 4

    def run(rows):
        ladders = climb(FrontierSearch(norm=norm), features, Shaky(sloped=sloped), bases, rows)
        return {name: getattr(ladders, name) for name in ("points", "exists", "n_evaluations")}

    company_changes_nothing(run, alone=range(N))


@pytest.mark.parametrize("kind", RULE_SETS)
def test_company_changes_no_sphere_under_any_rule(kind):
    features = features_under(kind)
    centers, depth = features.encode(TABLE[:N]), Hills(features, 3, sloped=False)

    def run(rows):
        task = task_of(features, centers, rows)
        found = GrowingSpheresSearch(max_evaluations=5000).find(task, lambda points, own: depth(points, own)[0] > 0)
        return vars(found)

    together = company_changes_nothing(run, alone=(0, 6))
    found = np.array(together["status"]) == "found"
    assert found.any()
    assert not features.violations(together["points"], features.box(centers))[found].any()


@pytest.mark.slow
@pytest.mark.parametrize("sloped", [True, False], ids=["sloped", "slopeless"])
@settings(max_examples=15, deadline=None)
@given(kind=st.sampled_from([kind for kind in RULE_SETS if kind != "derived"]), seed=st.integers(0, 10_000))
def test_no_single_change_of_a_rung_can_be_taken_back_at_its_level(sloped, kind, seed):
    features = features_under(kind)
    start = seed % (len(TABLE) - 3)
    bases, depth = features.encode(TABLE[start : start + 3]), Hills(features, seed, sloped=sloped)
    levels = np.array([4.0, 2.5, 1.5, 0.5, -np.inf])
    ladders = FrontierSearch().climb(task_of(features, bases, np.arange(3)), depth, levels=levels)
    assert not ladders.spent.any()
    for row, rung in zip(*np.nonzero(ladders.exists), strict=True):
        point, base = ladders.points[row, rung], bases[row]
        for column in np.flatnonzero(features.differs(point, base)):
            back = point.copy()
            back[column] = base[column]
            box = features.box(bases[[row]])
            allowed = features.project(back[None], box)
            if (allowed != back)[~np.isnan(back)[None]].any() or features.violations(allowed, box).any():
                continue  # taking it back is not allowed, or takes others with it
            [deep], [valid] = depth(allowed, np.array([row]))
            assert not (valid and deep >= ladders.levels[row, rung]), (kind, row, rung, column)


class Stairs:
    """A depth without slopes that rises in steps of the first feature, and in one leap of each of the others."""

    def __call__(self, points, rows):
        depth = np.floor(points[:, 0] * 97) / 10 + 2.0 * (points[:, 1:] > 0.137).sum(axis=1) - 3
        return depth, depth > 0

    def slopes(self, points, rows):
        return None


def test_a_change_goes_back_as_far_as_its_rung_stays_deep():
    features = FeatureSpace.infer(np.array([[0.0] * 3, [1.0] * 3]))
    bases = np.zeros((1, 3))
    # Moves of the whole range alone: all that is closer comes from putting changes back.
    search = FrontierSearch(steps=(1.0,), fine_steps=(1.0,), refinements=6)
    ladders = climb(search, features, Stairs(), bases, np.arange(1))
    points = ladders.points[0, ladders.exists[0]]
    moved = points[:, 1:][points[:, 1:] > 0]
    assert len(moved) > 5
    assert moved.min() > 0.137
    assert np.median(moved) < 0.137 * (1 + 1 / 8)


class Names:
    """A depth that rises with two numbers, and a little with one of many names; counts what is asked."""

    def __init__(self):
        self.asked = 0

    def __call__(self, points, rows):
        self.asked += len(points)
        depth = 0.4 * (points[:, 0] + points[:, 1]) + 0.5 * (points[:, 2] == 7) - 4
        return depth, depth > -4

    def slopes(self, points, rows):
        return None


def test_between_two_sweeps_only_the_best_names_are_tried():
    table = pd.DataFrame(
        {"a": np.linspace(0, 10, 60), "b": np.linspace(10, 0, 60), "k": [f"k{i % 30}" for i in range(60)]}
    )
    features, depth = FeatureSpace.infer(table), Names()
    bases = features.encode(table[:1])
    search = FrontierSearch(steps=(0.05,), fine_steps=(0.05,), refinements=0)
    ladders = climb(search, features, depth, bases, np.arange(1))
    points = ladders.points[0, ladders.exists[0]]
    assert (points[:, 2] == 7).any()
    assert len(features.settings[0]) == 30
    # Thirty names at every move of this climb would be 700 alone.
    assert depth.asked < 400


@pytest.mark.parametrize("sloped", [True, False], ids=["sloped", "slopeless"])
@pytest.mark.parametrize("most", [1, 2, 3])
def test_no_more_features_change_than_may(most, sloped):
    features = FeatureSpace.infer(TABLE, max_changes=most)
    bases, depth = features.encode(TABLE[:N]), Hills(features, 3, sloped=sloped, offset=-1)
    ladders = climb(FrontierSearch(), features, depth, bases, np.arange(N))
    rows, rungs = np.nonzero(ladders.exists)
    assert len(rows) > N
    changed = features.differs(ladders.points[rows, rungs], bases[rows]).sum(axis=1)
    assert changed.max() <= most


@pytest.mark.parametrize("sloped", [True, False], ids=["sloped", "slopeless"])
def test_a_price_per_feature_makes_changes_fewer(sloped):
    features = FeatureSpace.infer(TABLE)
    bases, depth = features.encode(TABLE[:N]), Hills(features, 5, sloped=sloped)

    def changed(price):
        ladders = climb(FrontierSearch(price=price), features, depth, bases, np.arange(N))
        rows, rungs = np.nonzero(ladders.exists)
        return features.differs(ladders.points[rows, rungs], bases[rows]).sum(axis=1).mean()

    assert changed(0.1) <= changed(0.01) <= changed(0.0)
    assert changed(0.1) < changed(0.0)


@pytest.mark.parametrize("sloped", [True, False], ids=["sloped", "slopeless"])
def test_a_feature_that_costs_more_changes_less(sloped):
    plain = FeatureSpace.infer(TABLE)
    bases, depth = plain.encode(TABLE[:N]), Hills(plain, 5, sloped=sloped)

    def gaps(features):
        ladders = climb(FrontierSearch(), features, depth, bases, np.arange(N))
        rows, rungs = np.nonzero(ladders.exists)
        return features.gaps(ladders.points[rows, rungs], bases[rows]).mean(axis=0)

    before = gaps(plain)
    favourite = int(before.argmax())
    after = gaps(FeatureSpace.infer(TABLE, {plain.names[favourite]: cost(3)}))
    assert after[favourite] < before[favourite]


@pytest.mark.parametrize("price", [-0.1, float("inf"), float("nan"), "much", None])
def test_a_wrong_price_is_refused(price):
    with pytest.raises(InvalidInput, match="`price` must be a number >= 0"):
        FrontierSearch(price=price)


@pytest.mark.parametrize("weight", [0, -1, float("inf"), float("nan"), "much", True, None])
def test_a_wrong_weight_is_refused(weight):
    with pytest.raises(InvalidInput, match=r"`weight` must be a number > 0; .* To forbid a change, use immutable\(\)"):
        cost(weight)


def test_what_is_derived_counts_as_no_change():
    features = features_under("derived", 1)
    bases, depth = features.encode(TABLE[:N]), Hills(features, 3, sloped=False, offset=-1)
    ladders = climb(FrontierSearch(), features, depth, bases, np.arange(N))
    rows, rungs = np.nonzero(ladders.exists)
    changed = features.differs(ladders.points[rows, rungs], bases[rows])
    derived = features.names.index("sum")
    assert np.delete(changed, derived, axis=1).sum(axis=1).max() == 1
    assert changed[:, derived].any()


def test_what_may_not_change_is_no_way_to_spare_changes():
    features = FeatureSpace.infer(TABLE, {"k": immutable()}, max_changes=2)
    bases = features.encode(TABLE[:N])
    box = features.box(bases)
    far = features.encode(TABLE[N : 2 * N])
    projected = features.project(far, box)
    assert not features.violations(projected, box).any()
    assert (features.differs(projected, bases).sum(axis=1) <= 2).all()
    assert (projected[:, features.names.index("k")] == bases[:, features.names.index("k")]).all()


class Counters:
    """A depth that rises with numbers of which each takes a few values only."""

    def __init__(self, seed, *, sloped):
        rng = np.random.default_rng(seed)
        self.weights, self.sloped = rng.uniform(0.3, 3, size=6), sloped

    def __call__(self, points, rows):
        depth = points @ self.weights - 4
        return depth, depth > -4

    def slopes(self, points, rows):
        return np.broadcast_to(self.weights, points.shape) if self.sloped else None


def test_slopes_made_search_blind_to_what_single_steps_of_a_coarse_grid_are_worth():
    table = pd.DataFrame({f"x{j}": np.arange(60) % (j + 3) for j in range(6)})
    features = FeatureSpace.infer(table)
    bases = features.encode(table[:6])

    def distance(seed, *, sloped):
        ladders = climb(FrontierSearch(), features, Counters(seed, sloped=sloped), bases, np.arange(6))
        deep = ladders.exists & (ladders.levels < 6)
        rows, rungs = np.nonzero(deep)
        return features.distance(ladders.points[rows, rungs], bases[rows]).mean()

    sloped, slopeless = (np.mean([distance(seed, sloped=known) for seed in range(20)]) for known in (True, False))
    # 0.93; it was 0.96 with the two steps along two features that are enough where all features move freely.
    assert sloped < 0.945 * slopeless
