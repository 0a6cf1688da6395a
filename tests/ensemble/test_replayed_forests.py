"""Forests of pure trees are tied at many points: the kernel settles that as the library does, without asking it."""

from typing import Any

import numpy as np
import pandas as pd
import pytest
from sklearn.compose import make_column_transformer
from sklearn.datasets import make_classification
from sklearn.ensemble import BaggingClassifier, ExtraTreesClassifier, RandomForestClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder
from sklearn.tree import DecisionTreeClassifier

import betarce.ensemble.stacked
from betarce.ensemble import Ensemble
from betarce.ensemble.ensemble import KnownKernel
from betarce.ensemble.trees import traversal
from betarce.ensemble.trees.stored_kernel import kernel_arrays, kernel_of_arrays
from betarce.errors import CorruptFile
from betarce.features import FeatureSpace
from betarce.storage.array_file import from_bytes, to_bytes

MODELS = {
    "forest": lambda i: RandomForestClassifier(10, random_state=i),
    "forest of other weights": lambda i: RandomForestClassifier(6 + i, class_weight="balanced", random_state=i),
    "extra trees": lambda i: ExtraTreesClassifier(4, max_depth=6, random_state=i),
    "bagging": lambda i: BaggingClassifier(n_estimators=4, max_features=0.8, random_state=i),
    "tree with mixed leaves": lambda i: DecisionTreeClassifier(min_samples_leaf=10, random_state=i),
}


def _data(n_classes: int) -> tuple[Any, Any]:
    X, y = make_classification(300, 5, n_informative=4, n_redundant=1, n_classes=n_classes, flip_y=0.3, random_state=1)
    return np.round(X, 1), y


def _ensemble(kind: str, n_classes: int) -> tuple[Ensemble, Any]:
    X, y = _data(n_classes)
    return Ensemble([MODELS[kind](i).fit(X[i::2], y[i::2]) for i in range(3)], range(n_classes)), X


def _nobody_is_asked(monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*_: Any) -> None:
        raise AssertionError("a member was asked")

    monkeypatch.setattr(betarce.ensemble.stacked, "label_codes", refuse)


@pytest.mark.parametrize("compiled", [True, False])
@pytest.mark.parametrize("n_classes", [2, 3])
@pytest.mark.parametrize("kind", MODELS)
def test_ties_go_where_predict_sends_them(
    kind: str, n_classes: int, compiled: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    ensemble, X = _ensemble(kind, n_classes)
    own = np.stack([model.predict(X) for model in ensemble.models], axis=1)
    best = np.sort(np.stack([model.predict_proba(X) for model in ensemble.models], axis=1), axis=2)
    assert np.isclose(best[..., -1], best[..., -2]).any() or "tree" in kind, "no point is tied"
    _nobody_is_asked(monkeypatch)
    if not compiled:
        monkeypatch.setattr(traversal, "compiled", lambda: None)
    np.testing.assert_array_equal(ensemble.labels(X), own)
    for target in range(n_classes):
        np.testing.assert_array_equal(ensemble.margins(X, target) > 0, own == target)


def test_ties_behind_a_pipeline_of_categories() -> None:
    rng = np.random.default_rng(0)
    table = pd.DataFrame({"age": rng.integers(18, 80, 200), "kind": rng.choice(list("abcd"), 200)})
    y = rng.integers(0, 2, 200)
    encode = make_column_transformer((OneHotEncoder(), ["kind"]), remainder="passthrough")
    models = [make_pipeline(encode, RandomForestClassifier(4, random_state=i)).fit(table, y) for i in range(4)]
    features = FeatureSpace.infer(table)
    with pytest.MonkeyPatch.context() as monkeypatch:
        ensemble = Ensemble(models, [0, 1], features=features)
        _nobody_is_asked(monkeypatch)
        labels = ensemble.labels(features.encode(table))
    np.testing.assert_array_equal(labels, np.stack([model.predict(table) for model in models], axis=1))


def test_missing_values_go_where_predict_sends_them() -> None:
    X, y = _data(2)
    X = np.where(np.random.default_rng(0).random(X.shape) < 0.2, np.nan, X)
    models = [RandomForestClassifier(4, random_state=i).fit(X, y) for i in range(3)]
    own = np.stack([model.predict(X) for model in models], axis=1)
    np.testing.assert_array_equal(Ensemble(models, [0, 1]).labels(X), own)


def test_what_a_stored_forest_adds_up_is_checked(monkeypatch: pytest.MonkeyPatch) -> None:
    ensemble, X = _ensemble("forest of other weights", 2)
    kernel = ensemble.tree_kernel
    assert kernel is not None
    arrays = from_bytes(to_bytes(kernel_arrays(kernel, levels=[-1] * 5) or {}))
    again = kernel_of_arrays(arrays, levels=[-1] * 5, n_members=3)
    known = KnownKernel(again, ensemble.labels(X))
    own = ensemble.labels(X)
    _nobody_is_asked(monkeypatch)
    np.testing.assert_array_equal(Ensemble(ensemble.models, [0, 1], probe=X, known=known).labels(X), own)
    for wrong in (arrays["shares"][:-1], arrays["shares"][:, :1], arrays["shares"] + 1e-9):
        with pytest.raises(CorruptFile, match="a share that cannot be"):
            kernel_of_arrays({**arrays, "shares": wrong}, levels=[-1] * 5, n_members=3)


def test_a_stored_forest_of_an_earlier_version_asks_its_members() -> None:
    ensemble, X = _ensemble("forest", 2)
    arrays = kernel_arrays(ensemble.tree_kernel, levels=[-1] * 5)  # type: ignore[arg-type]
    kernel = kernel_of_arrays({k: v for k, v in (arrays or {}).items() if k != "shares"}, levels=[-1] * 5, n_members=3)
    assert kernel.replayed(X, 0) is None
    old = Ensemble(ensemble.models, [0, 1], probe=X, known=KnownKernel(kernel, ensemble.labels(X)))
    np.testing.assert_array_equal(old.labels(X), ensemble.labels(X))
