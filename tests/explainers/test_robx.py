"""RobX and T-Rex: the contract, the measures against quadrature, and what stability costs."""

import gc
import weakref
from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
from scipy.special import expit
from sklearn.datasets import load_breast_cancer
from sklearn.ensemble import RandomForestClassifier
from sklearn.linear_model import LogisticRegression
from sklearn.svm import LinearSVC

import betarce as brce
from betarce.ensemble import Ensemble
from betarce.errors import InvalidInput
from betarce.explainers import GrowingSpheres, Problem, RobX, TRex, check_explainer, stability, stability_histogram
from betarce.explainers import walking as walking_module
from betarce.explainers.neighbourhood import Criterion, StabilityTest
from betarce.features import FeatureSpace
from betarce.rules import immutable, no_more_than, ordinal
from contract_cases import keeps_the_contract

test_robx_keeps_the_contract = keeps_the_contract(RobX(n_samples=200), rules=True)

test_robx_step_by_step_keeps_the_contract = keeps_the_contract(
    RobX(n_samples=100, line_search="walk", max_steps=20, tau=0.6)
)

test_robx_from_the_original_keeps_the_contract = keeps_the_contract(RobX(n_samples=200, base=None))

test_trex_keeps_the_contract = keeps_the_contract(TRex(n_samples=100), rules=True)


def linear_problem(model_class=LogisticRegression, d=3, **options):
    rng = np.random.default_rng(1)
    X = rng.random((300, d))
    y = (X @ np.arange(1, d + 1) + 0.3 * rng.normal(size=300) > np.arange(1, d + 1).sum() / 2).astype(int)
    model = model_class(**options).fit(X, y)
    return Problem(Ensemble([model], [0, 1]), FeatureSpace.infer(X), X, y)


def explain(explainer, problem, n=20):
    """Explain the first rows, each for the other class."""
    originals = problem.X_train[:n]
    targets = problem.model.labels(originals) != problem.model.classes
    return explainer.explain(originals, targets, problem, problem.features.box(originals), list(range(n))), targets


# The measures


def quadrature(problem, point, variance, function):
    """Integrate over the neighbours of a point of a linear model, whose score is normal."""
    model = problem.model.models[0]
    mean = model.decision_function(point[None])[0]
    std = np.sqrt(variance * np.square(model.coef_[0] * problem.features.scale).sum())
    nodes, weights = np.polynomial.hermite_e.hermegauss(120)
    return (weights * function(expit(mean + std * nodes), expit(mean))).sum() / weights.sum()


@pytest.mark.parametrize("variance", [0.001, 0.01, 0.1])
def test_stability_of_a_linear_model_agrees_with_quadrature(variance):
    problem = linear_problem(C=10.0)
    points = problem.X_train[:6]
    robx = stability(problem, points, 1, variance=variance, n_samples=40_000)
    trex = stability(problem, points, 1, variance=variance, n_samples=40_000, measure="trex")
    for i, point in enumerate(points):
        mean = quadrature(problem, point, variance, lambda p, own: p)
        square = quadrature(problem, point, variance, lambda p, own: p**2)
        assert robx[i] == pytest.approx(mean - np.sqrt(square - mean**2), abs=0.006)
        gap = quadrature(problem, point, variance, lambda p, own: np.abs(own - p))
        assert trex[i] == pytest.approx(mean - gap, abs=0.008)


def test_stability_is_the_mean_less_the_standard_deviation_of_the_models_own_probability():
    rng = np.random.default_rng(0)
    X = rng.random((200, 2))
    y = (X[:, 0] > 0.5).astype(int)
    model = RandomForestClassifier(20, random_state=0).fit(X, y)
    problem = Problem(Ensemble([model], [0, 1]), FeatureSpace.infer(X), X, y)
    criterion = Criterion("robx", variance=0.02, n_samples=500)
    noise = criterion.noise(problem.features, 0)
    near = model.predict_proba(X[0] + noise)[:, 1]
    assert stability(problem, X[:1], 1, variance=0.02, n_samples=500)[0] == pytest.approx(near.mean() - near.std())


