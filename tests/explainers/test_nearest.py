"""The nearest unlike neighbour and the nearest robust one: the contract, and known answers."""

import gc
import weakref

import numpy as np
import pandas as pd
import pytest
from sklearn.linear_model import LogisticRegression

from betarce.ensemble import Ensemble
from betarce.errors import InvalidInput
from betarce.explainers import NearestUnlike, Problem, RobustNearest, check_explainer
from betarce.explainers.training_rows import nearest, pairwise
from betarce.features import FeatureSpace
from betarce.rules import at_most, immutable, may_be_missing, no_more_than
from contract_cases import keeps_the_contract
from small_problem import FEATURES, POINTS, TABLE

test_nearest_unlike_keeps_the_contract = keeps_the_contract(NearestUnlike(), rules=True)

test_nearest_unlike_by_true_label_keeps_the_contract = keeps_the_contract(NearestUnlike(true_label=True, norm="l2"))

test_robust_nearest_keeps_the_contract = keeps_the_contract(RobustNearest(), rules=True)

test_robust_nearest_going_back_keeps_the_contract = keeps_the_contract(RobustNearest(optimal=True, norm="l2"))

test_robust_nearest_with_members_keeps_the_contract = keeps_the_contract(
    lambda case: RobustNearest(members=[case.model, case.model], share=0.5)
)


class Linear:
    """Class 1 where 2a + b reaches a level."""

    classes_ = np.array([0, 1])

    def __init__(self, level):
        self.level = level

    def predict(self, X):
        return (2 * X[:, 0] + X[:, 1] >= self.level).astype(int)


GRID = np.stack(np.meshgrid(np.linspace(0, 1, 11), np.linspace(0, 1, 11)), axis=-1).reshape(-1, 2)
ORIGINALS = np.random.default_rng(3).uniform(0, 0.45, (30, 2))
WANTED = np.tile([False, True], (30, 1))


def grid_problem(rules=None, X=GRID, level=1.45, labels=None):
    features = FeatureSpace.infer(X, rules=rules)
    model = Linear(level)
    return Problem(Ensemble([model], [0, 1]), features, X, model.predict(X) if labels is None else labels)


def explain(explainer, problem, originals=ORIGINALS, wanted=WANTED):
    box = problem.features.box(originals)
    return explainer.explain(originals, wanted, problem, box, list(range(len(originals))))


@pytest.mark.parametrize(("norm", "power"), [("l1", 1), ("l2", 2)])
def test_on_a_grid_the_neighbour_is_that_of_a_plain_search(norm, power):
    problem = grid_problem()
    result = explain(NearestUnlike(norm=norm), problem)
    rows = GRID[problem.y_train == 1]
    gaps = np.linalg.norm(ORIGINALS[:, None] - rows, ord=power, axis=2)
    np.testing.assert_array_equal(result.points, rows[gaps.argmin(axis=1)])
    assert (result.n_evaluations == 2).all(), "the original, and one row that is good at once"


def test_pairwise_distances_are_those_of_the_feature_space():
    rng = np.random.default_rng(0)
    table = TABLE.assign(a=TABLE["a"].mask(rng.random(200) < 0.2), d=TABLE["d"].mask(rng.random(200) < 0.2))
    for features in (FeatureSpace.infer(table), FeatureSpace.infer(table[["a", "d"]]), FEATURES):
        points = POINTS if features is FEATURES else features.encode(table[[str(name) for name in features.names]])
        for norm in ("l1", "l2"):
            expected = features.distance(points[:20, None], points[None], norm=norm)
            np.testing.assert_allclose(pairwise(features, points[:20], points, norm=norm), expected, atol=1e-12)


def test_of_equal_rows_the_first_is_the_nearest_and_too_few_are_padded():
    features = FeatureSpace.infer(np.array([[0.0], [1.0]]))
    rows = np.array([[0.5], [0.25], [0.25], [0.5]])
    eligible = np.array([[True, True, True, False]])
    indices, distances = nearest(features, np.array([[0.0]]), rows, 9, norm="l1", eligible=eligible)
    np.testing.assert_array_equal(indices, [[1, 2, 0, -1]])
    np.testing.assert_array_equal(distances, [[0.25, 0.25, 0.5, np.inf]])


