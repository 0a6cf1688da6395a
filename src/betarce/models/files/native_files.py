"""Classifiers from files of LightGBM and XGBoost, told apart by what a file holds."""

from collections.abc import Sequence
from typing import Any

import numpy as np

from betarce.arrays import AnyArray
from betarce.errors import CorruptFile, InvalidInput, require

_LIGHTGBM = b"tree\n"
_XGBOOST = (b'{"learner"', b"{L")


def native_library(content: bytes) -> str | None:
    """Name the library whose own format a file has: "lightgbm", "xgboost", or None.

    Examples
    --------
    >>> native_library(b"tree\\nversion=v4\\n"), native_library(b'{"learner":{}}'), native_library(b"id,age\\n")
    ('lightgbm', 'xgboost', None)
    """
    if content.startswith(_LIGHTGBM):
        return "lightgbm"
    return "xgboost" if content.lstrip()[:10].startswith(_XGBOOST) else None


def from_lightgbm(content: bytes, *, classes: Sequence[Any] | None = None) -> Any:
    """Put a LightGBM model file into a classifier that predicts; how it was trained is not known.

    Parameters
    ----------
    content : bytes
        The text that `Booster.save_model` writes.
    classes : sequence, optional
        The labels, in the order in which the model numbers them; 0, 1, ... by default.
    """
    from sklearn.preprocessing import LabelEncoder

    lightgbm = require("lightgbm", extra="lightgbm", purpose="A LightGBM model file")
    try:
        booster = lightgbm.Booster(model_str=content.decode("utf-8"))
    except (lightgbm.basic.LightGBMError, UnicodeDecodeError) as error:
        raise CorruptFile(f"LightGBM cannot read it: {error}") from error
    labels = _labels(classes, max(2, booster.num_model_per_iteration()))
    model = lightgbm.LGBMClassifier()
    # LightGBM reads its text into a Booster only; the classifier around it must be put together by hand.
    names = booster.feature_name()
    model._Booster, model._classes, model._n_classes = booster, labels, len(labels)
    model._n_features = model._n_features_in = booster.num_feature()
    model._fitted_with_feature_names = names != [f"Column_{j}" for j in range(len(names))]
    model._le, model.fitted_ = LabelEncoder().fit(labels), True
    return model


def from_xgboost(content: bytes, *, classes: Sequence[Any] | None = None) -> Any:
    """Put an XGBoost model file, JSON or UBJSON, into a classifier that predicts."""
    xgboost = require("xgboost", extra="xgboost", purpose="An XGBoost model file")
    model = xgboost.XGBClassifier()
    try:
        model.load_model(bytearray(content))
    except (xgboost.core.XGBoostError, TypeError, ValueError) as error:
        raise CorruptFile(f"XGBoost cannot read it: {str(error).splitlines()[0]}") from error
    if classes is not None and _labels(classes, int(model.n_classes_)).tolist() != list(range(int(model.n_classes_))):
        raise InvalidInput(
            f"An XGBoost classifier knows the classes 0 to {int(model.n_classes_) - 1} only; these are "
            f"{', '.join(map(repr, classes))}. Wrap it in a class of your own, and name that as package.module:object."
        )
    return model


def _labels(classes: Sequence[Any] | None, n: int) -> AnyArray:
    labels = np.arange(n) if classes is None else np.asarray(classes)
    if len(labels) != n:
        raise InvalidInput(f"The model tells {n} classes apart; there are {len(labels)}: {labels.tolist()}.")
    return labels
