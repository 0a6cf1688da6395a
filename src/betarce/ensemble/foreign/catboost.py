"""Read the symmetric trees of CatBoost classifiers from their JSON export.

The export does not say which levels of a category pass a split. The model itself is asked: the leaves that rows of
every level fall into show it.
"""

import json
import tempfile
from pathlib import Path
from typing import Any

import numpy as np

from betarce.arrays import BoolArray, IntArray
from betarce.ensemble.preprocessing.probe_points import ProbePoints
from betarce.ensemble.trees.forest_arrays import Tree, TreeMember, at_most_in_float32
from betarce.ensemble.unreadable import Unreadable


def read_trees(model: Any, probes: ProbePoints | None) -> TreeMember:
    """Read a `CatBoostClassifier`; the probe points show every level of every category."""
    exported = _exported(model)
    loss = model.get_all_params()["loss_function"]
    if loss not in ("Logloss", "MultiClass"):
        raise Unreadable(f"CatBoost with the loss {loss!r}")
    if model.get_probability_threshold() not in (None, 0.5):
        raise Unreadable("CatBoost with a probability threshold of its own")
    if "oblivious_trees" not in exported:
        raise Unreadable("CatBoost with trees that are not symmetric (`grow_policy`)")
    info = exported["features_info"]
    if unknown := set(info) - {"float_features", "categorical_features", "ctrs"}:
        raise Unreadable(f"CatBoost with {', '.join(sorted(unknown))}")
    scale, base = exported["scale_and_bias"]
    splits = _Splits(info)
    leaves = _leaves_of_levels(model, probes) if info.get("categorical_features") else None
    trees = [
        _tree(tree, splits, scale, len(base), None if leaves is None else leaves[:, i], probes)
        for i, tree in enumerate(exported["oblivious_trees"])
    ]
    return TreeMember(trees, base=np.array(base, dtype=np.float64), sparse=False)


def encode_categories(model: Any, table: Any, probes: ProbePoints) -> Any:
    """Encode categorical columns by the codes of their levels; a missing value is refused, as CatBoost does."""
    columns = model.get_cat_feature_indices()
    if not columns:
        return table
    if len(probes.readings) != table.shape[1]:
        raise Unreadable("CatBoost with categories behind other preprocessing")
    table = table.copy(deep=False)
    for j in columns:
        levels = probes.readings[j].levels
        if levels is None:
            raise Unreadable("CatBoost with categories in a column of numbers")
        if table.iloc[:, j].isna().any():
            raise ValueError("CatBoost refuses missing categories")
        codes = {level: code for code, level in enumerate(levels)}
        table.isetitem(j, np.array([codes[value] for value in table.iloc[:, j]], dtype=np.float64))
    return table


def _exported(model: Any) -> dict[str, Any]:
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder, "model.json")
        model.save_model(str(file), format="json")
        return dict(json.loads(file.read_text()))


def _leaves_of_levels(model: Any, probes: ProbePoints | None) -> IntArray:
    """Give the leaves of rows that show every level, in the order of the codes; shape (rows, trees)."""
    if probes is None:
        raise Unreadable("CatBoost with categories in a column of numbers")
    return np.asarray(model.calc_leaf_indexes(probes.table), dtype=np.int64)


class _Splits:
    """The column of the table that each split compares, with the side of missing values."""

    def __init__(self, info: dict[str, Any]) -> None:
        self._floats = {each["feature_index"]: each for each in info.get("float_features", [])}
        self._cats = {each["feature_index"]: each for each in info.get("categorical_features", [])}
        # Splits are numbered: borders of numbers, then values of categories, then borders of statistics.
        before = sum(len(each.get("borders") or []) for each in self._floats.values())
        before += sum(len(each.get("values") or []) for each in self._cats.values())
        ctrs = info.get("ctrs", [])
        self._ctrs = ctrs
        self._starts = np.cumsum([before, *(len(each["borders"]) for each in ctrs)])

    def column(self, split: dict[str, Any]) -> int:
        """Give the column of the table."""
        if split["split_type"] == "FloatFeature":
            return int(self._floats[split["float_feature_index"]]["flat_feature_index"])
        if split["split_type"] == "OneHotFeature":
            return int(self._cats[split["cat_feature_index"]]["flat_feature_index"])
        if split["split_type"] != "OnlineCtr":
            raise Unreadable(f"CatBoost with splits of the kind {split['split_type']}")
        ctr = self._ctrs[int(np.searchsorted(self._starts, split["split_index"], side="right")) - 1]
        sources = {each.get("cat_feature_index", "a number") for each in ctr["elements"]}
        if len(sources) > 1 or not sources <= set(self._cats):
            raise Unreadable("CatBoost with statistics over several columns at once (set `max_ctr_complexity=1`)")
        return int(self._cats[sources.pop()]["flat_feature_index"])

    def missing_left(self, split: dict[str, Any]) -> bool:
        """Say whether a missing number goes left."""
        if split["split_type"] != "FloatFeature":
            return True
        return bool(self._floats[split["float_feature_index"]]["nan_value_treatment"] != "AsTrue")


def _tree(
    tree: dict[str, Any],
    splits: _Splits,
    scale: float,
    n_outputs: int,
    leaves: IntArray | None,
    probes: ProbePoints | None,
) -> Tree:
    """Write a symmetric tree node by node: all nodes of a level split alike, the last of its splits first."""
    used = tree["splits"]
    depth = len(used)
    n_inner, n_nodes = 2**depth - 1, 2 ** (depth + 1) - 1
    level = np.floor(np.log2(np.arange(1, n_inner + 1))).astype(np.int64)
    bit = depth - 1 - level
    node = np.arange(n_nodes)
    inner = node < n_inner
    border = np.array([split.get("border", 0.0) if split["split_type"] == "FloatFeature" else 0.0 for split in used])
    columns = np.array([splits.column(split) for split in used], dtype=np.int64)
    sides = np.array([splits.missing_left(split) for split in used], dtype=bool)
    value = np.zeros((n_nodes, n_outputs))
    value[n_inner:] = scale * np.asarray(tree["leaf_values"], dtype=np.float64).reshape(-1, n_outputs)
    passing: dict[int, BoolArray] = {}
    for i, split in enumerate(used):
        if split["split_type"] != "FloatFeature":
            assert leaves is not None
            assert probes is not None
            n_levels = probes.n_levels[probes.readings[columns[i]].source]
            passing[i] = (leaves[:n_levels] >> i) & 1 == 0
    return Tree(
        feature=np.append(columns[bit], np.full(n_nodes - n_inner, -1)),
        threshold=np.append(at_most_in_float32(border)[bit], np.zeros(n_nodes - n_inner)),
        left=np.where(inner, 2 * node + 1, -1),
        right=np.where(inner, 2 * node + 2, -1),
        value=value,
        missing_left=np.append(sides[bit], np.ones(n_nodes - n_inner, dtype=bool)),
        sets={at: passing[int(bit[at])] for at in range(n_inner) if int(bit[at]) in passing},
    )
