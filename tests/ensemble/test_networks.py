"""Stacked networks against each network's own answer."""

import warnings
from itertools import pairwise

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.exceptions import ConvergenceWarning
from sklearn.neural_network import MLPClassifier
from sklearn.preprocessing import MinMaxScaler, StandardScaler

from betarce.ensemble import Ensemble
from betarce.ensemble import networks as kernels
from betarce.ensemble.networks import NetworkKernel
from betarce.ensemble.preprocessing.columns import OutputColumn, Preprocessing
from betarce.ensemble.preprocessing.scaling import Op
from betarce.ensemble.preprocessing.unwrap import UnwrappedModel
from betarce.ensemble.unreadable import Unreadable
from betarce.models.network import Network, rounding, train_networks

RANDOM = np.random.default_rng(0)
X = RANDOM.random((150, 4))
TWO = np.where(X[:, 0] + 0.3 * X[:, 1] + 0.1 * RANDOM.normal(size=150) > 0.65, "yes", "no")
THREE = np.digitize(X[:, 0] + 0.3 * X[:, 1], [0.5, 0.8])


def stack(members, scalers=None):
    return kernels.stack(
        [
            UnwrappedModel(member, before)
            for member, before in zip(members, scaled_by(scalers, len(members)), strict=True)
        ]
    )


def scaled_by(scalers, n):
    """Write scalers as the preprocessing of each member."""
    if scalers is None:
        return [None] * n
    return [
        Preprocessing(
            tuple(OutputColumn(j, ops=(Op("*", a), Op("+", b))) for j, (a, b) in enumerate(zip(*scaler, strict=True)))
        )
        for scaler in scalers
    ]


def networks(y, n=6, **parameters):
    recipe = Network(
        **{"neurons": 24, "dropout": 0.1, "learning_rate": 0.01, "batch_size": 32, "max_epochs": 60, **parameters}
    )
    return train_networks([clone(recipe).set_params(random_state=i) for i in range(n)], X, y, [None] * n)


def perceptrons(y, n=4, **parameters):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        return [
            MLPClassifier((16, 12), learning_rate_init=0.01, max_iter=60, random_state=i, **parameters).fit(X, y)
            for i in range(n)
        ]


def boundary(member, n=40):
    """Find points where the member's label flips, by bisection between points of different label."""
    flips = [(a, b) for a, b in pairwise(X) if len(set(member.predict(np.array([a, b])))) > 1][:n]
    assert flips, "the member is constant: nothing would be tested"
    ends = np.array(flips)
    low, high = ends[:, 0].copy(), ends[:, 1].copy()
    for _ in range(60):
        middle = (low + high) / 2
        same = member.predict(middle) == member.predict(low)
        low[same], high[~same] = middle[same], middle[~same]
    return np.vstack([low, high])


def labels(kernel, points, classes):
    """Read labels off the scores, and say which of them hang on less than the doubt."""
    scores, doubt = kernel.scores(points, slice(None)), kernel.doubt(points, slice(None))
    if scores.ndim == 2:
        return classes[(scores > 0).astype(int)], np.abs(scores) <= doubt
    top = np.sort(scores, axis=2)
    return classes[scores.argmax(axis=2)], top[:, :, -1] - top[:, :, -2] <= 2 * doubt


def pruned(member):
    """Silence most units: what is left is a narrow network, where rounding errors average out the least."""
    weights = member.weights_ if isinstance(member, Network) else member.coefs_
    for layer in weights[:-1]:
        layer[:, np.argsort(np.linalg.norm(layer, axis=0))[:-3]] = 0
    scores = own_scores(member, X)
    shift = (scores.min() + scores.max()) / 2
    (member.biases_ if isinstance(member, Network) else member.intercepts_)[-1][:] -= np.float32(shift)
    if isinstance(member, Network):
        member.rounding_ = rounding(member.weights_, member.biases_)
    return member


def alive(members):
    found = [member for member in members if len(set(member.predict(X))) > 1]
    assert len(found) > 2
    return found


def own_scores(member, points):
    """Give log-odds as the member itself computes them."""
    if isinstance(member, Network):
        return member.decision_function(points)
    return np.diff(np.log(member.predict_proba(points)), axis=1)[:, 0]


FAMILIES = {
    "network": lambda: networks(TWO),
    "shallow network": lambda: networks(TWO, hidden_layers=1, neurons=5, learning_rate=0.05),
    "three classes": lambda: networks(THREE),
    "relu": lambda: perceptrons(TWO),
    "tanh": lambda: perceptrons(TWO, activation="tanh"),
    "logistic": lambda: perceptrons(TWO, activation="logistic", solver="lbfgs"),
    "identity": lambda: perceptrons(TWO, activation="identity"),
    "softmax": lambda: perceptrons(THREE),
    "pruned": lambda: alive(map(pruned, perceptrons(TWO, n=8))),
    "pruned network": lambda: alive(map(pruned, networks(TWO, n=12))),
}