def test_a_model_without_probabilities_is_sure_of_its_label():
    problem = linear_problem(LinearSVC)
    point = problem.X_train[:1]
    noise = Criterion("robx").noise(problem.features, 0)
    valid = problem.model.models[0].predict(point + noise) == 1
    assert stability(problem, point, 1)[0] == pytest.approx(valid.mean() - valid.std())


def test_targets_may_be_labels_or_masks():
    problem = linear_problem()
    points, labels = problem.X_train[:4], np.array([0, 1, 0, 1])
    mask = labels[:, None] == [0, 1]
    np.testing.assert_array_equal(stability(problem, points, labels), stability(problem, points, mask))


def test_neighbours_keep_names_missing_values_and_whole_numbers():
    rng = np.random.default_rng(0)
    sizes = ["small", "middle", "large"]
    table = pd.DataFrame(
        {
            "age": rng.integers(18, 80, 60),
            "count": rng.integers(0, 4, 60).astype(np.uint8),
            "income": np.where(rng.random(60) < 0.2, np.nan, rng.random(60)),
            "home": rng.choice(["rent", "own"], 60),
            "size": rng.choice(sizes, 60),
        }
    )
    features = FeatureSpace.infer(table, rules={"size": ordinal(sizes)})
    points = features.encode(table)
    model = Ensemble([LogisticRegression().fit(points[:, :2], rng.integers(0, 2, 60))], [0, 1])
    problem = Problem(model, features, points, np.zeros(60))
    criterion = Criterion("robx", variance=0.3, n_samples=400)
    noise = np.stack([criterion.noise(features, seed) for seed in range(60)])
    test = StabilityTest(problem, criterion, np.ones((60, 2), dtype=bool), noise)
    cloud = test.around(points, np.arange(60), 0, 400)
    np.testing.assert_array_equal(cloud[:, 0], points)
    shown = features.decode(cloud.reshape(-1, 5))
    assert set(shown["home"]) == {"rent", "own"}
    assert (cloud[:, :, 3] == points[:, None, 3]).all()
    assert set(shown["size"]) == set(sizes)
    assert (cloud[:, :, [0, 1, 4]] == np.rint(cloud[:, :, [0, 1, 4]])).all()
    assert (np.isnan(cloud[:, :, 2]) == np.isnan(points[:, None, 2])).all()
    assert shown["count"].max() < 10
    assert np.std(cloud[:, 1:, 0] - points[:, None, 0]) == pytest.approx(np.sqrt(0.3) * features.scale[0], rel=0.02)


def test_a_first_look_decides_as_all_neighbours_do():
    problem = linear_problem(C=10.0)
    criterion = Criterion("robx", tau=0.6)
    noise = criterion.noise(problem.features, 3)[None]
    test = StabilityTest(problem, criterion, np.tile([False, True], (300, 1)), noise)
    rows = np.arange(300)
    full = test.stability(problem.X_train, rows) >= 0.6
    full &= problem.is_target(problem.X_train, test.targets)
    spent = test.spent.copy()
    np.testing.assert_array_equal(test.passes(problem.X_train, rows), full)
    assert (test.judge(problem.X_train, rows) == full).mean() > 0.99
    assert test.spent.sum() < 2 * spent.sum(), "looking less was no faster"


# RobX


@pytest.mark.parametrize("explainer", [RobX(tau=0.7), TRex(tau=0.7), TRex(tau=0.7, max_ascent_steps=0)])
def test_what_is_found_is_stable_under_fresh_noise_and_more_stable_than_the_base(explainer):
    problem = linear_problem(C=10.0)
    result, targets = explain(explainer, problem)
    base, _ = explain(GrowingSpheres(), problem)
    measure = explainer.criterion.measure
    assert result.found.all()
    fresh = stability(problem, result.points, targets, measure=measure, n_samples=20_000, random_state=99)
    before = stability(problem, base.points, targets, measure=measure, n_samples=20_000, random_state=99)
    assert fresh.min() > 0.7 - 0.05
    assert (fresh >= before - 0.01).all()


