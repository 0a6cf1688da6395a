"""ROAR: worst cases against brute force, robustness that grows with the radius, honest failures."""

import numpy as np
import pytest
from sklearn.ensemble import RandomForestClassifier

from betarce.errors import InvalidInput
from betarce.explainers import Roar, check_explainer
from betarce.explainers.descent import Slope
from betarce.explainers.roar import Line
from betarce.rules import immutable
from contract_cases import keeps_the_contract
from gradient_cases import Opaque, check_awkward, explain, linear_model, problem_of, uniform

X = uniform()
WEIGHTS, INTERCEPT = np.array([6.0, 3.0, -2.0]), -4.5
PROBLEM = problem_of(linear_model(WEIGHTS, INTERCEPT), X)
ORIGINALS = X[X @ WEIGHTS + INTERCEPT < 0][1:31]
BALLS = [1, 2, np.inf]

test_roar_keeps_the_contract = keeps_the_contract(Roar(max_iterations=100), rules=True)


def shifts(radius, ball, n=20_000, d=4):
    """Draw shifts of weights and intercept from the surface of a ball, corners and axes included."""
    rng = np.random.default_rng(0)
    drawn = np.concatenate([rng.normal(size=(n, d)), np.eye(d), -np.eye(d), rng.choice([-1.0, 1.0], size=(n, d))])
    return radius * drawn / np.linalg.norm(drawn, ord=ball, axis=1, keepdims=True)


def line_of(points, radius, ball):
    margins = points @ WEIGHTS + INTERCEPT
    return Line(np.tile(WEIGHTS, (len(points), 1)), margins, points, np.ones(len(points), bool), radius, ball)


@pytest.mark.parametrize("ball", BALLS)
def test_the_worst_margin_equals_the_brute_force_minimum(ball):
    points, moves = X[:10], np.random.default_rng(1).normal(size=(10, 3)) * 0.3
    worst = line_of(points, 0.7, ball).worst_margin(moves)
    ends = np.column_stack([points + moves, np.ones(10)])
    brute = (ends @ [*WEIGHTS, INTERCEPT])[:, None] + ends @ shifts(0.7, ball).T
    assert (brute.min(axis=1) >= worst - 1e-9).all()
    np.testing.assert_allclose(brute.min(axis=1), worst, atol=0.03)


@pytest.mark.parametrize("ball", BALLS)
def test_the_gradient_of_the_worst_margin_equals_differences(ball):
    line, moves = line_of(X[2:12], 0.7, ball), np.random.default_rng(1).normal(size=(10, 3)) * 0.3
    gradient = line.gradient(moves)
    for j in range(3):
        ahead = np.eye(3)[j] * 1e-6
        difference = (line.worst_margin(moves + ahead) - line.worst_margin(moves - ahead)) / 2e-6
        np.testing.assert_allclose(gradient[:, j], difference, atol=1e-6)


@pytest.mark.parametrize("ball", BALLS)
def test_the_answer_survives_every_shift_in_the_ball(ball):
    result = explain(Roar(delta_max=0.5, ball=ball), PROBLEM, ORIGINALS)
    assert result.found.all()
    ends = np.column_stack([result.points, np.ones(len(ORIGINALS))])
    brute = (ends @ [*WEIGHTS, INTERCEPT])[:, None] + ends @ shifts(0.5, ball).T
    assert (brute > 0).all()


@pytest.mark.slow
def test_the_loss_is_at_its_minimum():
    method = Roar(delta_max=0.3, ball=2, max_iterations=3000, tolerance=1e-10, learning_rate=0.01)
    moves = explain(method, PROBLEM, ORIGINALS).points - ORIGINALS
    line = line_of(ORIGINALS, 0.3, 2)

    def objective(moves):
        return np.logaddexp(0, -line.worst_margin(moves)) + 0.1 * np.abs(moves).sum(axis=1)

    rng = np.random.default_rng(0)
    for _ in range(300):
        other = np.clip(ORIGINALS + moves + 0.05 * rng.normal(size=moves.shape), 0, 1) - ORIGINALS
        assert (objective(other) >= objective(moves) - 1e-3).all()


