"""Shifted weights: closed forms, soundness of the bounds, and the sampled shares."""

import warnings
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.ensemble import RandomForestClassifier
from sklearn.exceptions import ConvergenceWarning
from sklearn.linear_model import LogisticRegression
from sklearn.neural_network import MLPClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import PolynomialFeatures, StandardScaler

from betarce import Network
from betarce.comparison import weight_shifts as shifts
from betarce.comparison.shifted_layers import Layers, lower_margin, read_layers, shifted_margins, unit_shifts
from betarce.errors import InvalidInput
from betarce.metrics import interval_margin, interval_robust, sampled_robust
from betarce.posterior import EXACT, lower_bound

RNG = np.random.default_rng(0)
X = RNG.normal(size=(200, 4)) * [1, 2, 0.5, 3]
TWO = np.where(X[:, 0] + 0.3 * X[:, 1] > 0.2, "yes", "no")
THREE = np.digitize(X[:, 0] + 0.3 * X[:, 1], [-0.5, 0.6])


def perceptron(y, **options):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        return MLPClassifier((9, 7), max_iter=40, learning_rate_init=0.02, random_state=0, **options).fit(X, y)


MODELS = {
    "logistic": LogisticRegression().fit(X, TWO),
    "logistic, three classes": LogisticRegression().fit(X, THREE),
    "scaled logistic": make_pipeline(StandardScaler(), LogisticRegression()).fit(X, TWO),
    "network": Network(neurons=12, hidden_layers=2, learning_rate=0.02, random_state=0).fit(X, TWO),
    "network, three classes": Network(neurons=12, hidden_layers=2, learning_rate=0.02, random_state=0).fit(X, THREE),
    "scaled network": make_pipeline(StandardScaler(), Network(neurons=12, random_state=0)).fit(X, TWO),
    "perceptron": perceptron(TWO),
    "tanh perceptron": perceptron(THREE, activation="tanh"),
    "logistic perceptron": perceptron(TWO, activation="logistic"),
}
each_model = pytest.mark.parametrize("name", MODELS)
each_norm = pytest.mark.parametrize("norm", ["inf", "l2"])


def target_of(model):
    return model.classes_[-1]


@pytest.mark.parametrize(("norm", "order"), [("inf", 1), ("l2", 2)])
@pytest.mark.parametrize("label", ["no", "yes"])
def test_a_linear_model_has_a_closed_form(norm, order, label):
    model = MODELS["logistic"]
    own = model.decision_function(X) * (1 if label == "yes" else -1)
    size = np.linalg.norm(np.column_stack([X, np.ones(len(X))]), ord=order, axis=1)
    bound = interval_margin(model, X, label, radius=0.07, norm=norm)
    np.testing.assert_allclose(bound, own - 0.07 * size, atol=1e-12)


def test_behind_a_scaler_it_is_the_models_own_weights_that_shift():
    model = MODELS["scaled logistic"]
    scaled = model[0].transform(X)
    expected = model.decision_function(X) - 0.07 * (np.abs(scaled).sum(axis=1) + 1)
    np.testing.assert_allclose(interval_margin(model, X, "yes", radius=0.07), expected, atol=1e-12)


@each_model
def test_radius_zero_gives_the_models_own_label(name):
    model = MODELS[name]
    valid = model.predict(X) == target_of(model)
    np.testing.assert_array_equal(interval_robust(model, X, target_of(model), radius=0), valid)
    sampled = sampled_robust(model, X, target_of(model), radius=0.0, n_samples=3)
    np.testing.assert_array_equal(sampled.share, valid)


@each_norm
@each_model
def test_bounds_fall_as_the_radius_grows(name, norm):
    model = MODELS[name]
    bounds = [interval_margin(model, X, target_of(model), radius=r, norm=norm) for r in (0, 0.01, 0.05, 0.2)]
    assert (np.diff(bounds, axis=0) < 0).all()


@each_norm
@each_model
def test_no_sampled_shift_goes_below_the_bound(name, norm):
    model = MODELS[name]
    layers = read_layers(model)
    inputs, wanted = layers.check(X[:40], target_of(model))
    for radius in (0.01, 0.1):
        bound = interval_margin(model, X[:40], target_of(model), radius=radius, norm=norm)
        drawn = radius * unit_shifts(np.random.default_rng(1), 200, layers.size, norm)
        if norm == "inf":
            drawn[::2] = radius * np.sign(drawn[::2])  # corners of the box are the worst
        assert (shifted_margins(layers, inputs, wanted, drawn) >= bound - 1e-9).all()


@given(
    seed=st.integers(0, 10_000),
    widths=st.lists(st.integers(1, 6), min_size=1, max_size=3),
    classes=st.integers(2, 4),
    radius=st.floats(0, 0.5),
    norm=st.sampled_from(["inf", "l2"]),
    activation=st.sampled_from(["relu", "tanh", "logistic", "identity"]),
)
@settings(max_examples=60)
def test_the_bound_is_sound_for_random_networks(seed, widths, classes, radius, norm, activation):
    rng = np.random.default_rng(seed)
    sizes = [3, *widths, 1 if classes == 2 else classes]
    layers = Layers(
        [rng.normal(size=pair) for pair in pairwise(sizes)],
        [rng.normal(size=size) for size in sizes[1:]],
        activation,
        [],
        np.arange(classes),
    )
    points = rng.normal(size=(5, 3)) * 2
    inputs, wanted = layers.check(points, rng.integers(0, classes, 5))
    bound = lower_margin(layers, inputs, wanted, radius, norm)
    drawn = radius * unit_shifts(rng, 60, layers.size, norm)
    drawn[:30] = radius * np.sign(drawn[:30]) if norm == "inf" else drawn[:30]
    margins = shifted_margins(layers, inputs, wanted, drawn)
    assert (margins >= bound - 1e-9).all()
    own = shifted_margins(layers, inputs, wanted, np.zeros((1, layers.size)))[0]
    np.testing.assert_allclose(lower_margin(layers, inputs, wanted, 0.0, norm), own, atol=1e-9)


