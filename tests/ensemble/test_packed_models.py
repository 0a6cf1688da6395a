"""Ensembles that were pickled: their members come back only when they are asked for."""

import pickle

import numpy as np
from sklearn.linear_model import LogisticRegression
from sklearn.neighbors import KNeighborsClassifier

from betarce import Ensemble
from betarce.ensemble.packed_models import PackedModels

X = np.random.default_rng(0).random((60, 3))
Y = (X[:, 0] + X[:, 1] > 1).astype(int)


class CountedModel(LogisticRegression):
    """A linear model that counts how often one of its kind is unpickled."""

    n_unpickled = 0

    def __setstate__(self, state):
        type(self).n_unpickled += 1
        super().__setstate__(state)


def members(kind, n=4):
    return [kind().fit(X[i::2], Y[i::2]) for i in range(n)]


def test_members_with_a_kernel_are_not_unpickled_to_vote():
    ensemble = Ensemble(members(LogisticRegression), [0, 1])
    again = pickle.loads(pickle.dumps(ensemble))
    assert isinstance(again.models, PackedModels), "the members travel as bytes"
    np.testing.assert_array_equal(again.margins(X, 1), ensemble.margins(X, 1))
    np.testing.assert_array_equal(again.votes(X, 1), ensemble.votes(X, 1))


def test_only_the_member_that_is_asked_for_is_unpickled():
    packed = PackedModels.of(members(CountedModel))
    CountedModel.n_unpickled = 0
    assert packed[2].predict(X[:1]).shape == (1,)
    assert packed[-2] is packed[2], "a model is unpickled once"
    assert CountedModel.n_unpickled == 1


def test_close_calls_are_put_to_the_members_themselves_after_a_journey():
    ensemble = Ensemble(members(LogisticRegression), [0, 1])
    # Points on a member's own border: rounding decides, so the member is asked.
    model = ensemble.models[1]
    points = X[:10].copy()
    points[:, 0] = -(points[:, 1:] @ model.coef_[0, 1:] + model.intercept_[0]) / model.coef_[0, 0]
    again = pickle.loads(pickle.dumps(ensemble))
    np.testing.assert_array_equal(again.labels(points), ensemble.labels(points))
    np.testing.assert_array_equal(again.labels(points)[:, 1], model.predict(points))


def test_members_that_are_asked_one_by_one_travel_as_they_are():
    ensemble = Ensemble(members(KNeighborsClassifier), [0, 1])
    again = pickle.loads(pickle.dumps(ensemble))
    assert isinstance(again.models, list)
    np.testing.assert_array_equal(again.labels(X), ensemble.labels(X))


def test_a_second_journey_packs_nothing_again():
    packed = PackedModels.of(members(CountedModel))
    CountedModel.n_unpickled = 0
    twice = pickle.loads(pickle.dumps(PackedModels.of(packed)))
    assert CountedModel.n_unpickled == 0, "bytes travel on as bytes"
    np.testing.assert_array_equal(twice[1].predict(X), packed[1].predict(X))
