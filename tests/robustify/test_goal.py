"""Depth: what it is, and that its slope is its slope."""

import numpy as np
import pytest
from sklearn.datasets import make_classification
from sklearn.linear_model import LogisticRegression
from sklearn.neural_network import MLPClassifier
from sklearn.tree import DecisionTreeClassifier

from betarce import Ensemble, FeatureSpace
from betarce.explainers import Problem
from betarce.robustify.goal import Anchors, MembersGoal, margin_scales

X, Y = make_classification(
    n_samples=200, n_features=4, n_informative=4, n_redundant=0, n_classes=3, n_clusters_per_class=1, random_state=0
)
RNG = np.random.default_rng(0)
WANTED = np.array([False, True])


def bootstrapped(make, y, n=8):
    rows = [RNG.integers(len(X), size=len(X)) for _ in range(n)]
    return [make(i).fit(X[rows[i]], y[rows[i]]) for i in range(n)]


def goal_of(make, n_classes):
    y = Y % n_classes
    models = bootstrapped(make, y)
    classes = np.arange(n_classes)
    problem = Problem(Ensemble(models[:1], classes), FeatureSpace.infer(X), X, y)
    targets = np.array([1, 0])
    return MembersGoal(problem, Ensemble(models[1:], classes), targets), problem, Ensemble(models[1:], classes)


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
@pytest.mark.parametrize("n_classes", [2, 3])
@pytest.mark.parametrize(
    "make",
    [
        lambda i: LogisticRegression(),
        lambda i: MLPClassifier((12,), activation="tanh", max_iter=80, random_state=i),
    ],
    ids=["logistic", "mlp"],
)
def test_slopes_are_the_gradient_of_the_depth(make, n_classes):
    goal, _, _ = goal_of(make, n_classes)
    points, rows = X[:10], np.arange(10) % 2
    slopes = goal.slopes(points, rows)
    for column in range(4):
        step = np.zeros(4)
        step[column] = 1e-5
        numeric = (goal(points + step, rows)[0] - goal(points - step, rows)[0]) / 2e-5
        np.testing.assert_allclose(slopes[:, column], numeric, rtol=1e-2, atol=1e-3)


def test_depth_is_mean_over_spread_of_the_squashed_margins():
    goal, problem, members = goal_of(lambda i: LogisticRegression(), 2)
    rows = np.zeros(len(X), dtype=int)
    depth, valid = goal(X, rows)
    margins = np.tanh(members.margins(X, 1))
    np.testing.assert_allclose(depth, margins.mean(axis=1) / np.sqrt(margins.var(axis=1) + 1e-12), rtol=1e-6)
    np.testing.assert_array_equal(valid, problem.model.labels(X)[:, 0] == 1)


def test_members_without_gradients_have_no_slopes_and_labels_alone_give_a_depth():
    class LabelsOnly:
        def __init__(self, threshold):
            self.threshold = threshold

        def predict(self, X):
            return (np.asarray(X)[:, 0] > self.threshold).astype(int)

    members = Ensemble([LabelsOnly(t) for t in (0.1, 0.2, 0.3, 0.4)], [0, 1])
    problem = Problem(Ensemble([LabelsOnly(0.0)], [0, 1]), FeatureSpace.infer(X), X, Y % 2)
    goal = MembersGoal(problem, members, np.array([1]))
    points = np.array([[0.0], [0.15], [0.25], [0.35], [0.5]]) * np.ones((1, 4))
    depth, _ = goal(points, np.zeros(5, dtype=int))
    assert (np.diff(depth) > 0).all()
    assert goal.slopes(points, np.zeros(5, dtype=int)) is None


def test_anchors_are_deep_near_and_allowed():
    goal, problem, members = goal_of(lambda i: DecisionTreeClassifier(max_depth=3, random_state=i), 2)
    anchors = Anchors(problem, members)
    points = X[:5]
    box = problem.features.box(points)
    nearest = anchors.nearest(points, WANTED, box)
    assert nearest.shape == (5, 4, 4)
    for i in range(5):
        assert (nearest[i] >= box.lower[i]).all()
        assert (nearest[i] <= box.upper[i]).all()
        depth, valid = goal(nearest[i], np.zeros(4, dtype=int))
        assert valid.all()
        assert (depth > 0).all()


def test_a_class_that_no_member_ever_gives_has_no_anchors():
    class Never:
        def predict(self, X):
            return np.zeros(len(X), dtype=int)

    problem = Problem(Ensemble([Never()], [0, 1]), FeatureSpace.infer(X), X, Y % 2)
    assert (
        Anchors(problem, Ensemble([Never(), Never()], [0, 1])).nearest(X[:2], WANTED, problem.features.box(X[:2]))
        is None
    )


def test_margins_are_measured_in_units_of_their_usual_size():
    _, problem, members = goal_of(lambda i: LogisticRegression(C=10.0 ** (i - 4), max_iter=500), 2)
    scales = margin_scales(problem, members)
    assert scales.max() > 5 * scales.min()
    np.testing.assert_allclose(np.median(np.abs(members.margins(X, 1) / scales), axis=0), 1.0)
