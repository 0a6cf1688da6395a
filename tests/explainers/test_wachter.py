"""Wachter's method: closed forms on linear models, differences against slopes, honest failures."""

import numpy as np
import pytest
from sklearn.neural_network import MLPClassifier
from sklearn.tree import DecisionTreeClassifier

from betarce.errors import InvalidInput
from betarce.explainers import Wachter, check_explainer
from betarce.explainers.descent import Slope, shrink
from betarce.rules import immutable
from contract_cases import keeps_the_contract
from gradient_cases import Opaque, check_awkward, explain, linear_model, problem_of, uniform

X = uniform()
WEIGHTS, INTERCEPT = np.array([6.0, 3.0, -2.0]), -4.5
PROBLEM = problem_of(linear_model(WEIGHTS, INTERCEPT), X)
ORIGINALS = np.array([[0.2, 0.3, 0.5], [0.3, 0.2, 0.4], [0.25, 0.4, 0.6]])

test_wachter_keeps_the_contract = keeps_the_contract(Wachter(max_iterations=20, learning_rate=0.1), rules=True)


@pytest.mark.parametrize("probability", [0.5, 0.7, 0.9])
@pytest.mark.parametrize("loss", ["hinge", "squared", "log"])
def test_l2_leads_to_the_orthogonal_projection_onto_the_level_set(loss, probability):
    method = Wachter(norm="l2", loss=loss, target_probability=probability, aim=0.01, max_iterations=400, max_rounds=12)
    result = explain(method, PROBLEM, ORIGINALS)
    assert result.found.all()
    level = np.log(probability / (1 - probability))
    missing = level - ORIGINALS @ WEIGHTS - INTERCEPT
    projected = ORIGINALS + missing[:, None] * WEIGHTS / (WEIGHTS @ WEIGHTS)
    np.testing.assert_allclose(result.points, projected, atol=0.02)
    lengths = [np.linalg.norm(points - ORIGINALS, axis=1) for points in (result.points, projected)]
    np.testing.assert_allclose(*lengths, rtol=0.01)
    assert (result.points @ WEIGHTS + INTERCEPT >= level).all()


def test_l1_moves_the_feature_with_the_largest_weight():
    result = explain(Wachter(), PROBLEM, ORIGINALS)
    moved = np.abs(result.points - ORIGINALS)
    shortest = -(ORIGINALS @ WEIGHTS + INTERCEPT) / WEIGHTS.max()
    assert (moved[:, 0] > 0.95 * moved.sum(axis=1)).all()
    np.testing.assert_allclose(moved.sum(axis=1), shortest, rtol=0.03)


def test_the_unit_of_a_column_decides_which_feature_is_cheap():
    wide = X * [1.0, 10.0, 1.0]
    weights = np.array([6.0, 3.0, -2.0])
    result = explain(Wachter(), problem_of(linear_model(weights, -15.0), wide), np.array([[0.2, 3.0, 0.5]]))
    moved = np.abs(result.points[0] - [0.2, 3.0, 0.5]) / [1, 10, 1]
    assert moved.argmax() == 1
    assert moved[1] > 0.95 * moved.sum()


def test_deviations_make_columns_that_hardly_vary_expensive():
    narrow = X.copy()
    narrow[2:, 0] = 0.3 + 0.01 * (narrow[2:, 0] - 0.5)  # the range stays 1, the deviation is tiny
    problem = problem_of(linear_model(WEIGHTS, INTERCEPT), narrow)
    originals = np.array([[0.4, 0.3, 0.3]])
    moved = np.abs(explain(Wachter(scaling="mad"), problem, originals).points - originals)
    assert moved[0, 0] < 0.01
    assert moved[0, 1] > 0.4