def test_a_row_that_leaves_the_class_in_the_box_makes_way_for_the_next():
    problem = grid_problem({"x0": at_most(0.2)})
    originals = np.array([[0.3, 0.3]])
    result = explain(NearestUnlike(), problem, originals, WANTED[:1])
    assert result.found.all()
    assert result.n_evaluations[0] > 2
    assert result.points[0, 0] <= 0.5
    rows = np.column_stack([np.clip(GRID[:, 0], 0.1, 0.5), GRID[:, 1]])
    good = (problem.y_train == 1) & (Linear(1.45).predict(rows) == 1)
    first = np.abs(GRID[good] - originals).sum(axis=1).argmin()
    np.testing.assert_allclose(result.points[0], rows[good][first])


def test_too_few_candidates_give_a_reason_in_words():
    result = explain(NearestUnlike(n_candidates=3), grid_problem({"x0": immutable(), "x1": immutable()}))
    assert not result.found.any()
    assert result.reasons[0].startswith("None of the 3 nearest training rows")
    np.testing.assert_array_equal(result.points, ORIGINALS)


def test_without_any_row_of_the_class_the_reason_says_so():
    problem = grid_problem(level=9)
    assert "no training row in the target class" in explain(NearestUnlike(), problem).reasons[0]
    against = grid_problem(labels=np.zeros(len(GRID), dtype=int))
    assert "Drop `true_label`" in explain(NearestUnlike(true_label=True), against).reasons[0]


def test_by_true_label_rows_that_the_model_gets_wrong_are_left_out():
    labels = Linear(1.45).predict(GRID)
    labels[GRID[:, 0] < 0.55] = 0
    problem = grid_problem(labels=labels)
    assert (explain(NearestUnlike(true_label=True), problem).points[:, 0] > 0.55).all()
    assert (explain(NearestUnlike(), problem).points[:, 0] < 0.55).any()


def test_an_original_of_the_class_stays():
    originals = np.array([[0.9, 0.9]])
    for explainer in (NearestUnlike(), RobustNearest(min_margin=0)):
        result = explain(explainer, grid_problem(), originals, WANTED[:1])
        np.testing.assert_array_equal(result.points, originals)
        assert result.n_evaluations[0] == 1


def test_any_of_several_classes_will_do():
    X = np.linspace(0, 1, 31)[:, None]
    y = np.repeat([0, 1, 2], [11, 10, 10])
    model = LogisticRegression(C=1e4, max_iter=10_000).fit(X, y)
    features = FeatureSpace.infer(X)
    problem = Problem(Ensemble([model], [0, 1, 2]), features, X, y)
    originals = np.full((3, 1), 0.02)
    wanted = np.array([[False, True, False], [False, False, True], [False, True, True]])
    points = explain(NearestUnlike(), problem, originals, wanted).points[:, 0]
    assert points[0] == points[2] < points[1]
    np.testing.assert_array_equal(model.predict(points[:, None]), [1, 2, 1])


def test_missing_values_and_linked_columns_are_kept_to():
    rng = np.random.default_rng(1)
    table = pd.DataFrame({"used": rng.random(80), "limit": 1 + rng.random(80), "note": rng.random(80)})
    table.loc[::3, "note"] = np.nan
    features = FeatureSpace.infer(table, rules={"used": no_more_than("limit"), "note": may_be_missing()})
    points = features.encode(table)

    class Model:
        classes_ = np.array([0, 1])

        def predict(self, X):
            return (X[:, 0] + np.nan_to_num(X[:, 2], nan=0.6) > 1).astype(int)

    problem = Problem(Ensemble([Model()], [0, 1]), features, points, Model().predict(points))
    originals = points[problem.y_train == 0][:20]
    for explainer in (NearestUnlike(), RobustNearest(optimal=True)):
        result = explain(explainer, problem, originals, WANTED[:20])
        assert result.found.all()
        assert not features.violations(result.points, features.box(originals)).any()
        assert (Model().predict(result.points) == 1).all()


