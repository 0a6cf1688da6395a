"""Pipelines over mixed tables: their answers, computed at once from points."""

import warnings

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.base import clone
from sklearn.compose import make_column_selector, make_column_transformer
from sklearn.exceptions import ConvergenceWarning
from sklearn.frozen import FrozenEstimator
from sklearn.impute import SimpleImputer
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import FixedThresholdClassifier
from sklearn.neural_network import MLPClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import (
    KBinsDiscretizer,
    MinMaxScaler,
    OneHotEncoder,
    StandardScaler,
)
from sklearn.svm import LinearSVC

from betarce import Ensemble, Network
from betarce.ensemble.generic import GenericGroup
from betarce.ensemble.preprocessing.probe_points import ProbePoints
from betarce.ensemble.preprocessing.read_columns import read_preprocessing
from betarce.ensemble.stacked import StackedGroup
from betarce.ensemble.unreadable import Unreadable
from betarce.errors import SlowMembers
from mixed_pipelines import (
    CATEGORIES,
    ENCODERS,
    GROUP,
    IMPUTERS,
    NUMBERS,
    SCALERS,
    bootstrap,
    columns,
    preprocessing,
    problem,
)


def group_types(ensemble):
    return {type(group) for _, group in ensemble.groups}


def own_labels(models, table):
    return np.stack([model.predict(table) for model in models], axis=1)


def bisected(model, space, points, seed=0, n=25):
    """Move one number of a point towards another's until the label turns between neighbouring floats."""
    rng = np.random.default_rng(seed)
    left, right = (points[rng.integers(0, len(points), 800)] for _ in range(2))
    j = rng.choice([0, 2, 3], 800)
    rows = np.arange(800)
    right = np.where(np.arange(points.shape[1]) == j[:, None], right, left)
    start, stop = (model.predict(space.decode(each)) for each in (left, right))
    use = (start != stop) & ~np.isnan(left[rows, j]) & ~np.isnan(right[rows, j])
    left, right, j, start = left[use][:n], right[use][:n], j[use][:n], start[use][:n]
    rows = np.arange(len(left))
    for _ in range(70 if len(left) else 0):
        middle = (left + right) / 2
        same = model.predict(space.decode(middle)) == start
        left[rows[same], j[same]] = middle[rows[same], j[same]]
        right[rows[~same], j[~same]] = middle[rows[~same], j[~same]]
    return np.vstack([left, right])


def check(models, space, points, kind, probe=None, on_the_edge=True):
    """Hold an ensemble against its members on points anywhere and on the edge."""
    classes = models[0].classes_
    ensemble = Ensemble(models, classes, features=space, probe=probe)
    assert group_types(ensemble) == {kind}
    drawn = space.draw(np.random.default_rng(9), 1000)
    edges = bisected(models[0], space, drawn[:400]) if on_the_edge else drawn[:0]
    points = np.vstack([points, drawn, edges])
    own = own_labels(models, space.decode(points))
    found = ensemble.labels(points)
    # A sum of floats changes with the size of the batch, and with it a member's own label on the very edge.
    assert not ((found != own) & ~asked(ensemble, points)).any()
    assert (found != own).mean() < 0.02
    sure = (found == own).all(axis=1)
    points, own = points[sure], own[sure]
    assert ((ensemble.margins(points, classes[0]) > 0) == (own == classes[0])).mean() > 0.999
    np.testing.assert_array_equal(
        ensemble.margins(points[:1000], classes[0]) > 0, own[:1000] == classes[0], "away from the edge"
    )
    np.testing.assert_array_equal(
        ensemble.reaches(points[:1000], classes[1], 2), (own[:1000] == classes[1]).sum(axis=1) >= 2
    )