@pytest.mark.parametrize("explainer", [RobX(), TRex()])
def test_more_stability_is_farther_away(explainer):
    problem = linear_problem(C=10.0)
    means = []
    for tau in (0.4, 0.6, 0.8):
        result, _ = explain(replace(explainer, tau=tau), problem)
        assert result.found.all()
        means.append(problem.features.distance(result.points, problem.X_train[:20]).mean())
    assert means[0] < means[1] < means[2]


def test_a_wider_neighbourhood_is_farther_away():
    problem = linear_problem(C=10.0)
    near, far = (explain(RobX(variance=variance), problem)[0] for variance in (0.001, 0.03))
    originals = problem.X_train[:20]
    distances = [problem.features.distance(result.points, originals).mean() for result in (near, far)]
    assert distances[0] < distances[1]


def test_a_stable_base_is_handed_out_as_it_is():
    problem = linear_problem(C=10.0)
    target_rows = {0: [0.02, 0.05, 0.03], 1: [0.97, 0.98, 0.96]}
    result, _ = explain(RobX(base=lambda x, model, target: target_rows[target]), problem, n=8)
    points = np.array([target_rows[1 - label] for label in problem.model.labels(problem.X_train[:8])[:, 0]])
    np.testing.assert_array_equal(result.points, points)


@pytest.mark.slow
def test_bisection_ends_where_the_walk_does():
    problem = linear_problem(C=10.0)
    straight, _ = explain(RobX(tau=0.7), problem, n=60)
    steps, _ = explain(RobX(tau=0.7, line_search="walk"), problem, n=60)
    originals = problem.X_train[:60]
    gap = problem.features.distance(straight.points, originals) - problem.features.distance(steps.points, originals)
    assert (gap == 0).mean() > 0.9
    assert abs(gap.mean()) < 0.01


def test_the_point_lies_on_the_way_from_the_base_to_a_training_row():
    problem = linear_problem(C=10.0)
    base, targets = explain(GrowingSpheres(), problem)
    result, _ = explain(RobX(tau=0.7), problem)
    shares = RobX().walk.shares
    for start, end, mask in zip(base.points, result.points, targets, strict=True):
        rows = problem.X_train[problem.is_target(problem.X_train, np.tile(mask, (300, 1)))]
        met = start + shares[:, None, None] * (rows - start)
        assert np.abs(met - end).max(axis=2).min() < 1e-9


def test_the_last_step_arrives_and_each_goes_a_share_of_what_is_left():
    shares = RobX(step=0.25, max_steps=4).walk.shares
    np.testing.assert_allclose(shares, [0, 0.25, 0.4375, 0.578125, 1])


def test_rules_are_kept_and_still_a_stable_point_is_found():
    problem = linear_problem(C=10.0)
    features = problem.features.with_rules({"x0": immutable(), "x1": no_more_than("x2")})
    tied = replace(problem, features=features)
    keeping = problem.X_train[:, 1] <= problem.X_train[:, 2]
    originals = problem.X_train[keeping][:20]
    targets = problem.model.labels(originals) != problem.model.classes
    box = features.box(originals)
    result = RobX(tau=0.6).explain(originals, targets, tied, box, list(range(20)))
    assert result.found.mean() > 0.5
    assert not features.violations(result.points, box)[result.found].any()
    found = result.found
    assert stability(tied, result.points, targets, random_state=9)[found].min() > 0.55


def test_out_of_reach_gives_a_reason_and_the_original():
    problem = linear_problem(C=0.01)  # hardly sure of anything
    result, _ = explain(RobX(tau=0.95), problem)
    assert not result.found.any()
    assert "has stability >= 0.95. Lower `tau` or `variance`" in result.reasons[0]
    np.testing.assert_array_equal(result.points, problem.X_train[:20])


def test_a_base_that_fails_says_why():
    def moody(x, model, target):
        raise RuntimeError("no idea")

    result, _ = explain(RobX(base=moody), linear_problem())
    assert not result.found.any()
    assert result.reasons[0] == "The base method failed: RuntimeError: no idea"


