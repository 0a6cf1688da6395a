"""The trees of LightGBM, XGBoost and scikit-learn, each read as its library reads them."""

import json
from collections.abc import Callable
from typing import Any

import numpy as np

from betarce.arrays import AnyArray, BoolArray, FloatArray, IntArray
from betarce.ensemble.forest_arrays import (
    SINGLE,
    Tree,
    TreeMember,
    at_most_in_float32,
    less_in_float32,
)


def read_member(model: Any) -> TreeMember | None:
    """Read a fitted classifier's trees; None for what these arrays cannot say exactly."""
    kind = type(model)
    # By name, so that no library is imported to be compared with; a subclass may override `predict`, so it is out.
    reader = READERS.get((kind.__module__.partition(".")[0], kind.__name__))
    return reader(model) if reader else None


def _read_lightgbm(model: Any) -> TreeMember | None:
    # The text holds the trees up to the best iteration, as `predict` uses them, with every digit.
    head, *blocks = model.booster_.model_to_string().split("\nTree=")
    objective = _fields(head).get("objective", "").split()
    early_stop = any("pred" in name for name in model.get_params())  # pred_early_stop, which skips trees
    if not blocks or objective[:1] not in (["binary"], ["multiclass"]) or early_stop:
        return None
    n_outputs = int(_fields(head)["num_tree_per_iteration"])
    sigmoid = [float(part.partition(":")[2]) for part in objective if part.startswith("sigmoid:")]
    scale = sigmoid[0] if sigmoid else 1.0
    if "average_output" in head.splitlines():
        scale *= n_outputs / len(blocks)
    trees = [_lightgbm_tree(_fields(block), scale, i % n_outputs) for i, block in enumerate(blocks)]
    known = [tree for tree in trees if tree is not None]
    return TreeMember(known, base=np.zeros(n_outputs)) if len(known) == len(trees) else None


def _lightgbm_tree(text: dict[str, str], scale: float, output: int) -> Tree | None:
    leaf_value = scale * np.array(text["leaf_value"].split(), dtype=np.float64)
    decision = np.array(text.get("decision_type", "").split(), dtype=np.int64)
    missing_type = (decision >> 2) & 3  # 0: none, so that a missing value counts as zero; 1: zero; 2: NaN
    if text.get("is_linear", "0") != "0" or (missing_type == 1).any():
        return None
    n_splits, n_leaves = len(leaf_value) - 1, len(leaf_value)
    empty = [-1] * n_leaves

    def column(name: str) -> AnyArray:
        return np.array(text.get(name, "").split()[:n_splits], dtype=np.float64)

    # Children are written as ~leaf for leaves; here the leaves follow the splits.
    left, right = (np.where(c < 0, n_splits - c - 1, c) for c in (column("left_child"), column("right_child")))
    threshold, categorical = _zero_snapped(column("threshold")), decision & 1 == 1
    missing_left = np.where(missing_type == 0, threshold >= 0, decision & 2 != 0) & ~categorical
    return Tree(
        feature=np.append(column("split_feature"), empty).astype(np.int64),
        threshold=np.append(threshold, empty),
        left=np.append(left, empty).astype(np.int64),
        right=np.append(right, empty).astype(np.int64),
        value=np.append(np.zeros(n_splits), leaf_value)[:, np.newaxis],
        output=output,
        missing_left=np.append(missing_left, np.zeros(n_leaves, dtype=bool)),
        sets=_lightgbm_sets(text, column("threshold"), np.flatnonzero(categorical)),
    )


def _lightgbm_sets(text: dict[str, str], which: FloatArray, nodes: IntArray) -> dict[int, BoolArray]:
    """Read the categories that go left, as bits of 32-bit words; a split's threshold says which words are its own."""
    start = np.array(text.get("cat_boundaries", "").split(), dtype=np.int64)
    words = np.array(text.get("cat_threshold", "").split(), dtype=np.uint32)
    spans = {int(node): int(which[node]) for node in nodes}
    return {node: _bits(words[start[place] : start[place + 1]]) for node, place in spans.items()}


def _bits(words: AnyArray) -> BoolArray:
    return ((words[:, np.newaxis] >> np.arange(32, dtype=np.uint32)) & 1).astype(bool).reshape(-1)