def asked(ensemble, points):
    """Say which answers the members gave themselves."""
    (indices, group), *_ = ensemble.groups
    scores, doubt = group.scored(points, slice(None))
    scores = np.sort(scores.reshape(len(points), len(indices), -1), axis=2)
    gap = np.abs(scores[..., 0]) if scores.shape[2] == 1 else scores[..., -1] - scores[..., -2]
    return ~(gap > doubt)


MODELS = {
    "logistic": lambda i: LogisticRegression(C=10.0**-i, max_iter=500),
    "svm": lambda i: LinearSVC(C=10.0**-i, random_state=i),
    "mlp": lambda i: MLPClassifier((8, 5), max_iter=60, random_state=i),
    "network": lambda i: Network(neurons=8, dropout=0.0, max_epochs=30, random_state=i),
}


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
@pytest.mark.parametrize("n_classes", [2, 3])
@pytest.mark.parametrize("model", MODELS)
def test_linear_models_and_networks_behind_encoders_scalers_and_imputers_are_stacked(model, n_classes):
    space = columns()
    points, y = problem(space, n_classes=n_classes)
    models = bootstrap(lambda i: make_pipeline(preprocessing(), MODELS[model](i)), space, points, y)
    check(models, space, points, StackedGroup, probe=points[:20])


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore:Found unknown categories")
@pytest.mark.parametrize(
    ("encoder", "imputer"),
    [(encoder, ["mean", "median", "most frequent", "constant"][i % 4]) for i, encoder in enumerate(ENCODERS)],
)
def test_every_encoder_and_imputer_is_folded(encoder, imputer):
    space = columns(category="object" if encoder == "imputed one-hot" else "category")
    points, y = problem(space, missing=0.0 if encoder == "ordinal, missing kept" else 0.1)
    models = bootstrap(
        lambda i: make_pipeline(preprocessing("standard", imputer, encoder), MODELS["logistic"](i)),
        space,
        points,
        np.array(["no", "yes"])[y],
        n=1 if encoder == "ordinal, missing kept" else 3,
    )
    ensemble = Ensemble(models, models[0].classes_, features=space)
    assert group_types(ensemble) == {StackedGroup}
    drawn = space.draw(np.random.default_rng(9), 1500, missing=0.0 if encoder == "ordinal, missing kept" else 0.1)
    np.testing.assert_array_equal(ensemble.labels(drawn), own_labels(models, space.decode(drawn)))


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore:Found unknown categories")
@settings(max_examples=8, deadline=None)
@given(
    scaler=st.sampled_from(sorted(set(SCALERS) - {"clipped"})),
    imputer=st.sampled_from(sorted(set(IMPUTERS) - {"none"})),
    encoder=st.sampled_from(sorted(set(ENCODERS) - {"imputed one-hot", "ordinal, missing kept"})),
    remainder=st.sampled_from(["drop", "passthrough", "scaled"]),
    sparse=st.sampled_from([0.0, 0.3, 1.0]),
    group=st.booleans(),
    seed=st.integers(0, 1000),
)
def test_labels_of_random_pipelines_are_those_of_predict(scaler, imputer, encoder, remainder, sparse, group, seed):
    space = columns(group=group)
    points, y = problem(space, seed, n=150)
    options = {"remainder": MinMaxScaler() if remainder == "scaled" else remainder, "sparse_threshold": sparse}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        models = bootstrap(
            lambda i: make_pipeline(preprocessing(scaler, imputer, encoder, **options), LogisticRegression()),
            space,
            points,
            y,
        )
    ensemble = Ensemble(models, [0, 1], features=space)
    assert group_types(ensemble) == {StackedGroup}
    points = np.vstack([points, space.draw(np.random.default_rng(seed), 1000)])
    own = own_labels(models, space.decode(points))
    np.testing.assert_array_equal(ensemble.labels(points), own)
    np.testing.assert_array_equal(ensemble.margins(points, 1) > 0, own == 1)