def test_an_empty_batch_has_an_empty_answer():
    for explainer in (NearestUnlike(), RobustNearest(optimal=True)):
        assert explain(explainer, grid_problem(), ORIGINALS[:0], WANTED[:0]).points.shape == (0, 2)


def test_what_is_known_of_a_problem_goes_with_it():
    problem = grid_problem()
    explain(NearestUnlike(), problem)
    explain(RobustNearest(), problem)
    gone = weakref.ref(problem)
    del problem
    gc.collect()
    assert gone() is None


def test_the_robust_neighbour_is_the_nearest_that_all_members_accept():
    levels = [1.45, 1.75, 2.05]
    problem = grid_problem()
    result = explain(RobustNearest(members=[Linear(level) for level in levels]), problem)
    rows = GRID[Linear(max(levels)).predict(GRID) == 1]
    gaps = np.abs(ORIGINALS[:, None] - rows).sum(axis=2)
    np.testing.assert_array_equal(result.points, rows[gaps.argmin(axis=1)])

    two_of_three = explain(RobustNearest(members=[Linear(level) for level in levels], share=2 / 3), problem)
    rows = GRID[Linear(1.75).predict(GRID) == 1]
    gaps = np.abs(ORIGINALS[:, None] - rows).sum(axis=2)
    np.testing.assert_array_equal(two_of_three.points, rows[gaps.argmin(axis=1)])


def test_without_members_the_margin_decides():
    y = Linear(1.45).predict(GRID)
    model = LogisticRegression(C=100).fit(GRID, y)
    features = FeatureSpace.infer(GRID)
    problem = Problem(Ensemble([model], [0, 1]), features, GRID, y)
    for least in (0.0, 1.0, 3.0):
        result = explain(RobustNearest(min_margin=least), problem)
        assert (model.decision_function(result.points) >= least).all()
    far = explain(RobustNearest(min_margin=3.0), problem).points
    near = explain(RobustNearest(min_margin=0.0), problem).points
    assert (np.abs(far - ORIGINALS).sum(axis=1) >= np.abs(near - ORIGINALS).sum(axis=1)).all()


def test_going_back_is_closer_and_ends_at_the_border_of_the_test():
    y = Linear(1.45).predict(GRID)
    model = LogisticRegression(C=100).fit(GRID, y)
    features = FeatureSpace.infer(GRID)
    problem = Problem(Ensemble([model], [0, 1]), features, GRID, y)
    there = explain(RobustNearest(min_margin=1.0), problem).points
    back = explain(RobustNearest(min_margin=1.0, optimal=True), problem).points
    assert (np.abs(back - ORIGINALS).sum(axis=1) <= np.abs(there - ORIGINALS).sum(axis=1)).all()
    margins = model.decision_function(back)
    assert (margins >= 1).all()
    assert margins.max() < 1.05, "a linear margin has one border on the line, and the search halves towards it"


def test_a_test_that_nothing_passes_gives_a_reason():
    result = explain(RobustNearest(members=[Linear(1.45), Linear(9)]), grid_problem())
    assert not result.found.any()
    assert result.reasons[0].startswith("No training row of the target class passes the test")
    kept = explain(RobustNearest(min_margin=0, n_candidates=2), grid_problem({"x0": immutable(), "x1": immutable()}))
    assert kept.reasons[0].startswith("None of the 2 nearest training rows that pass the test")


def test_they_are_known_by_name():
    assert check_explainer("nearest") == NearestUnlike()
    assert isinstance(check_explainer("robust-nearest"), RobustNearest)


@pytest.mark.parametrize(
    ("make", "options", "name"),
    [
        (NearestUnlike, {"n_candidates": 0}, "n_candidates"),
        (NearestUnlike, {"norm": "l3"}, "norm"),
        (RobustNearest, {"members": []}, "members"),
        (RobustNearest, {"share": 0.0}, "share"),
        (RobustNearest, {"min_margin": -1.0}, "min_margin"),
        (RobustNearest, {"n_candidates": 1.5}, "n_candidates"),
        (RobustNearest, {"norm": "max"}, "norm"),
    ],
)
def test_options_out_of_range_are_refused(make, options, name):
    with pytest.raises(InvalidInput, match=f"`{name}` must"):
        make(**options)
