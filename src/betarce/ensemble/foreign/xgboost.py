"""Read the trees of XGBoost classifiers from their JSON form."""

import json
from itertools import pairwise
from typing import Any

import numpy as np

from betarce.arrays import BoolArray, IntArray
from betarce.ensemble.trees.forest_arrays import SINGLE, Tree, TreeMember, less_in_float32
from betarce.ensemble.unreadable import Unreadable


def read_trees(model: Any) -> TreeMember:
    """Read an `XGBClassifier`."""
    booster = model.get_booster()
    learner = json.loads(booster.save_raw("json"))["learner"]
    objective, boosting = learner["objective"]["name"], learner["gradient_booster"]
    if objective not in ("binary:logistic", "multi:softprob"):
        raise Unreadable(f"XGBoost with the objective {objective!r}")
    if boosting["name"] != "gbtree":
        raise Unreadable(f"XGBoost with the booster {boosting['name']!r}")
    if not np.isnan(model.missing):
        raise Unreadable("XGBoost with a number for missing values")
    n_outputs = max(1, int(learner["learner_model_param"]["num_class"]))
    start = np.array(json.loads(f"[{learner['learner_model_param']['base_score'].strip('[]')}]"), dtype=np.float32)
    if objective == "binary:logistic":  # kept as a probability
        start = -np.log(np.float32(1) / start - np.float32(1))
    best = booster.attr("best_iteration")
    trees, outputs = boosting["model"]["trees"], boosting["model"]["tree_info"]
    if best is not None:
        trees = trees[: boosting["model"]["iteration_indptr"][int(best) + 1]]
    if any(int(tree["tree_param"]["size_leaf_vector"]) > 1 for tree in trees):
        raise Unreadable("XGBoost with leaves of several outputs")
    read = [_tree(tree, output) for tree, output in zip(trees, outputs, strict=False)]
    # In a sparse matrix, XGBoost takes zeros for missing; nothing here says so.
    base = np.broadcast_to(start, n_outputs).astype(np.float64)
    return TreeMember(read, base=base, rounding=SINGLE, sparse=False)


def encode_categories(model: Any, table: Any, columns: IntArray) -> Any:
    """Encode categorical columns as XGBoost does: by their codes, if the categories are those of its training."""
    learner = json.loads(model.get_booster().save_raw("json"))["learner"]
    # From version 3.1 on, the lists are part of the model, and other codes are translated.
    stored = learner["gradient_booster"]["model"].get("cats", {}).get("enc", [])
    table = table.copy(deep=False)
    for j in columns:
        if learner["feature_types"][j] != "c":
            raise Unreadable("XGBoost with categories in a column of numbers")
        categories = table.iloc[:, j].cat.categories
        if stored and _levels(stored[j]) != categories.tolist():
            raise Unreadable("XGBoost with other categories than in training")
        codes = table.iloc[:, j].cat.codes.to_numpy()
        table.isetitem(j, np.where(codes < 0, np.nan, codes))
    return table


def _levels(stored: dict[str, Any]) -> list[Any]:
    """Read a list of categories: numbers, or texts laid end to end."""
    values, offsets = stored["values"], stored.get("offsets")
    if offsets is None:
        return list(values)
    text = bytes(value % 256 for value in values)
    return [text[start:stop].decode() for start, stop in pairwise(offsets)]


def _tree(tree: dict[str, Any], output: int) -> Tree:
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
        sets=_sets(tree),
        others_left=True,
    )


def _sets(tree: dict[str, Any]) -> dict[int, BoolArray]:
    """Read the categories of each split: those listed go right, all others left."""
    sets = {}
    spans = zip(tree["categories_nodes"], tree["categories_segments"], tree["categories_sizes"], strict=True)
    for node, start, size in spans:
        right = np.array(tree["categories"][start : start + size], dtype=np.int64)
        left = np.ones(int(right.max(initial=-1)) + 1, dtype=bool)
        left[right] = False
        sets[int(node)] = left
    return sets
