"""Closest: the contract, and that nothing plain lies nearer."""

import numpy as np
import pytest
from sklearn.datasets import load_breast_cancer
from sklearn.ensemble import RandomForestClassifier
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from betarce.ensemble import Ensemble
from betarce.explainers import Closest, GrowingSpheres, Problem, check_explainer
from betarce.features import FeatureSpace
from betarce.rules import at_most, cost
from betarce.search import FrontierSearch
from betarce.testing import rule_case
from contract_cases import keeps_the_contract
from small_problem import FEATURES, ORIGINALS, PROBLEM, SEEDS, TARGETS

test_closest_keeps_the_contract = keeps_the_contract(
    Closest(), rules=True, frugal=Closest(FrontierSearch(max_evaluations=1))
)

test_closest_in_l2_keeps_the_contract = keeps_the_contract(Closest(FrontierSearch(norm="l2", price=0)))


X, Y = load_breast_cancer(return_X_y=True)
X = X[:, :8]


def problem_of(model, rules=None, **options):
    features = FeatureSpace.infer(X, rules, **options)
    return Problem(Ensemble([model.fit(X, Y)], [0, 1]), features, X, Y)


def explain(explainer, problem, rows=slice(0, None, 23)):
    originals = X[rows]
    targets = problem.model.labels(originals) != np.array([0, 1])
    return originals, explainer.explain(
        originals, targets, problem, problem.features.box(originals), list(range(len(originals)))
    )


MODELS = {
    "logistic": make_pipeline(StandardScaler(), LogisticRegression()),
    "forest": RandomForestClassifier(10, max_depth=4, random_state=0),
}


@pytest.mark.parametrize("name", MODELS)
def test_its_point_is_never_farther_than_growing_spheres_in_the_median(name):
    problem = problem_of(MODELS[name])
    originals, ours = explain(Closest(), problem)
    _, theirs = explain(GrowingSpheres(), problem)
    assert ours.found.all()
    mine, other = (problem.features.distance(each.points, originals)[theirs.found] for each in (ours, theirs))
    assert np.median(mine) <= np.median(other)
    changed = [(each.points != originals).sum(axis=1)[theirs.found].mean() for each in (ours, theirs)]
    assert changed[0] < 0.5 * changed[1]


def test_for_a_linear_model_nothing_lies_nearer():
    problem = problem_of(MODELS["logistic"])
    originals, result = explain(Closest(FrontierSearch(price=0)), problem)
    scaler, model = (step for _, step in MODELS["logistic"].steps)
    slopes = np.abs(model.coef_[0] / scaler.scale_) * problem.features.scale
    gap = np.abs(MODELS["logistic"].decision_function(originals))
    # One feature moves as far as it can, then the next; here the steepest alone nearly always has the room.
    distance = problem.features.distance(result.points, originals)
    assert (distance >= gap / slopes.max() - 1e-9).all()
    assert np.median(distance / (gap / slopes.max())) < 1.1


def test_a_feature_that_costs_more_changes_less_often():
    problem = problem_of(MODELS["logistic"])
    originals, plain = explain(Closest(), problem)
    often = (plain.points != originals).sum(axis=0)
    favourite = int(often.argmax())
    _, dear = explain(Closest(), problem_of(MODELS["logistic"], {f"x{favourite}": cost(3)}))
    assert dear.found.all()
    assert (dear.points != originals)[:, favourite].sum() < often[favourite]


def test_no_way_to_the_target_is_a_reason():
    problem = problem_of(MODELS["logistic"], {f"x{j}": at_most(1e-6) for j in range(8)})
    _, result = explain(Closest(), problem)
    assert not result.found.any()
    assert "on the way to the nearest training rows. Loosen `features`." in result.reasons[0]


def test_a_spent_budget_is_a_reason():
    box = FEATURES.box(ORIGINALS)
    result = Closest(FrontierSearch(max_evaluations=1)).explain(ORIGINALS, TARGETS, PROBLEM, box, SEEDS)
    assert not result.found.any()
    assert "Raise `max_evaluations`" in result.reasons[0]


def test_it_has_a_name():
    assert check_explainer("closest") == Closest()


def test_gaps_are_no_obstacle():
    problem = rule_case("may_be_missing").problem
    rows = np.flatnonzero(np.isnan(problem.X_train).any(axis=1))[:6]
    originals = problem.X_train[rows]
    targets = problem.model.labels(originals) != np.array([0, 1])
    result = Closest().explain(originals, targets, problem, problem.features.box(originals), list(range(6)))
    assert result.found.all()
