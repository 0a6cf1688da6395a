"""NICE: the contract, and what it promises about its neighbour."""

import numpy as np
import pandas as pd
import pytest
from sklearn.datasets import load_breast_cancer
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from betarce.comparison.metrics import plausibility
from betarce.ensemble import Ensemble
from betarce.errors import InvalidInput
from betarce.explainers import NearestUnlike, Nice, Problem, check_explainer
from betarce.features import FeatureSpace
from betarce.rules import derived, immutable
from contract_cases import keeps_the_contract

REWARDS = ["sparsity", "proximity", "plausibility"]

test_nice_for_sparsity_keeps_the_contract = keeps_the_contract(Nice(), rules=True)

test_nice_for_proximity_keeps_the_contract = keeps_the_contract(Nice(reward="proximity", true_label=False), rules=True)

test_nice_for_plausibility_keeps_the_contract = keeps_the_contract(Nice(reward="plausibility", norm="l2"), rules=True)


X, Y = load_breast_cancer(return_X_y=True)
MODEL = make_pipeline(StandardScaler(), LogisticRegression()).fit(X, Y)
FEATURES = FeatureSpace.infer(X)
PROBLEM = Problem(Ensemble([MODEL], [0, 1]), FEATURES, X, Y)
ORIGINALS = X[::12]
WANTED = MODEL.predict(ORIGINALS)[:, None] != np.array([0, 1])


def explain(explainer, problem=PROBLEM, originals=ORIGINALS, wanted=WANTED):
    return explainer.explain(originals, wanted, problem, problem.features.box(originals), [0] * len(originals))


@pytest.mark.parametrize("norm", ["l1", "l2"])
@pytest.mark.parametrize("reward", REWARDS)
def test_the_answer_is_made_of_the_original_and_its_neighbour_and_never_farther(reward, norm):
    result = explain(Nice(reward=reward, norm=norm))
    neighbour = explain(NearestUnlike(true_label=True, norm=norm)).points
    assert result.found.all()
    assert ((result.points == ORIGINALS) | (result.points == neighbour)).all()
    assert (MODEL.predict(result.points) == WANTED.argmax(axis=1)).all()
    gap, whole = (FEATURES.distance(points, ORIGINALS, norm=norm) for points in (result.points, neighbour))
    assert (gap <= whole + 1e-12).all()
    assert (gap < whole).mean() > 0.9


def plain_nice(original, neighbour, target, reward):
    """One row, one value at a time, as the paper tells it."""
    current, left = original.copy(), set(np.flatnonzero(original != neighbour))

    while MODEL.predict(current[None])[0] != target:
        columns = sorted(left)
        candidates = np.tile(current, (len(columns), 1))
        candidates[range(len(columns)), columns] = neighbour[columns]
        scores = MODEL.predict_proba(np.vstack([current, candidates]))[:, target]
        values = scores[1:] - scores[0]
        if reward == "proximity":
            values = values / (np.abs(neighbour - original) / FEATURES.scale)[columns]
        best = columns[int(values.argmax())]
        current[best] = neighbour[best]
        left.remove(best)
    return current


@pytest.mark.parametrize("reward", ["sparsity", "proximity"])
def test_the_batch_takes_the_steps_of_the_paper(reward):
    result = explain(Nice(reward=reward))
    neighbour = explain(NearestUnlike(true_label=True)).points
    for i in range(12):
        expected = plain_nice(ORIGINALS[i], neighbour[i], int(WANTED[i].argmax()), reward)
        np.testing.assert_array_equal(result.points[i], expected)


def test_each_reward_is_best_at_what_it_is_for():
    points = {reward: explain(Nice(reward=reward)).points for reward in REWARDS}
    changed = {reward: (p != ORIGINALS).sum(axis=1).mean() for reward, p in points.items()}
    distance = {reward: FEATURES.distance(p, ORIGINALS).mean() for reward, p in points.items()}
    away = {reward: plausibility(p, X, p=1, scale=FEATURES.scale, n_neighbors=5).mean() for reward, p in points.items()}
    assert min(changed, key=changed.get) == "sparsity", changed
    assert min(distance, key=distance.get) == "proximity", distance
    assert away["plausibility"] < away["sparsity"], away


def test_columns_that_may_not_change_do_not():
    features = FeatureSpace.infer(X, rules={f"x{j}": immutable() for j in range(10)})
    problem = Problem(Ensemble([MODEL], [0, 1]), features, X, Y)
    result = explain(Nice(), problem)
    assert result.found.any()
    np.testing.assert_array_equal(result.points[:, :10], ORIGINALS[:, :10])


def test_columns_that_depend_on_others_follow_them():
    rng = np.random.default_rng(0)
    table = pd.DataFrame({"a": rng.integers(0, 20, 200), "b": rng.integers(0, 20, 200)})
    table["sum"] = table["a"] + table["b"]
    labels = (table["sum"] > 20).astype(int)
    model = LogisticRegression(max_iter=1000).fit(table, labels)
    features = FeatureSpace.infer(table, rules={"sum": derived(lambda t: t["a"] + t["b"])})
    points = features.encode(table)
    problem = Problem(Ensemble([model], [0, 1], features=features), features, points, labels.to_numpy())
    originals = points[labels == 0][:30]
    result = explain(Nice(), problem, originals, np.tile([False, True], (30, 1)))
    assert result.found.all()
    np.testing.assert_array_equal(result.points[:, 2], result.points[:, 0] + result.points[:, 1])
    assert (model.predict(features.decode(result.points)) == 1).all()


def test_without_a_neighbour_the_reason_is_passed_on():
    features = FeatureSpace.infer(X, rules={f"x{j}": immutable() for j in range(30)})
    result = explain(Nice(n_candidates=2), Problem(Ensemble([MODEL], [0, 1]), features, X, Y))
    assert not result.found.any()
    assert result.reasons[0].startswith("None of the 2 nearest training rows")
    np.testing.assert_array_equal(result.points, ORIGINALS)


def test_an_original_of_the_class_stays():
    np.testing.assert_array_equal(explain(Nice(), wanted=~WANTED).points, ORIGINALS)


def test_it_is_known_by_name():
    assert check_explainer("nice") == Nice()


@pytest.mark.parametrize(
    "options", [{"reward": "speed"}, {"n_candidates": 0}, {"n_neighbors": 0}, {"norm": "l0"}], ids=str
)
def test_options_out_of_range_are_refused(options):
    with pytest.raises(InvalidInput, match=f"`{next(iter(options))}` must"):
        Nice(**options)