def _zero_snapped(threshold: FloatArray) -> FloatArray:
    """Let thresholds say what LightGBM does to its input: whatever is within 1e-35 of zero is zero."""
    tiny = float(np.float32(1e-35))
    inside = np.abs(threshold) <= tiny
    return np.where(inside, np.where(threshold >= 0, tiny, np.nextafter(-tiny, -1)), threshold)


def _fields(text: str) -> dict[str, str]:
    """Read the lines `name=value` up to the first empty one."""
    lines = text.split("\n\n", 1)[0].splitlines()
    return {name: value for name, equals, value in (line.partition("=") for line in lines) if equals}


def _read_xgboost(model: Any) -> TreeMember | None:
    booster = model.get_booster()
    learner = json.loads(booster.save_raw("json"))["learner"]
    objective, boosting = learner["objective"]["name"], learner["gradient_booster"]
    if objective not in ("binary:logistic", "multi:softprob") or boosting["name"] != "gbtree":
        return None
    if not np.isnan(model.missing):
        return None
    n_outputs = max(1, int(learner["learner_model_param"]["num_class"]))
    start = np.array(json.loads(f"[{learner['learner_model_param']['base_score'].strip('[]')}]"), dtype=np.float32)
    if objective == "binary:logistic":  # kept as a probability
        start = -np.log(np.float32(1) / start - np.float32(1))
    best = booster.attr("best_iteration")
    trees, outputs = boosting["model"]["trees"], boosting["model"]["tree_info"]
    if best is not None:
        trees = trees[: boosting["model"]["iteration_indptr"][int(best) + 1]]
    if any(tree["categories"] or int(tree["tree_param"]["size_leaf_vector"]) > 1 for tree in trees):
        return None
    read = [_xgboost_tree(tree, output) for tree, output in zip(trees, outputs, strict=False)]
    # In a sparse matrix, XGBoost takes zeros for missing; nothing here says so.
    base = np.broadcast_to(start, n_outputs).astype(np.float64)
    return TreeMember(read, base=base, rounding=SINGLE, sparse=False)


def _xgboost_tree(tree: dict[str, Any], output: int) -> Tree:
    left = np.array(tree["left_children"])
    number = np.array(tree["split_conditions"], dtype=np.float32)  # a split's threshold, a leaf's value
    return Tree(
        feature=np.array(tree["split_indices"]),
        threshold=less_in_float32(number),
        left=left,
        right=np.array(tree["right_children"]),
        value=np.where(left < 0, number, 0).astype(np.float64)[:, np.newaxis],
        output=output,
        missing_left=np.array(tree["default_left"], dtype=bool),
    )


def _read_sklearn_forest(model: Any) -> TreeMember | None:
    if model.n_outputs_ > 1:
        return None
    estimators = getattr(model, "estimators_", [model])
    n_outputs = 1 if model.n_classes_ == 2 else model.n_classes_
    trees = [_sklearn_tree(tree.tree_, tree.tree_.value[:, 0, -n_outputs:] / len(estimators)) for tree in estimators]
    missing = bool(model.__sklearn_tags__().input_tags.allow_nan)
    return TreeMember(trees, np.zeros(n_outputs), probability=True, missing=missing, sparse_missing=False)


def _read_gradient_boosting(model: Any) -> TreeMember | None:
    if model.init not in (None, "zero"):
        return None
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


def _read_hist_gradient_boosting(model: Any) -> TreeMember:
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
        # What training never saw goes where missing values go.
        unseen = ~_bits(np.asarray(known[place[nodes["feature_idx"][node]]]))
        sets[node] = _bits(np.asarray(goes_left[nodes["bitset_idx"][node]])) | (unseen & missing_left[node])
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


READERS: dict[tuple[str, str], Callable[[Any], TreeMember | None]] = {
    ("lightgbm", "LGBMClassifier"): _read_lightgbm,
    ("xgboost", "XGBClassifier"): _read_xgboost,
    ("sklearn", "DecisionTreeClassifier"): _read_sklearn_forest,
    ("sklearn", "RandomForestClassifier"): _read_sklearn_forest,
    ("sklearn", "ExtraTreesClassifier"): _read_sklearn_forest,
    ("sklearn", "GradientBoostingClassifier"): _read_gradient_boosting,
    ("sklearn", "HistGradientBoostingClassifier"): _read_hist_gradient_boosting,
}
