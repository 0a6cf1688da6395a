"""A search of one's own: any object with `ladders(task, goal)` steers BetaRCE."""

from dataclasses import dataclass, replace

import numpy as np
import pytest
from sklearn.datasets import make_classification
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

import betarce as brce
from betarce.errors import InvalidInput
from betarce.search import Ladders, Task, check_search

X, Y = make_classification(n_samples=300, n_features=5, n_informative=4, n_redundant=0, flip_y=0.1, random_state=3)
LOOSE = {"delta": 0.6, "confidence": 0.8, "n_models": (9, 20), "random_state": 0, "verbose": -1}


@dataclass(frozen=True)
class StraightLine:
    """Walks from each row straight to the deepest row of the data that the goal knows, and keeps what would do."""

    steps: int = 20

    def ladders(self, task, goal):
        far = goal.anchors(task)[:, -1]
        shares = np.linspace(0, 1, self.steps)[:, None]
        n, d = task.starts.shape
        points = task.features.blend(far[:, None], task.starts[:, None], shares).reshape(n * self.steps, d)
        rows = np.repeat(np.arange(n), self.steps)
        points = task.features.project(points, task.box.take(rows))
        depth, valid = goal(points, rows)
        good = (valid & goal.is_robust(points, rows)).reshape(n, self.steps)
        return Ladders(
            points.reshape(n, self.steps, d),
            good,
            depth.reshape(n, self.steps),
            np.full(n, self.steps),
            np.zeros(n, dtype=bool),
        )


def fitted(search, **options):
    model = make_pipeline(StandardScaler(), LogisticRegression())
    return brce.BetaRCE(model, search=search, **{**LOOSE, **options}).fit(X[:250], Y[:250])


@pytest.mark.slow
def test_a_third_search_steers_the_explainer():
    rce = fitted(StraightLine())
    result = rce.explain(X[250:260])
    assert result.certified.all()
    for item in result:
        assert rce.model_.predict(item.robust[None])[0] == item.target
        votes = sum(member.predict(item.robust[None])[0] == item.target for member in rce.members_.certifying.models)
        assert votes == item.certificate.n_agree >= rce.guarantee_.quorum(20)
    again = rce.explain(X[250:260], base_points=result.points("base"))
    assert {item.n_evaluations for item in again} == {20}


def test_parameters_of_a_third_search_are_honoured_after_fit():
    rce = fitted(StraightLine())
    bases = rce.explain(X[250:255]).points("base")
    rce.set_params(search=StraightLine(steps=7))
    assert {item.n_evaluations for item in rce.explain(X[250:255], base_points=bases)} == {7}


@pytest.mark.slow
def test_a_search_without_climb_leaves_the_base_for_contrast_to_the_default_one():
    straight, usual = (
        fitted(search).explain(X[250:253]).points("base").to_numpy(float) for search in (StraightLine(), "frontier")
    )
    # A rung of the frontier may be closer still, and is shown then.
    far, close = (np.abs(points - X[250:253]).sum(axis=1) for points in (straight, usual))
    assert (close <= far).all()
    np.testing.assert_allclose(straight, usual, atol=0.01)


@pytest.mark.slow
def test_points_that_the_model_itself_does_not_put_in_the_target_class_are_no_candidates():
    class StaysAtHome(StraightLine):
        def ladders(self, task, goal):
            ladders = super().ladders(task, goal)
            points, exists = ladders.points.copy(), ladders.exists.copy()
            points[:, -1], exists[:, -1] = task.starts, True
            return replace(ladders, points=points, exists=exists)

    plain, home = (fitted(search).explain(X[250:256]) for search in (StraightLine(), StaysAtHome()))
    np.testing.assert_array_equal(plain.points("robust"), home.points("robust"))


def test_what_has_no_ladders_is_no_search():
    for wrong in ("tabu", 3, None, StraightLine):
        with pytest.raises(InvalidInput, match=r"`search` must be one of 'frontier', .* `ladders\(task, goal\)`; got"):
            check_search(wrong)


def test_ladders_of_the_wrong_shape_are_refused_by_name():
    good = {
        "points": np.zeros((2, 3, 4)),
        "exists": np.ones((2, 3), dtype=bool),
        "levels": np.zeros((2, 3)),
        "n_evaluations": np.zeros(2, dtype=int),
        "spent": np.zeros(2, dtype=bool),
    }
    Ladders(**good)
    for name, value in {
        "points": np.zeros((2, 4)),
        "levels": np.zeros((2, 2)),
        "n_evaluations": np.zeros(3, dtype=int),
        "spent": np.zeros((2, 3), dtype=bool),
    }.items():
        with pytest.raises(InvalidInput, match=f"`{name}` of ladders must have one entry per row"):
            Ladders(**{**good, name: value})
    for name in ("exists", "spent"):
        with pytest.raises(InvalidInput, match=f"`{name}` of ladders must be bool; got int64"):
            Ladders(**{**good, name: good[name].astype(int)})


def test_a_task_takes_rows_with_their_boxes_and_seeds():
    features = brce.FeatureSpace.infer(X)
    task = Task(X[:4], features, features.box(X[:4]), [5, 6, 7, 8])
    some = task.take(np.array([2, 0]))
    assert len(some) == 2
    assert some.seeds == [7, 5]
    np.testing.assert_array_equal(some.starts, X[[2, 0]])
    np.testing.assert_array_equal(some.box.origin, X[[2, 0]])
