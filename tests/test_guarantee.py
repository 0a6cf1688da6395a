"""The promise itself, by simulation against fresh models that nothing else saw."""

import warnings

import numpy as np
import pytest
from sklearn.datasets import make_classification
from sklearn.linear_model import LogisticRegression
from sklearn.tree import DecisionTreeClassifier

from betarce import Ensemble, FeatureSpace, Guarantee
from betarce.drawing import draw_members
from betarce.explainers import GrowingSpheres, Problem
from betarce.models.recipe import Recipe, Table
from betarce.posterior import EXACT
from betarce.robustify.certify import walk_ladders
from betarce.robustify.steer import Steering, Task
from betarce.search import FrontierSearch, GrowingSpheresSearch
from betarce.spaces import Bootstrap

N_SETS, N_AUDIT, N_ROWS = 8, 300, 30
GUARANTEE = Guarantee(0.8, 0.9, EXACT)
# A single tree is a hard case: its members disagree widely, and the paper's search hides that.
MOST_DISTANCE = {"logistic": 0.6, "tree": 0.9}  # as a share of the paper's
FAMILIES = {"logistic": LogisticRegression(C=10), "tree": DecisionTreeClassifier(max_depth=4)}


@pytest.fixture(scope="module", params=FAMILIES)
def scene(request):
    X, y = make_classification(n_samples=400, n_features=6, n_informative=5, n_redundant=0, flip_y=0.15, random_state=1)
    train, table = X[:300], Table(X[:300], y[:300])
    model = FAMILIES[request.param]
    n = GUARANTEE.min_models(allowed_dissent=1)
    sizes = {f"set{i}": n for i in range(N_SETS)} | {"audit": N_AUDIT}
    draws = draw_members(Bootstrap(), Recipe(model), table, sizes, seed=0, verbose=-1)
    features = FeatureSpace.infer(train)
    problem = Problem(Ensemble([model.fit(train, y[:300])], [0, 1]), features, train, y[:300])
    originals = X[300 : 300 + N_ROWS]
    targets = problem.model.labels(originals) != problem.model.classes
    box, seeds = features.box(originals), list(range(N_ROWS))
    based = GrowingSpheres().explain(originals, targets, problem, box, seeds)
    assert based.found.all()
    sets = [Ensemble(draws[f"set{i}"].models, [0, 1]) for i in range(N_SETS)]
    return problem, Task(based.points, targets, box, seeds), sets, Ensemble(draws["audit"].models, [0, 1])


def handed_out(scene, search, *, fresh):
    """Give coverage, found rate and median distance to base over all sets of members."""
    problem, task, sets, audit = scene
    covered, found, distance = [], [], []
    for i, steer in enumerate(sets):
        decide = sets[(i + 1) % N_SETS] if fresh else steer
        quorum = len(steer) if fresh else GUARANTEE.quorum(len(steer))
        ladders = Steering(search, problem, steer, quorum).ladders(task)
        for row, walk in enumerate(walk_ladders(ladders, task.targets, decide, GUARANTEE)):
            found.append(walk.passed > 0)
            if walk.passed:
                point = ladders.points[row, ladders.exists[row]][[walk.passed - 1]]
                covered.append(audit.votes(point, task.targets[row][None])[0] / N_AUDIT >= GUARANTEE.delta)
                distance.append(problem.features.distance(point, task.bases[[row]])[0])
    return np.mean(covered), np.mean(found), np.median(distance)


def test_hold_out_certificates_keep_their_promise_below_the_papers_distance(scene, request):
    coverage, found, distance = handed_out(scene, FrontierSearch(), fresh=True)
    _, _, papers_distance = handed_out(scene, GrowingSpheresSearch(), fresh=False)
    # 240 points, but only eight independent sets of members: about 0.03 of standard error.
    assert coverage >= GUARANTEE.confidence - 0.06
    assert found >= 0.9
    assert distance <= MOST_DISTANCE[request.node.callspec.params["scene"]] * papers_distance


def test_certifying_with_the_members_that_steered_a_tight_search_breaks_the_promise(scene):
    fresh, _, _ = handed_out(scene, FrontierSearch(), fresh=True)
    steered, _, _ = handed_out(scene, FrontierSearch(), fresh=False)
    assert steered < fresh


def test_the_simulation_is_the_same_every_time(scene):
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert handed_out(scene, FrontierSearch(), fresh=True) == handed_out(scene, FrontierSearch(), fresh=True)
