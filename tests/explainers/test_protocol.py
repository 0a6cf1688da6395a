"""Explainers by name, their parameters, and what they share on a problem."""

import gc
import pickle
import weakref
from dataclasses import dataclass, replace

import numpy as np
import pytest
from sklearn.linear_model import LogisticRegression

import betarce as brce
from betarce.ensemble import Ensemble
from betarce.errors import InvalidInput
from betarce.explainers import EXPLAINERS, Explained, Problem, check_explainer, register
from betarce.features import FeatureSpace
from betarce.parameters import parameters_of, with_parameters

X, Y = np.linspace(0, 1, 51)[:, None], np.repeat([0, 1], [26, 25])
FEATURES = FeatureSpace.infer(X)


def problem():
    return Problem(Ensemble([LogisticRegression(C=100).fit(X, Y)], [0, 1]), FEATURES, X, Y)


@dataclass(frozen=True)
class ToTheRight:
    """Goes to the right end."""

    far: float = 1.0

    def explain(self, originals, targets, problem, box, seeds):
        points = np.full_like(originals, self.far)
        n = len(points)
        return Explained(points, np.ones(n, dtype=bool), [""] * n, np.zeros(n, dtype=int))


@pytest.mark.slow
def test_a_registered_explainer_is_known_by_its_name_everywhere(monkeypatch):
    monkeypatch.setattr("betarce.explainers.registry.EXPLAINERS", EXPLAINERS)
    register("to-the-right")(ToTheRight)
    try:
        assert check_explainer("to-the-right") == ToTheRight()
        comparison = brce.compare(
            ["to-the-right"], LogisticRegression(C=100), "bootstrap", X, Y,
            rows=X[:3], delta=0.6, confidence=0.8, n_audit=5, random_state=0, verbose=-1,
        )  # fmt: skip
        assert comparison.per_row["found"].all()
        assert brce.explainers.RobX(base="to-the-right", tau=0.1, n_samples=20)
    finally:
        del EXPLAINERS["to-the-right"]


def test_a_name_that_is_taken_is_refused_and_the_same_class_may_register_again():
    with pytest.raises(InvalidInput, match="`name` must be new; 'nice' is the explainer Nice"):
        register("nice")(ToTheRight)
    assert register("nice")(brce.explainers.Nice) is brce.explainers.Nice


def test_every_explainer_is_a_dataclass_whose_defaults_can_be_set_by_name():
    for name, kind in EXPLAINERS.items():
        parameters = parameters_of(kind())
        assert parameters, name
        assert parameters_of(with_parameters(kind(), parameters)) == parameters


def test_unknown_parameters_are_named_with_those_there_are():
    with pytest.raises(InvalidInput, match="ToTheRight has no parameter 'near'; it has far"):
        with_parameters(ToTheRight(), {"near": 2})
    with pytest.raises(InvalidInput, match="object has no parameter 'near'; only those of dataclasses can be set"):
        with_parameters(object(), {"near": 2})
    assert with_parameters(ToTheRight(), {"far": 0.5}) == ToTheRight(0.5)
    assert parameters_of(ToTheRight) == {}


# What is known of a problem


def test_what_is_cached_is_computed_once_for_each_problem_and_key():
    one, asked = problem(), []

    def compute():
        asked.append(1)
        return object()

    first = one.cached(("a", 1), compute)
    assert one.cached(("a", 1), compute) is first
    assert one.cached(("a", 2), compute) is not first
    assert len(asked) == 2
    other = replace(one, features=FEATURES)
    assert other.cached(("a", 1), compute) is not first


@pytest.mark.slow
def test_a_problem_that_is_no_longer_used_goes_with_all_that_is_cached_on_it():
    one = problem()
    brce.explainers.Face(n_neighbors=2).explain(X[:2], np.array([[False, True]] * 2), one, FEATURES.box(X[:2]), [0, 1])
    gone = weakref.ref(one)
    del one
    gc.collect()
    assert gone() is None


def test_a_pickled_problem_leaves_its_cache_behind_and_answers_the_same():
    one = problem()
    one.cached("unpicklable", lambda: lambda: None)
    again = pickle.loads(pickle.dumps(one))
    np.testing.assert_array_equal(again.is_target(X, np.tile([False, True], (51, 1))), Y == 1)
    assert again.cached("unpicklable", lambda: 3) == 3