@pytest.fixture(scope="module", params=FAMILIES, ids=str)
def members(request):
    return FAMILIES[request.param]()


@pytest.fixture(scope="module")
def points(members):
    wide = RANDOM.normal(0.5, 2, (300, X.shape[1]))
    return np.vstack([X, wide, 100 * wide, *[boundary(member) for member in members]])


@pytest.mark.slow
def test_labels_agree_with_each_member_unless_in_doubt(members, points):
    found, doubtful = labels(stack(members), points, members[0].classes_)
    own = np.column_stack([member.predict(points) for member in members])
    assert ((found == own) | doubtful).all()


def test_few_random_points_are_in_doubt(members):
    _, doubtful = labels(stack(members), RANDOM.random((2000, X.shape[1])), members[0].classes_)
    assert doubtful.mean() < 1e-3


@pytest.mark.slow
def test_scores_lie_within_the_doubt_of_each_members_own():
    narrow = networks(TWO, hidden_layers=1, neurons=5)
    for members in (networks(TWO), networks(THREE), narrow, alive(map(pruned, networks(TWO, n=12)))):
        points = np.vstack([X, RANDOM.normal(0.5, 30, (300, X.shape[1])), boundary(members[0])])
        kernel = stack(members)
        own = np.stack([member.decision_function(points) for member in members], axis=1)
        errors = np.abs(kernel.scores(points, slice(None)) - own)
        doubt = kernel.doubt(points, slice(None))
        assert (errors <= (doubt if own.ndim == 2 else doubt[:, :, np.newaxis])).all()


@pytest.mark.slow
def test_scores_of_perceptrons_are_their_log_odds_and_log_probabilities():
    two, three = perceptrons(TWO), perceptrons(THREE)
    odds = np.column_stack([np.diff(np.log(member.predict_proba(X)), axis=1) for member in two])
    np.testing.assert_allclose(stack(two).scores(X, slice(None)), odds, rtol=1e-7, atol=1e-9)
    logits = stack(three).scores(X, slice(None))
    for i, member in enumerate(three):
        shares = np.exp(logits[:, i]) / np.exp(logits[:, i]).sum(axis=1, keepdims=True)
        np.testing.assert_allclose(shares, member.predict_proba(X), rtol=1e-9, atol=1e-12)


def test_a_sigmoid_that_rounds_to_one_half_is_in_doubt():
    member = perceptrons(TWO, n=1, activation="identity")[0]
    for layer in (*member.coefs_, *member.intercepts_):
        layer[:] = 0
    member.intercepts_[-1][:] = 1e-17
    kernel = stack([member])
    assert kernel.scores(X, slice(None))[0, 0] > 0
    assert member.predict(X[:1])[0] == member.classes_[0]
    assert (np.abs(kernel.scores(X, slice(None))) <= kernel.doubt(X, slice(None))).all()


def test_members_of_different_shapes_keep_their_order():
    shapes = [(1, 8), (2, 16), (1, 8), (3, 8), (2, 16)]
    members = [Network(hidden_layers=a, neurons=b, max_epochs=5, random_state=i) for i, (a, b) in enumerate(shapes)]
    train_networks(members, X, TWO, [None] * 5)
    kernel = stack(members)
    own = np.column_stack([member.decision_function(X) for member in members])
    assert len(kernel) == 5
    np.testing.assert_allclose(kernel.scores(X, slice(None)), own, atol=1e-5)
    for part in (slice(1, 4), slice(2, 2), slice(-2, None), slice(None, None, 2), slice(4, 99)):
        np.testing.assert_allclose(kernel.scores(X, part), own[:, part], atol=1e-5)


def test_more_members_than_one_block_keep_their_order():
    members = networks(TWO, n=11, max_epochs=3)
    kernel = stack(members)
    own = np.column_stack([member.decision_function(X) for member in members])
    np.testing.assert_allclose(kernel.scores(X, slice(None)), own, atol=1e-5)
    np.testing.assert_allclose(kernel.scores(X, slice(2, 10)), own[:, 2:10], atol=1e-5)