@each_norm
@each_model
def test_what_is_proved_robust_survives_every_sampled_shift(name, norm):
    model = MODELS[name]
    radius = 0.05 if "logistic" in name and "perceptron" not in name else 0.005
    proved = interval_robust(model, X, target_of(model), radius=radius, norm=norm)
    sampled = sampled_robust(model, X, target_of(model), radius=radius, n_samples=200, norm=norm)
    assert proved.any()
    assert (sampled.share[proved] == 1).all()
    assert sampled.robust[proved].all()


def test_an_unproved_point_of_a_linear_model_has_a_shift_that_undoes_it():
    model = MODELS["logistic"]
    radius = 0.1
    valid = model.predict(X) == "yes"
    broken = valid & ~interval_robust(model, X, "yes", radius=radius)
    assert broken.any()
    worst = np.column_stack([-np.sign(X[broken]), -np.ones(broken.sum())]) * radius
    layers = read_layers(model)
    inputs, wanted = layers.check(X[broken], "yes")
    assert (np.diag(shifted_margins(layers, inputs, wanted, worst)) <= 1e-12).all()


def test_the_sampled_share_of_a_line_is_what_it_should_be():
    # One weight of 1, bias 0, at x = 1: the shift of both must stay above -1; a triangle of the square is lost.
    model = LogisticRegression().fit([[-1.0], [1.0]], [0, 1])
    model.coef_, model.intercept_ = np.array([[1.0]]), np.array([0.0])
    sampled = sampled_robust(model, np.array([[1.0]]), 1, radius=1.0, n_samples=40_000)
    assert sampled.share[0] == pytest.approx(1 - 1 / 8, abs=0.01)


def test_shifts_fill_the_ball_evenly():
    drawn = unit_shifts(np.random.default_rng(0), 50_000, 3, "l2")
    radii = np.linalg.norm(drawn, axis=1)
    assert radii.max() <= 1
    assert (radii <= 0.5).mean() == pytest.approx(0.125, abs=0.01)


def test_the_number_of_shifts_and_the_bound_are_the_exact_binomial_ones():
    model = MODELS["perceptron"]
    sampled = sampled_robust(model, X[:20], "yes", radius=0.01, rate=0.99, confidence=0.95)
    assert sampled.n_samples == int(np.ceil(np.log(0.05) / np.log(0.99)))
    expected = lower_bound(sampled.n_valid, sampled.n_samples, confidence=0.95, prior=EXACT)
    np.testing.assert_array_equal(sampled.lower_bound, expected)
    assert (sampled.lower_bound[sampled.robust] >= 0.99).all()


def test_neither_the_batch_nor_the_chunks_change_an_answer(monkeypatch):
    model = MODELS["tanh perceptron"]
    whole = sampled_robust(model, X, 2, radius=0.1, n_samples=50)
    bounds = interval_margin(model, X, 2, radius=0.1)
    monkeypatch.setattr(shifts, "CHUNK", 1000)
    np.testing.assert_array_equal(sampled_robust(model, X, 2, radius=0.1, n_samples=50).n_valid, whole.n_valid)
    np.testing.assert_allclose(interval_margin(model, X, 2, radius=0.1), bounds, atol=1e-12)
    np.testing.assert_allclose(interval_margin(model, X[7:8], 2, radius=0.1), bounds[7:8], atol=1e-12)


def test_several_classes_can_be_accepted():
    model = MODELS["network, three classes"]
    either = interval_margin(model, X, {1, 2}, radius=0.01)
    alone = np.maximum(*(interval_margin(model, X, label, radius=0.01) for label in (1, 2)))
    assert (either >= alone - 1e-12).all()


def test_transformers_of_a_pipeline_stand_before_the_weights_that_shift():
    model = make_pipeline(PolynomialFeatures(2), LogisticRegression(max_iter=1000)).fit(X, TWO)
    seen = model[0].transform(X)
    expected = model.decision_function(X) - 0.01 * (np.abs(seen).sum(axis=1) + 1)
    np.testing.assert_allclose(interval_margin(model, X, "yes", radius=0.01), expected)


@pytest.mark.parametrize(
    "model",
    [
        RandomForestClassifier(3, random_state=0).fit(X, TWO),
        "nonsense",
    ],
    ids=lambda model: type(model).__name__,
)
def test_other_models_are_refused(model):
    with pytest.raises(InvalidInput, match="`model` must be a fitted linear model"):
        interval_robust(model, X, "yes", radius=0.1)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"radius": -1}, "`radius` must be"),
        ({"radius": np.nan}, "`radius` must be"),
        ({"radius": 1, "norm": "l7"}, "`norm` must be"),
        ({"radius": 1, "n_samples": 0}, "`n_samples` must be"),
        ({"radius": 1, "rate": 1.0}, "must be strictly between 0 and 1"),
    ],
)
def test_wrong_options_are_refused(options, message):
    with pytest.raises(InvalidInput, match=message):
        sampled_robust(MODELS["logistic"], X, "yes", **options)


def test_wrong_points_are_refused():
    with pytest.raises(InvalidInput, match="finite numbers with 4 columns"):
        interval_robust(MODELS["logistic"], X[:, :2], "yes", radius=0.1)
