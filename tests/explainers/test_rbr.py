"""Robust Bayesian recourse: gradients, worst cases, projections, honest failures."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from scipy.stats import multivariate_normal
from sklearn.ensemble import RandomForestClassifier

from betarce.errors import InvalidInput
from betarce.explainers import Rbr, check_explainer
from betarce.explainers.rbr import onto_l1_ball
from betarce.explainers.worst_case_odds import Curve, Odds
from betarce.rules import immutable
from contract_cases import keeps_the_contract
from gradient_cases import check_awkward, explain, linear_model, problem_of, uniform

X = uniform()
WEIGHTS, INTERCEPT = np.array([6.0, 3.0, -2.0]), -4.5
PROBLEM = problem_of(linear_model(WEIGHTS, INTERCEPT), X)
ORIGINALS = X[X @ WEIGHTS + INTERCEPT < 0][1:31]

test_rbr_keeps_the_contract = keeps_the_contract(Rbr(n_neighbors=3), rules=True)

test_rbr_robust_keeps_the_contract = keeps_the_contract(
    Rbr(n_neighbors=2, epsilon_op=0.3, epsilon_pe=0.3, max_iterations=100, stop_at_wall=False)
)


def odds_of(epsilon_op=0.0, epsilon_pe=0.0, sigma=0.4, n=4, d=3):
    rng = np.random.default_rng(0)
    samples = rng.normal(size=(n, 30, d)) * 0.3
    wanted = samples[..., 0] > 0
    return Odds.of(samples, wanted, np.full(n, d), np.full(n, 6.0), sigma, epsilon_op, epsilon_pe)


@pytest.mark.parametrize("epsilons", [(0.0, 0.0), (0.5, 0.0), (0.0, 0.5), (0.3, 1.0)])
def test_the_gradient_equals_finite_differences(epsilons):
    odds, moves = odds_of(*epsilons), np.random.default_rng(1).normal(size=(4, 3))
    _, gradient = odds.value_and_gradient(moves)
    for j in range(3):
        ahead = np.eye(3)[j] * 1e-6
        difference = (odds.value_and_gradient(moves + ahead)[0] - odds.value_and_gradient(moves - ahead)[0]) / 2e-6
        np.testing.assert_allclose(gradient[:, j], difference, rtol=1e-4, atol=1e-5)


def test_without_shifts_the_odds_are_the_ratio_of_kernel_densities():
    odds, moves = odds_of(), np.random.default_rng(1).normal(size=(4, 3))
    value, _ = odds.value_and_gradient(moves)
    for i in range(4):
        density = [multivariate_normal(sample, 0.4**2 * np.eye(3)).pdf(moves[i]) for sample in odds.samples[i]]
        wanted = odds.wanted[i]
        np.testing.assert_allclose(value[i], np.log(np.sum(density, where=~wanted) / np.sum(density, where=wanted)))


def every_density(c, sigma, epsilon, p, n=200_000):
    """The log-densities at a distance of Gaussians all over the Wasserstein ball, spreads not below sigma."""
    rng = np.random.default_rng(0)
    drawn = np.abs(rng.normal(size=(3, n)))
    drawn[2] *= p > 1
    drawn *= np.minimum(1, 2 * rng.random(n)) / np.linalg.norm(drawn, axis=0)  # half of them on the surface
    shift, along, across = epsilon * drawn
    across = (p - 1) * np.log1p(across / np.sqrt(max(p - 1, 1)) / sigma)
    along += sigma
    both = [-np.log(along / sigma) - (c + side * shift) ** 2 / (2 * along**2) - across for side in (-1, 1)]
    return np.concatenate(both)


@pytest.mark.parametrize("p", [1, 2, 5])
@pytest.mark.parametrize("epsilon", [0.2, 0.8])
def test_worst_cases_equal_a_search_of_the_wasserstein_ball(epsilon, p):
    distances = np.array([[0.05, 0.4, 1.1, 2.3]])
    curves = [make(np.array([p]), np.array([3.0]), 0.5, epsilon) for make in (Curve.smallest, Curve.largest)]
    (least, _), (most, _) = (curve.at(distances) for curve in curves)
    for c, low, high in zip(distances[0], least[0], most[0], strict=True):
        searched = every_density(c, 0.5, epsilon, p)
        assert low <= searched.min() + 1e-3
        assert high >= searched.max() - 1e-3
        np.testing.assert_allclose([low, high], [searched.min(), searched.max()], rtol=5e-3, atol=0.03)


def test_more_doubt_never_lowers_the_worst_case_odds():
    moves = np.random.default_rng(1).normal(size=(4, 3)) * 0.5
    values = [odds_of(e, e).value_and_gradient(moves)[0] for e in (0.0, 0.1, 0.3, 0.6)]
    assert (np.diff(values, axis=0) > 0).all()


@given(
    arrays(float, (1, 4), elements=st.floats(-3, 3, allow_subnormal=False)),
    st.floats(0.05, 4, allow_subnormal=False),
)
def test_projecting_onto_the_ball_beats_every_other_point_of_it(moves, radius):
    projected = onto_l1_ball(moves, np.array([radius]))
    assert np.abs(projected).sum() <= radius + 1e-9
    rng = np.random.default_rng(0)
    others = rng.normal(size=(500, 4))
    others = np.concatenate([others, np.eye(4), -np.eye(4), np.sign(moves) * rng.dirichlet(np.ones(4), 500)])
    others *= np.minimum(1, radius / np.maximum(np.abs(others).sum(axis=1), 1e-12))[:, None]
    near = projected + 0.01 * (others - projected)
    reached = np.linalg.norm(moves - projected)
    assert (np.linalg.norm(moves - np.concatenate([others, near]), axis=1) >= reached - 1e-9).all()
    if np.abs(moves).sum() <= radius:
        np.testing.assert_allclose(projected, moves, atol=1e-12)


def test_points_lie_beyond_the_boundary_and_within_the_ball():
    base = explain(Rbr(delta_plus=0.0), PROBLEM, ORIGINALS)
    plus = explain(Rbr(delta_plus=0.2), PROBLEM, ORIGINALS)
    assert base.found.all()
    assert plus.found.all()
    distances = [PROBLEM.features.distance(result.points, ORIGINALS) for result in (base, plus)]
    assert (distances[1] <= distances[0] + 0.2 + 1e-9).all()
    margins = [(result.points @ WEIGHTS + INTERCEPT).mean() for result in (base, plus)]
    assert margins[1] > margins[0]


@pytest.mark.slow
@pytest.mark.parametrize("stop_at_wall", [True, False])
def test_going_on_along_the_wall_lowers_the_odds_within_the_ball(stop_at_wall):
    result = explain(Rbr(stop_at_wall=stop_at_wall, n_samples=400), PROBLEM, ORIGINALS)
    sparse = (np.abs(result.points - ORIGINALS) > 1e-6).sum(axis=1).mean()
    assert sparse < 2 if not stop_at_wall else sparse > 2


def test_a_large_sigma_leaves_only_the_means_of_the_classes():
    odds, moves = odds_of(sigma=50.0), np.random.default_rng(1).normal(size=(4, 3))
    _, gradient = odds.value_and_gradient(moves)
    for i in range(4):
        means = [odds.samples[i][mask].mean(axis=0) for mask in (odds.wanted[i], ~odds.wanted[i])]
        np.testing.assert_allclose(gradient[i] * 50.0**2, means[1] - means[0], atol=0.01)


def test_a_wider_ball_of_samples_makes_longer_steps():
    gained = []
    for radius in (0.02, 0.1, 0.3):
        method = Rbr(perturb_radius=radius, delta_plus=0.5, max_iterations=20)
        points = explain(method, PROBLEM, ORIGINALS).points
        gained.append((points @ WEIGHTS + INTERCEPT).mean())
    assert (np.diff(gained) > 0).all()


@pytest.mark.slow
def test_a_point_that_the_model_refuses_is_not_handed_out():
    model = RandomForestClassifier(n_estimators=5, random_state=0).fit(X, (np.sin(25 * X[:, 0]) > 0.5).astype(int))
    problem = problem_of(model, X)
    originals = X[model.predict(X) == 0][:20]
    result = explain(Rbr(delta_plus=0.5), problem, originals)
    assert 0 < result.found.mean() < 1
    np.testing.assert_array_equal(result.found, problem.is_target(result.points, np.tile([False, True], (20, 1))))
    np.testing.assert_array_equal(result.points[~result.found], originals[~result.found])
    assert "not in the target class" in next(reason for reason in result.reasons if reason)


def test_a_class_that_no_training_row_has_is_out_of_reach():
    result = explain(Rbr(), problem_of(linear_model([1.0, 0.0, 0.0], -9.0), X), ORIGINALS)
    assert not result.found.any()
    assert "nearest training rows" in result.reasons[0]
    assert (result.n_evaluations == 0).all()


def test_evaluations_are_bounded():
    result = explain(Rbr(n_samples=30, n_neighbors=4), PROBLEM, ORIGINALS)
    assert (result.n_evaluations <= 4 * 100 + 30 + 1).all()


def test_rows_that_cannot_move_say_so():
    problem = problem_of(linear_model(WEIGHTS, INTERCEPT), X, x0=immutable(), x1=immutable(), x2=immutable())
    result = explain(Rbr(), problem, ORIGINALS)
    assert not result.found.any()
    assert "may move" in result.reasons[0]


@pytest.mark.slow
@pytest.mark.parametrize("epsilon", [0.0, 0.5])
def test_constant_columns_names_and_missing_values_are_left_alone(epsilon):
    check_awkward(Rbr(n_neighbors=3, epsilon_op=epsilon, epsilon_pe=epsilon))


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("n_samples", 0),
        ("perturb_radius", 0.0),
        ("max_distance", np.nan),
        ("delta_plus", -0.1),
        ("sigma", 0.0),
        ("epsilon_op", -1.0),
        ("epsilon_pe", np.inf),
        ("stop_at_wall", "yes"),
        ("n_neighbors", 1.0),
        ("learning_rate", 0.0),
        ("max_iterations", 0),
        ("tolerance", -1e-9),
    ],
)
def test_a_wrong_parameter_is_refused_by_name(name, value):
    with pytest.raises(InvalidInput, match=f"`{name}` must be"):
        Rbr(**{name: value})


def test_it_has_a_name():
    assert check_explainer("rbr") == Rbr()