SELECTIONS = {
    "names": (NUMBERS, CATEGORIES, GROUP),
    "positions": ([1, 2, 5, 7], [0, 3, 8], [4, 6, 9]),
    "negative positions": ([1, 2, 5, -3], [0, 3, -2], [4, 6, -1]),
    "masks": tuple([j in chosen for j in range(10)] for chosen in ([1, 2, 5, 7], [0, 3, 8], [4, 6, 9])),
    "slice": (slice("n0", "n1"), ["c4"], ["c5"]),
    "dtypes": (
        make_column_selector(dtype_include="number"),
        make_column_selector(dtype_include="category"),
        make_column_selector(pattern="nothing"),
    ),
}


@pytest.mark.parametrize("selection", SELECTIONS)
def test_columns_are_found_however_they_were_selected(selection):
    space = columns()
    numbers, categories, group = SELECTIONS[selection]
    if selection == "slice":
        numeric = make_column_transformer((make_pipeline(SimpleImputer(), StandardScaler()), numbers))
        transformer = make_column_transformer(
            (numeric, numbers), (OneHotEncoder(handle_unknown="ignore"), categories), (ENCODERS["ordinal"](), group)
        )
    else:
        transformer = make_column_transformer(
            (make_pipeline(SimpleImputer(), StandardScaler()), numbers),
            (OneHotEncoder(handle_unknown="ignore"), categories),
            (FrozenEstimator(StandardScaler().fit(pd.DataFrame(np.eye(3), columns=GROUP))), group)
            if selection == "names"
            else ("passthrough", group),
        )
    points, y = problem(space)
    models = bootstrap(lambda i: make_pipeline(clone(transformer), LogisticRegression(C=1 + i)), space, points, y)
    check(models, space, points, StackedGroup, on_the_edge=False)


def test_a_one_hot_group_without_any_transformer_is_stacked():
    space = columns()
    points, y = problem(space, missing=0.0)
    chosen = [r for r in space.readings if r.levels is None or r.name in GROUP]
    numeric = type(space)(tuple(chosen), tuple("int64" if r.name in [*GROUP, "n1"] else "float64" for r in chosen))
    models = [LogisticRegression(C=c, max_iter=5000).fit(numeric.decode(points), y) for c in (0.1, 1.0)]
    ensemble = Ensemble(models, [0, 1], features=numeric)
    assert group_types(ensemble) == {StackedGroup}
    np.testing.assert_array_equal(ensemble.labels(points), own_labels(models, numeric.decode(points)))


def test_float32_columns_are_computed_as_the_members_compute_them():
    space = columns(number="float32", group=False)
    numbers = type(space)(tuple(r for r in space.readings if r.levels is None and r.name != "n1"), ("float32",) * 3)
    points, y = problem(space, missing=0.0)
    models = bootstrap(lambda i: make_pipeline(StandardScaler(), LogisticRegression(C=1 + i)), numbers, points, y)
    drawn = space.draw(np.random.default_rng(1), 3000, missing=0.0)
    for probe in (None, points[:20]):
        ensemble = Ensemble(models, [0, 1], features=numbers, probe=probe)
        np.testing.assert_array_equal(ensemble.labels(drawn), own_labels(models, numbers.decode(drawn)))
        assert group_types(ensemble) == {StackedGroup}


@pytest.mark.parametrize(
    ("groups", "kind"), [([["n0", "n2"]], StackedGroup), ([["n0"], ["n2"]], GenericGroup)], ids=["one scaler", "two"]
)
def test_scalers_that_work_in_two_precisions_are_left_to_the_members(groups, kind):
    space = columns(group=False)
    chosen = tuple(r for r in space.readings if r.name in ("n0", "n2"))
    mixed = type(space)(chosen, ("float32", "float64"))
    points, y = problem(space, missing=0.0)
    points[:, 0] = points[:, 0].astype(np.float32)
    scale = make_column_transformer(*((StandardScaler(), names) for names in groups))
    model = make_pipeline(scale, LogisticRegression()).fit(mixed.decode(points), y)
    ensemble = Ensemble([model], [0, 1], features=mixed, probe=points[:20])
    assert group_types(ensemble) == {kind}
    np.testing.assert_array_equal(ensemble.labels(points), own_labels([model], mixed.decode(points)))