@pytest.mark.parametrize("make", [MinMaxScaler, StandardScaler])
@pytest.mark.parametrize("family", ["network", "perceptron"])
def test_scalers_are_folded_into_the_first_layer(make, family):
    raw = X * [1, 10, 1e-3, 5] + [1e6, -3, 0, 50]  # one column is nearly all offset, where float32 would fail
    samples = [RANDOM.integers(len(X), size=len(X)) for _ in range(4)]
    transformers = [make().fit(raw[rows]) for rows in samples]
    recipe = Network(neurons=16, max_epochs=40) if family == "network" else MLPClassifier(solver="lbfgs", max_iter=30)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        members = [
            clone(recipe).set_params(random_state=i).fit(transformer.transform(raw), TWO)
            for i, transformer in enumerate(transformers)
        ]
    if make is MinMaxScaler:
        scalers = [(each.scale_, each.min_) for each in transformers]
    else:
        scalers = [(1 / each.scale_, -each.mean_ / each.scale_) for each in transformers]
    kernel = stack(members, scalers)
    points = np.vstack([raw, raw.mean(axis=0) + 3 * raw.std(axis=0) * RANDOM.normal(size=(500, 4))])
    found, doubtful = labels(kernel, points, members[0].classes_)
    inputs = [transformer.transform(points) for transformer in transformers]
    own = np.column_stack([member.predict(given) for member, given in zip(members, inputs, strict=True)])
    assert ((found == own) | doubtful).all()
    assert doubtful.mean() < 2e-3
    if family == "network":
        scores = [member.decision_function(given) for member, given in zip(members, inputs, strict=True)]
        assert (
            np.abs(kernel.scores(points, slice(None)) - np.column_stack(scores)) <= kernel.doubt(points, slice(None))
        ).all()


def test_points_are_left_untouched():
    points = X.copy()
    kernel = stack(networks(TWO, n=2, max_epochs=2))
    kernel.scores(points, slice(None))
    kernel.doubt(points, slice(None))
    np.testing.assert_array_equal(points, X)


def test_only_fitted_members_of_one_family_and_one_set_of_classes_are_stacked():
    network, perceptron = networks(TWO, n=1, max_epochs=1)[0], perceptrons(TWO, n=1)[0]
    other_classes = networks(THREE, n=1, max_epochs=1)[0]
    fewer_columns = Network(max_epochs=1).fit(X[:, :2], TWO)
    several_labels = perceptrons(np.column_stack([TWO == "yes", THREE == 1]).astype(int), n=1)[0]

    class Contrarian(Network):
        def predict(self, X):
            return super().predict(X)[::-1]

    for models in (
        [],
        ["a model"],
        [network, perceptron],
        [network, other_classes],
        [network, fewer_columns],
        [network, Network()],
        [MLPClassifier()],
        [Contrarian(max_epochs=1).fit(X, TWO)],
    ):
        assert stack(models) is None
    with pytest.raises(Unreadable, match="several labels"):
        stack([several_labels])
    assert isinstance(stack([network]), NetworkKernel)
    assert isinstance(stack([perceptron]), NetworkKernel)


@pytest.mark.parametrize("activation", ["relu", "tanh", "logistic", "identity"])
@pytest.mark.parametrize("y", [TWO, THREE], ids=["two classes", "three classes"])
def test_slopes_are_the_gradient_of_the_weighted_scores(activation, y):
    kernel = stack(perceptrons(y, n=3, activation=activation))
    points = RANDOM.random((20, 4))
    outputs = 1 if kernel.n_outputs == 1 else 3
    weights = RANDOM.normal(size=(20, 3, outputs))

    def total(points):
        return (kernel.scores(points, slice(None)).reshape(20, 3, outputs) * weights).sum(axis=(1, 2))

    slopes = kernel.slopes(points, weights)
    for column in range(4):
        step = np.zeros(4)
        step[column] = 1e-6
        numeric = (total(points + step) - total(points - step)) / 2e-6
        np.testing.assert_allclose(slopes[:, column], numeric, rtol=1e-3, atol=1e-5)


@pytest.mark.parametrize("y", [TWO, THREE], ids=["two classes", "three classes"])
@pytest.mark.parametrize("cache", [1, 1 << 12, 1 << 30], ids=["one by one", "some", "all at once"])
def test_margins_and_slopes_are_the_same_in_one_pass_and_for_any_size_of_the_parts(y, cache, monkeypatch):
    members = train_networks([Network(neurons=16, max_epochs=3, random_state=i) for i in range(11)], X, y, [None] * 11)
    ensemble = Ensemble(members, np.unique(y))
    points, weights = RANDOM.random((20, 4)), RANDOM.normal(size=(20, 11))
    wanted = np.unique(y)[1]
    margins, slopes = ensemble.margins(points, wanted), ensemble.slopes(points, wanted, weights)
    monkeypatch.setattr(kernels, "CACHE", cache)
    assert np.array_equal(ensemble.margins(points, wanted), margins)
    again, back = ensemble.linearized(points, wanted)
    assert np.array_equal(again, margins)
    assert np.array_equal(back(weights), slopes)