def test_a_larger_radius_goes_farther_and_survives_larger_shifts():
    rng = np.random.default_rng(2)
    shifted = rng.normal(size=(2000, 4)) * 1.5
    distances, survival = [], []
    for delta_max in (0.0, 0.3, 0.6, 1.0):
        points = explain(Roar(delta_max=delta_max, cost_weight=1.0), PROBLEM, ORIGINALS).points
        ends = np.column_stack([points, np.ones(len(points))])
        distances.append(PROBLEM.features.distance(points, ORIGINALS).mean())
        survival.append((((ends @ [*WEIGHTS, INTERCEPT])[:, None] + ends @ shifted.T) > 0).mean())
    assert (np.diff(distances) > 0).all()
    assert (np.diff(survival) > 0).all()


def test_a_linear_model_gives_its_own_weights_and_an_opaque_one_is_fitted():
    targets = np.tile([False, True], (5, 1))
    pictures = []
    for problem in (PROBLEM, problem_of(Opaque(linear_model(WEIGHTS, INTERCEPT)), X)):
        slope = Slope.of(ORIGINALS[:5], targets, problem, problem.features.box(ORIGINALS[:5]))
        pictures.append(Roar(n_samples=2000).line(slope, list(range(5)))[0])
    exact, fitted = pictures
    assert exact.exact.all()
    assert not fitted.exact.any()
    np.testing.assert_allclose(exact.weights, np.tile(WEIGHTS, (5, 1)))
    np.testing.assert_allclose(fitted.weights, exact.weights, rtol=0.05)
    np.testing.assert_allclose(fitted.margin, exact.margin, atol=0.1)


def test_smaller_cost_weights_are_tried_where_the_model_refuses():
    dear = Roar(cost_weight=50.0, max_retries=0)
    assert not explain(dear, PROBLEM, ORIGINALS).found.any()
    patient = explain(Roar(cost_weight=50.0, max_retries=8), PROBLEM, ORIGINALS)
    assert patient.found.all()


def test_a_point_that_the_model_refuses_is_not_handed_out():
    model = RandomForestClassifier(n_estimators=5, random_state=0).fit(X, (np.sin(25 * X[:, 0]) > 0.5).astype(int))
    problem = problem_of(model, X)
    originals = X[model.predict(X) == 0][:20]
    result = explain(Roar(max_retries=0), problem, originals)
    valid = problem.is_target(result.points, np.tile([False, True], (20, 1)))
    assert not result.found.all()
    np.testing.assert_array_equal(result.found, valid)
    np.testing.assert_array_equal(result.points[~result.found], originals[~result.found])
    assert "refuses" in next(reason for reason in result.reasons if reason)


def test_evaluations_are_bounded():
    opaque = problem_of(Opaque(linear_model([1.0, 0.0, 0.0], -9.0)), X)
    result = explain(Roar(n_samples=50, max_retries=2), opaque, ORIGINALS)
    assert not result.found.any()
    assert (result.n_evaluations == 50 + 3).all()


def test_rows_that_cannot_move_say_so():
    problem = problem_of(linear_model(WEIGHTS, INTERCEPT), X, x0=immutable(), x1=immutable(), x2=immutable())
    result = explain(Roar(), problem, ORIGINALS)
    assert not result.found.any()
    assert "may move" in result.reasons[0]


def test_constant_columns_names_and_missing_values_are_left_alone():
    check_awkward(Roar())


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("delta_max", -0.1),
        ("ball", 3),
        ("norm", 1),
        ("cost_weight", 0.0),
        ("weight_decay", 0.0),
        ("max_retries", -1),
        ("learning_rate", np.inf),
        ("max_iterations", 0),
        ("tolerance", -1.0),
        ("n_samples", True),
        ("kernel_width", 0.0),
    ],
)
def test_a_wrong_parameter_is_refused_by_name(name, value):
    with pytest.raises(InvalidInput, match=f"`{name}` must be"):
        Roar(**{name: value})


def test_it_has_a_name():
    assert check_explainer("roar") == Roar()
