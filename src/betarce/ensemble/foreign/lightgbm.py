"""Read the trees of LightGBM classifiers from their text form."""

from typing import Any

import numpy as np

from betarce.arrays import AnyArray, BoolArray, FloatArray, IntArray
from betarce.ensemble.trees.forest_arrays import Tree, TreeMember, bits_of_words
from betarce.ensemble.unreadable import Unreadable


def read_trees(model: Any) -> TreeMember:
    """Read an `LGBMClassifier`."""
    # The text holds the trees up to the best iteration, as `predict` uses them, with every digit.
    head, *blocks = model.booster_.model_to_string().split("\nTree=")
    objective = _fields(head).get("objective", "").split()
    if any("pred" in name for name in model.get_params()):  # pred_early_stop, which skips trees
        raise Unreadable("LightGBM with an option of prediction")
    if not blocks:
        raise Unreadable("LightGBM without trees")
    if objective[:1] not in (["binary"], ["multiclass"]):
        raise Unreadable(f"LightGBM with the objective {' '.join(objective[:1])!r}")
    n_outputs = int(_fields(head)["num_tree_per_iteration"])
    scale = _sigmoid(objective)
    if "average_output" in head.splitlines():
        scale *= n_outputs / len(blocks)
    trees = [_tree(_fields(block), scale, i % n_outputs) for i, block in enumerate(blocks)]
    return TreeMember(trees, base=np.zeros(n_outputs))


def odds_per_decision(model: Any) -> float:
    """Give the log-odds that stand for one unit of an `LGBMClassifier`'s decision function."""
    return _sigmoid(_fields(model.booster_.model_to_string(num_iteration=1)).get("objective", "").split())


def encode_categories(model: Any, table: Any, columns: IntArray) -> Any:
    """Encode categorical columns as LightGBM does: by their place in the list it was trained on."""
    known = model.booster_.pandas_categorical or []
    if len(known) != len(columns):
        raise Unreadable("LightGBM with other categories than in training")
    table = table.copy(deep=False)
    for j, levels in zip(columns, known, strict=True):
        codes = table.iloc[:, j].cat.set_categories(levels).cat.codes.to_numpy()
        table.isetitem(j, np.where(codes < 0, np.nan, codes))
    return table


def _tree(text: dict[str, str], scale: float, output: int) -> Tree:
    leaf_value = scale * np.array(text["leaf_value"].split(), dtype=np.float64)
    decision = np.array(text.get("decision_type", "").split(), dtype=np.int64)
    missing_type = (decision >> 2) & 3  # 0: none, so that a missing value counts as zero; 1: zero; 2: NaN
    if text.get("is_linear", "0") != "0":
        raise Unreadable("LightGBM with linear leaves")
    if (missing_type == 1).any():
        raise Unreadable("LightGBM that takes zero for missing")
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
        sets=_sets(text, column("threshold"), np.flatnonzero(categorical)),
    )


def _sigmoid(objective: list[str]) -> float:
    given = [float(part.partition(":")[2]) for part in objective if part.startswith("sigmoid:")]
    return given[0] if given else 1.0


def _sets(text: dict[str, str], which: FloatArray, nodes: IntArray) -> dict[int, BoolArray]:
    """Read the categories that go left, as bits of 32-bit words; a split's threshold says which words are its own."""
    start = np.array(text.get("cat_boundaries", "").split(), dtype=np.int64)
    words = np.array(text.get("cat_threshold", "").split(), dtype=np.uint32)
    spans = {int(node): int(which[node]) for node in nodes}
    return {node: bits_of_words(words[start[place] : start[place + 1]]) for node, place in spans.items()}


def _zero_snapped(threshold: FloatArray) -> FloatArray:
    """Move thresholds near zero, since LightGBM takes inputs within 1e-35 of zero for zero."""
    tiny = float(np.float32(1e-35))
    inside = np.abs(threshold) <= tiny
    return np.where(inside, np.where(threshold >= 0, tiny, np.nextafter(-tiny, -1)), threshold)


def _fields(text: str) -> dict[str, str]:
    """Read the lines `name=value` up to the first empty one."""
    lines = text.split("\n\n", 1)[0].splitlines()
    return {name: value for name, equals, value in (line.partition("=") for line in lines) if equals}