@pytest.mark.slow
def test_differences_equal_slopes_on_a_smooth_model():
    model = MLPClassifier((8,), activation="tanh", max_iter=3000, tol=1e-3, random_state=0)
    model.fit(X, (X @ WEIGHTS + INTERCEPT > 0).astype(int))
    exact, opaque = problem_of(model, X), problem_of(Opaque(model), X)
    assert exact.model.has_slopes
    assert not opaque.model.has_slopes
    targets = np.tile([False, True], (len(ORIGINALS), 1))
    gradients = [
        Slope.of(ORIGINALS, targets, problem, problem.features.box(ORIGINALS)).gradient(np.zeros((3, 3)), 0.01)[0]
        for problem in (exact, opaque)
    ]
    np.testing.assert_allclose(gradients[1], gradients[0], rtol=1e-2, atol=1e-2)
    a, b = (explain(Wachter(step=0.01), problem, ORIGINALS).points for problem in (exact, opaque))
    np.testing.assert_allclose(a, b, atol=0.02)


def test_a_tree_is_crossed_with_a_wide_step_and_admits_defeat_with_a_narrow_one():
    tree = DecisionTreeClassifier(max_depth=1).fit(X, (X[:, 0] > 0.5).astype(int))
    problem, originals = problem_of(tree, X), np.array([[0.2, 0.5, 0.5]])
    assert explain(Wachter(step=0.4), problem, originals).found.all()
    narrow = explain(Wachter(step=0.05), problem, originals)
    assert not narrow.found.any()
    assert "flat" in narrow.reasons[0]
    assert "`step`" in narrow.reasons[0]
    np.testing.assert_array_equal(narrow.points, originals)


def test_a_target_beyond_the_walls_says_so_and_stops():
    problem = problem_of(linear_model([1.0, 0.0, 0.0], -9.0), X)
    method = Wachter(max_rounds=3, max_iterations=20)
    result = explain(method, problem, ORIGINALS)
    assert not result.found.any()
    assert "3 rounds of 20 steps" in result.reasons[0]
    assert (result.n_evaluations <= 3 * (2 * 20 + 1)).all()


def test_rows_that_cannot_move_say_so():
    problem = problem_of(linear_model(WEIGHTS, INTERCEPT), X, x0=immutable(), x1=immutable(), x2=immutable())
    result = explain(Wachter(), problem, ORIGINALS)
    assert not result.found.any()
    assert "may move" in result.reasons[0]


def test_an_original_of_the_target_class_stays():
    originals = np.array([[0.9, 0.9, 0.1]])
    result = explain(Wachter(), PROBLEM, originals)
    assert result.found.all()
    np.testing.assert_array_equal(result.points, originals)


def test_constant_columns_names_and_missing_values_are_left_alone():
    check_awkward(Wachter(max_iterations=15, max_rounds=2, learning_rate=0.1))


def test_shrinking_is_the_proximal_step_of_its_norm():
    rng = np.random.default_rng(0)
    moves = rng.normal(size=(5, 3))
    for norm, order in (("l1", 1), ("l2", 2)):
        shrunk = shrink(moves, np.full((5, 1), 0.4), norm)

        def objective(z, order=order):
            return 0.5 * np.square(z - moves).sum(axis=1) + 0.4 * np.linalg.norm(z, ord=order, axis=1)

        for _ in range(200):
            other = shrunk + 0.1 * rng.normal(size=moves.shape)
            assert (objective(shrunk) <= objective(other) + 1e-12).all()


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("target_probability", 1.0),
        ("loss", "absolute"),
        ("norm", "l3"),
        ("scaling", "std"),
        ("initial_weight", 0.0),
        ("weight_decay", 1.0),
        ("max_rounds", 0),
        ("learning_rate", -1.0),
        ("max_iterations", 1.5),
        ("aim", 0.0),
        ("step", np.nan),
    ],
)
def test_a_wrong_parameter_is_refused_by_name(name, value):
    with pytest.raises(InvalidInput, match=f"`{name}` must be"):
        Wachter(**{name: value})


def test_it_has_a_name():
    assert check_explainer("wachter") == Wachter()