@pytest.mark.slow
@pytest.mark.parametrize("model", ["logistic", "mlp"])
@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
def test_a_missing_value_that_a_member_refuses_is_the_members_own_error(model):
    space = columns()
    points, y = problem(space, missing=0.0)
    encode = make_column_transformer((StandardScaler(), NUMBERS), (OneHotEncoder(), CATEGORIES))
    models = [make_pipeline(clone(encode), MODELS[model](i)).fit(space.decode(points), y) for i in range(2)]
    ensemble = Ensemble(models, [0, 1], features=space)
    assert group_types(ensemble) == {StackedGroup}
    np.testing.assert_array_equal(ensemble.labels(points), own_labels(models, space.decode(points)))
    for column in (0, 5):
        holed = points[:3].copy()
        holed[1, column] = np.nan
        with pytest.raises(ValueError, match=r"NaN|unknown categories"):
            ensemble.votes(holed, 1)
        with pytest.raises(ValueError, match=r"NaN|unknown categories"):
            ensemble.margins(holed, 1)


def test_a_missing_value_without_any_preprocessing_is_the_members_own_error():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(50, 2))
    ensemble = Ensemble([LogisticRegression().fit(X, X[:, 0] > 0)], [False, True])
    with pytest.raises(ValueError, match="NaN"):
        ensemble.labels(np.array([[0.0, np.nan]]))


def test_a_level_that_an_encoder_refuses_leaves_the_members_to_themselves():
    space = columns()
    points, y = problem(space, missing=0.0)
    encode = make_column_transformer((StandardScaler(), NUMBERS), (OneHotEncoder(), CATEGORIES))
    models = bootstrap(lambda i: make_pipeline(clone(encode), LogisticRegression()), space, points, y)
    ensemble = Ensemble(models, [0, 1], features=space)
    assert group_types(ensemble) == {StackedGroup, GenericGroup}  # the first has seen all levels
    assert ensemble.labels(points[points[:, 6] > 2]).shape[1] == 3
    with pytest.raises(ValueError, match="unknown categories"):
        ensemble.labels(points)


GENERIC = {
    "bins": lambda: make_pipeline(preprocessing(), KBinsDiscretizer(encode="ordinal", quantile_method="linear")),
    "clipped numbers": lambda: preprocessing("clipped"),
    "weighted": lambda: preprocessing(transformer_weights={"numbers": 2.0}),
    "a number for missing": lambda: make_column_transformer((SimpleImputer(missing_values=3), ["n1"])),
    "categories of numbers": lambda: make_column_transformer((OneHotEncoder(handle_unknown="ignore"), ["n1"])),
}

WHY = {
    "bins": "KBinsDiscretizer before the estimator",
    "clipped numbers": "a scaler that clips, before a linear model",
    "weighted": "ColumnTransformer with weights",
    "a number for missing": "SimpleImputer with a number for missing values",
    "categories of numbers": "an encoder of a column of numbers",
}


@pytest.mark.parametrize("case", GENERIC)
def test_what_cannot_be_folded_is_left_to_the_members(case):
    space = columns()
    points, y = problem(space)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        models = bootstrap(lambda i: make_pipeline(GENERIC[case](), LogisticRegression()), space, points, y)
    with pytest.warns(SlowMembers, match=WHY[case]):
        ensemble = Ensemble(models, [0, 1], features=space)
    assert group_types(ensemble) == {GenericGroup}
    assert WHY[case] in repr(ensemble)
    np.testing.assert_array_equal(ensemble.labels(points), own_labels(models, space.decode(points)))