@pytest.mark.slow
def test_training_rows_are_looked_at_once_and_forgotten_with_the_problem(monkeypatch):
    problem = linear_problem(C=10.0)
    explain(RobX(), problem)
    asked = []
    monkeypatch.setattr(walking_module.StableRows, "find_out", lambda *args: asked.append(args))
    explain(RobX(), problem)
    assert not asked
    ghost = weakref.ref(problem)
    del problem
    gc.collect()
    assert ghost() is None


def test_several_classes_can_be_accepted():
    rng = np.random.default_rng(0)
    X = rng.random((300, 2))
    y = np.digitize(X[:, 0] + 0.2 * X[:, 1], [0.4, 0.8])
    problem = Problem(Ensemble([LogisticRegression(C=100).fit(X, y)], [0, 1, 2]), FeatureSpace.infer(X), X, y)
    originals = X[y == 0][:5]
    targets = np.tile([False, True, True], (5, 1))
    result = RobX().explain(originals, targets, problem, problem.features.box(originals), list(range(5)))
    assert result.found.all()
    assert (problem.model.labels(result.points)[:, 0] > 0).all()


@pytest.mark.parametrize("name", ["robx", "trex"])
def test_both_have_names(name):
    assert check_explainer(name).tau == 0.5


@pytest.mark.parametrize(
    "options",
    [
        {"tau": 1.5},
        {"variance": 0},
        {"n_samples": 0},
        {"n_neighbors": 0},
        {"step": 0},
        {"max_steps": 2.5},
        {"line_search": "guess"},
        {"base": "magic"},
    ],
)
@pytest.mark.parametrize("explainer", [RobX, TRex])
def test_wrong_options_are_refused(explainer, options):
    with pytest.raises(InvalidInput, match=f"`{next(iter(options))}` must be"):
        explainer(**options)


@pytest.mark.parametrize("options", [{"ascent_step": 0}, {"max_ascent_steps": -1}])
def test_wrong_steps_uphill_are_refused(options):
    with pytest.raises(InvalidInput, match=f"`{next(iter(options))}` must be"):
        TRex(**options)


# T-Rex


def test_climbing_a_network_reaches_stability_close_by():
    rng = np.random.default_rng(0)
    X = rng.random((300, 4))
    y = (X[:, 0] + X[:, 1] ** 2 > 0.9).astype(int)
    network = brce.Network(neurons=24, hidden_layers=2, learning_rate=0.01, random_state=0).fit(X, y)
    problem = Problem(Ensemble([network], [0, 1]), FeatureSpace.infer(X), X, y)
    climbed, targets = explain(TRex(tau=0.7), problem)
    walked, _ = explain(TRex(tau=0.7, max_ascent_steps=0), problem)
    assert climbed.found.all()
    assert stability(problem, climbed.points, targets, measure="trex", random_state=9).min() > 0.65
    near, far = (problem.features.distance(r.points, X[:20], norm="l2").mean() for r in (climbed, walked))
    assert near < far


def test_the_gradient_is_that_of_the_stability():
    from betarce.explainers.trex import stability_gradient

    problem = linear_problem(C=10.0)
    criterion = Criterion("trex", n_samples=100)
    test = StabilityTest(problem, criterion, np.tile([False, True], (5, 1)), criterion.noise(problem.features, 0)[None])
    points, rows = problem.X_train[:5], np.arange(5)
    gradient = stability_gradient(points, rows, test)
    for j in range(3):
        step = 1e-6 * (np.arange(3) == j)
        slope = (test.stability(points + step, rows) - test.stability(points - step, rows)) / 2e-6
        np.testing.assert_allclose(gradient[:, j], slope, atol=1e-5)


# The histogram


