"""Read scikit-learn's trees, forests, bagged and boosted trees."""

from dataclasses import replace
from typing import Any

import numpy as np

from betarce.arrays import AnyArray, BoolArray, FloatArray
from betarce.ensemble.trees.forest_arrays import Tree, TreeMember, at_most_in_float32, bits_of_words
from betarce.ensemble.unreadable import Unreadable

_HIST = "HistGradientBoostingClassifier"
_TREE = ("sklearn", "DecisionTreeClassifier")


def read_forest(model: Any) -> TreeMember:
    """Read a tree, a random forest or extra trees."""
    if model.n_outputs_ > 1:
        raise Unreadable(f"{type(model).__name__} with several outputs")
    estimators = getattr(model, "estimators_", [model])
    n_outputs = 1 if model.n_classes_ == 2 else model.n_classes_
    trees = []
    for estimator in estimators:
        shares = estimator.tree_.value[:, 0]
        tree = _sklearn_tree(estimator.tree_, shares[:, -n_outputs:] / len(estimators))
        trees.append(replace(tree, shares=shares))
    missing = bool(model.__sklearn_tags__().input_tags.allow_nan)
    return TreeMember(trees, np.zeros(n_outputs), probability=True, missing=missing, sparse_missing=False)


def read_bagging(model: Any) -> TreeMember:
    """Read a `BaggingClassifier` of trees."""
    if model.n_classes_ < 2:
        raise Unreadable("BaggingClassifier of one class")
    n_outputs = 1 if model.n_classes_ == 2 else model.n_classes_
    # With several jobs it adds up partial sums, which round in another way.
    in_order = model.n_jobs in (None, 1)
    trees = []
    for estimator, columns in zip(_trees_of(model), model.estimators_features_, strict=True):
        # The labels of bagged trees are codes; one that a sample lacked has no share.
        shares = np.zeros((estimator.tree_.node_count, model.n_classes_))
        shares[:, estimator.classes_] = estimator.tree_.value[:, 0]
        tree = _sklearn_tree(estimator.tree_, shares[:, -n_outputs:] / len(model.estimators_))
        feature = np.asarray(columns)[np.maximum(tree.feature, 0)]
        trees.append(replace(tree, feature=feature, shares=shares if in_order else None))
    missing = bool(model.__sklearn_tags__().input_tags.allow_nan)
    return TreeMember(trees, np.zeros(n_outputs), probability=True, missing=missing, sparse_missing=False)


def read_ada_boost(model: Any) -> TreeMember:
    """Read an `AdaBoostClassifier` of trees, each of which votes for one class."""
    n_classes = int(model.n_classes_)
    if n_classes < 2:
        raise Unreadable("AdaBoostClassifier of one class")
    n_outputs = 1 if n_classes == 2 else n_classes
    trees = []
    weights = model.estimator_weights_ / model.estimator_weights_.sum()
    for estimator, weight in zip(_trees_of(model), weights, strict=False):
        label = estimator.classes_[estimator.tree_.value[:, 0].argmax(axis=1)]
        votes = np.where(label[:, np.newaxis] == model.classes_, 1.0, -1 / (n_classes - 1))[:, -n_outputs:]
        # Its log-odds are twice the weighted mean of votes of -1 and 1; with more classes, votes are shared out.
        trees.append(_sklearn_tree(estimator.tree_, weight * votes * (2.0 if n_classes == 2 else 1 / (n_classes - 1))))
    return TreeMember(trees, np.zeros(n_outputs), missing=False)


def _trees_of(model: Any) -> list[Any]:
    kinds = {type(each) for each in model.estimators_}
    others = {kind.__name__ for kind in kinds if (kind.__module__.partition(".")[0], kind.__name__) != _TREE}
    if others:
        raise Unreadable(f"{type(model).__name__} of {', '.join(sorted(others))}")
    return list(model.estimators_)


def read_gradient_boosting(model: Any) -> TreeMember:
    """Read a `GradientBoostingClassifier`."""
    if model.init not in (None, "zero"):
        raise Unreadable("GradientBoostingClassifier with an initial estimator")
    start = model._raw_predict_init(np.zeros((1, model.n_features_in_), dtype=np.float32))[0]
    # Half the log-odds is what the exponential loss works with.
    scale = 2.0 if model.loss == "exponential" else 1.0
    trees = [
        _sklearn_tree(tree.tree_, scale * model.learning_rate * tree.tree_.value[:, 0], output)
        for stage in model.estimators_
        for output, tree in enumerate(stage)
    ]
    return TreeMember(trees, base=scale * start, missing=False)


def _sklearn_tree(tree: Any, value: FloatArray, output: int = 0) -> Tree:
    return Tree(
        feature=tree.feature,
        threshold=at_most_in_float32(tree.threshold),
        left=tree.children_left,
        right=tree.children_right,
        value=value,
        output=output,
        missing_left=np.asarray(tree.missing_go_to_left, dtype=bool),
    )


def inner_encoder(model: Any) -> Any | None:
    """Give the encoder inside a `HistGradientBoostingClassifier`; None if it or another model has none.

    It puts categorical columns before numeric ones; see `encodes_columns`.
    """
    is_hist = (type(model).__module__.partition(".")[0], type(model).__name__) == ("sklearn", _HIST)
    return model._preprocessor if is_hist else None


def encodes_columns(model: Any) -> BoolArray:
    """Say which columns of the table the encoder inside a `HistGradientBoostingClassifier` encodes."""
    return np.asarray(model.is_categorical_, dtype=bool)


def read_hist_gradient_boosting(model: Any) -> TreeMember:
    """Read a `HistGradientBoostingClassifier`."""
    known, place = [np.zeros((0, 8), dtype=np.uint32), np.zeros(model._n_features, dtype=np.int64)]
    if model._preprocessor is not None:
        known, place = model._bin_mapper.make_known_categories_bitsets()
    trees = [
        _hist_tree(tree.nodes, tree.raw_left_cat_bitsets, known, place, output)
        for stage in model._predictors
        for output, tree in enumerate(stage)
    ]
    return TreeMember(trees, base=model._baseline_prediction.reshape(-1))


def _hist_tree(nodes: AnyArray, goes_left: AnyArray, known: AnyArray, place: AnyArray, output: int) -> Tree:
    leaf = nodes["is_leaf"].astype(bool)
    missing_left = nodes["missing_go_to_left"].astype(bool)
    sets = {}
    for node in np.flatnonzero(nodes["is_categorical"].astype(bool) & ~leaf).tolist():
        # A category that training never saw goes where missing values go.
        unseen = ~bits_of_words(np.asarray(known[place[nodes["feature_idx"][node]]]))
        sets[node] = bits_of_words(np.asarray(goes_left[nodes["bitset_idx"][node]])) | (unseen & missing_left[node])
    return Tree(
        feature=nodes["feature_idx"],
        threshold=nodes["num_threshold"],
        left=np.where(leaf, -1, nodes["left"].astype(np.int64)),
        right=np.where(leaf, -1, nodes["right"].astype(np.int64)),
        value=np.where(leaf, nodes["value"], 0.0)[:, np.newaxis],
        output=output,
        missing_left=missing_left,
        sets=sets,
    )