def test_a_column_that_cannot_say_missing_is_never_shown_as_missing():
    probes = ProbePoints.numeric(2, np.asarray, None)
    assert probes.missing_tables[0][0].tolist() == [True, True]

    def decode(points):
        return pd.DataFrame({"whole": points[:, 0].astype(np.int64), "real": points[:, 1]})

    probes = ProbePoints.numeric(2, decode, None)
    assert probes.missing_tables[0][0].tolist() == [False, True]


def test_a_subclass_of_a_transformer_is_unreadable():
    class Doubling(StandardScaler):
        def transform(self, X):
            return 2 * super().transform(X)

    X = np.arange(6.0).reshape(3, 2)
    with pytest.raises(Unreadable):
        read_preprocessing([Doubling().fit(X)], None, ProbePoints.numeric(2, np.asarray, None))


def test_a_transformer_that_does_something_else_than_it_was_read_to_is_unreadable(monkeypatch):
    X = np.arange(6.0).reshape(3, 2)
    scaler = StandardScaler().fit(X)
    monkeypatch.setattr(scaler, "transform", lambda table: np.sqrt(np.abs(table)))
    with pytest.raises(Unreadable, match="not what was read"):
        read_preprocessing([scaler], None, ProbePoints.numeric(2, np.asarray, X))


@pytest.mark.slow
def test_thresholds_behind_preprocessing_are_stacked():
    space = columns()
    points, y = problem(space)
    inner = bootstrap(
        lambda i: make_pipeline(preprocessing(), FixedThresholdClassifier(LogisticRegression(C=1 + i), threshold=0.2)),
        space,
        points,
        y,
    )
    check(inner, space, points, StackedGroup)
    outer = bootstrap(
        lambda i: FixedThresholdClassifier(make_pipeline(preprocessing(), LogisticRegression(C=1 + i)), threshold=0.7),
        space,
        points,
        y,
    )
    check(outer, space, points, StackedGroup, on_the_edge=False)


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
@pytest.mark.parametrize("n_classes", [2, 3])
@pytest.mark.parametrize("model", ["logistic", "mlp"])
def test_slopes_are_the_gradient_along_numbers_and_zero_along_codes(model, n_classes):
    space = columns()
    points, y = problem(space, n_classes=n_classes)
    models = bootstrap(lambda i: make_pipeline(preprocessing(), MODELS[model](i)), space, points, y)
    ensemble = Ensemble(models, np.arange(n_classes), features=space)
    assert ensemble.has_slopes
    points = points[:60]
    weights = np.random.default_rng(0).normal(size=(60, 3))
    slopes = ensemble.slopes(points, 1, weights)
    assert slopes.shape == points.shape
    assert not slopes[:, 4:].any()
    assert not slopes[np.isnan(points)].any()
    near = []
    for j in (0, 2, 3):
        size = np.nanstd(points[:, j])
        step = np.zeros(points.shape[1])
        step[j] = 1e-6 * size
        up, down = (ensemble.margins(points + sign * step, 1) for sign in (1, -1))
        numeric = ((up - down) * weights).sum(axis=1) / 2e-6
        known = ~np.isnan(points[:, j])
        near.append(np.isclose(slopes[known, j] * size, numeric[known], rtol=1e-3, atol=1e-4))
    assert np.mean(np.concatenate(near)) > 0.95


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
@pytest.mark.parametrize("model", MODELS)
def test_few_points_of_a_table_are_in_doubt(model):
    space = columns()
    points, y = problem(space)
    models = bootstrap(lambda i: make_pipeline(preprocessing(), MODELS[model](i)), space, points, y)
    ensemble = Ensemble(models, [0, 1], features=space)
    (_, group), *_ = ensemble.groups
    drawn = space.draw(np.random.default_rng(1), 4000)
    gap, doubt = (np.abs(group.kernel.scores(drawn, slice(None))), group.kernel.doubt(drawn, slice(None)))
    assert np.mean(gap <= doubt) < 2e-3