def test_the_histogram_shows_each_training_row_and_suggests_tau():
    problem = linear_problem(C=10.0)
    shown = stability_histogram(problem, n_samples=200)
    table = shown.to_frame()
    assert list(table.columns) == ["row", "class", "stability"]
    assert len(table) == 300
    median, high = shown.suggest_tau(1), shown.suggest_tau(1, quantile=0.9)
    assert (table.loc[table["class"] == 1, "stability"] >= median).mean() == pytest.approx(0.5, abs=0.01)
    assert median < high
    result, targets = explain(RobX(tau=median), problem)
    assert result.found[targets[:, 1]].all()


def test_the_histogram_draws_itself():
    matplotlib = pytest.importorskip("matplotlib")
    matplotlib.use("Agg")
    ax = stability_histogram(linear_problem(), n_samples=50).plot(bins=12)
    assert len(ax.patches) == 24
    matplotlib.pyplot.close("all")


@pytest.mark.slow
def test_the_histogram_takes_a_fitted_betarce():
    problem = linear_problem()
    rce = brce.BetaRCE(LogisticRegression(), n_models=38, random_state=0, verbose=-1)
    rce.fit(problem.X_train, problem.y_train)
    assert len(stability_histogram(rce, n_samples=20).table) == 300


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: stability_histogram(3), "`problem` must be"),
        (lambda: stability_histogram(linear_problem(), n_samples=20).suggest_tau(7), "`target` must be"),
        (lambda: stability_histogram(linear_problem(), n_samples=20).suggest_tau(1, quantile=2), "`quantile` must be"),
        (lambda: stability(linear_problem(), np.zeros((1, 3)), 1, measure="magic"), "`measure` must be"),
    ],
)
def test_wrong_requests_are_refused(call, message):
    with pytest.raises(InvalidInput, match=message):
        call()


def test_evaluations_of_neighbours_are_counted():
    base, _ = explain(GrowingSpheres(), linear_problem())
    result, _ = explain(RobX(n_samples=200), linear_problem())
    assert (result.n_evaluations >= base.n_evaluations + 200).all()


@pytest.mark.slow
def test_both_serve_as_base_of_betarce():
    problem = linear_problem(C=10.0)
    rce = brce.BetaRCE(LogisticRegression(C=10.0), base=RobX(n_samples=200), random_state=0, verbose=-1)
    rce.fit(problem.X_train, problem.y_train)
    result = rce.explain(problem.X_train[:5])
    assert {row.status for row in result} == {"certified"}


# What the paper found


@pytest.mark.slow
def test_robust_but_far_on_breast_cancer_with_boosted_trees():
    lightgbm = pytest.importorskip("lightgbm")
    X, y = load_breast_cancer(return_X_y=True)
    order = np.random.default_rng(0).permutation(len(X))
    X, y = X[order], y[order]
    train, rest = slice(0, 380), slice(380, 440)
    options = {"n_estimators": 30, "num_leaves": 15, "verbosity": -1, "n_jobs": 1}

    def trained(rows):
        return lightgbm.LGBMClassifier(**options).fit(X[train][rows], y[train][rows])

    model = trained(slice(None))
    members = [trained(np.random.default_rng(i).integers(0, 380, 380)) for i in range(15)]
    features = FeatureSpace.infer(X[train])
    problem = Problem(Ensemble([model], [0, 1]), features, X[train], y[train])
    originals = X[rest]
    targets = problem.model.labels(originals) != [0, 1]
    box, seeds = features.box(originals), list(range(60))
    retrained = Ensemble(members, [0, 1])
    robustness, distance = {}, {}
    for explainer in (GrowingSpheres(), RobX(tau=0.5), RobX(tau=0.8)):
        result = explainer.explain(originals, targets, problem, box, seeds)
        assert result.found.mean() > 0.9
        found = result.found
        key = getattr(explainer, "tau", 0)
        robustness[key] = retrained.votes(result.points[found], targets[found]).mean() / len(members)
        distance[key] = features.distance(result.points, originals)[found].mean()
    assert robustness[0] < 0.8
    assert robustness[0.5] > 0.9
    assert robustness[0.8] >= robustness[0.5] > robustness[0] + 0.15
    assert distance[0.8] > distance[0.5] > distance[0]
