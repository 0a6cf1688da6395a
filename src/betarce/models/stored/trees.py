"""Serialise scikit-learn's trees.

Their compiled code trusts the numbers in its nodes, so those of a file are checked first.
"""

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import numpy as np

from betarce.arrays import AnyArray, BoolArray, IntArray
from betarce.errors import CorruptFile
from betarce.models.stored.inside import objects_inside
from betarce.models.stored.kind import Kind

if TYPE_CHECKING:
    from betarce.models.stored.reader import Reader
    from betarce.models.stored.writer import Writer

_LOSSES = ("CyExponentialLoss", "CyHalfBinomialLoss", "CyHalfMultinomialLoss")
_PARTS = ("max_depth", "node_count", "nodes", "values")


def _write_tree(value: Any, writer: "Writer") -> Any:
    _, shape, state = value.__reduce__()
    return [writer.write(list(shape)), *(writer.write(state[name], f".{name}") for name in _PARTS)]


def _read_tree(data: Any, reader: "Reader") -> Any:
    from sklearn.tree._tree import Tree

    shape, *parts = (reader.read(part) for part in data)
    state = dict(zip(_PARTS, parts, strict=True))
    _check_tree(state, shape[0])
    tree = Tree(*shape)
    tree.__setstate__(state)
    return tree


def _check_tree(state: Mapping[str, Any], n_features: int) -> None:
    nodes = state["nodes"]
    left, right, feature = (nodes[name].astype(np.int64) for name in ("left_child", "right_child", "feature"))
    inner = left != -1
    _check_nodes(left, right, feature, inner, n_features)
    if state["node_count"] != len(nodes) or (right[~inner] != -1).any():
        raise CorruptFile("a tree has other nodes than it says")


def check_inside(model: object) -> None:
    """Check the trees of a model that another library rebuilt, wherever they are in it."""
    for value in objects_inside(model):
        if type(value).__module__ == "sklearn.tree._tree" and type(value).__name__ == "Tree":
            _, shape, state = value.__reduce__()
            _check_tree(state, shape[0])
        else:
            check_object(value)


def check_object(value: Any) -> None:
    """Refuse an estimator whose trees ask for columns, or for sets of categories, that it does not have."""
    if type(value).__name__ == "TreePredictor":
        nodes = value.nodes
        inner = nodes["is_leaf"] == 0
        left, right, feature = (nodes[name].astype(np.int64) for name in ("left", "right", "feature_idx"))
        _check_nodes(left, right, feature, inner, None)
        sets = nodes["bitset_idx"][inner & (nodes["is_categorical"] != 0)].astype(np.int64)
        both = value.binned_left_cat_bitsets, value.raw_left_cat_bitsets
        if any(part.shape[1:] != (8,) or sets.max(initial=-1) >= len(part) for part in both):
            raise CorruptFile("a tree asks for a set of categories that is not there")
        return
    most = getattr(value, "n_features_in_", None)
    for tree in _trees_inside(value):
        if type(most) is not int or tree > most:
            raise CorruptFile(f"a tree asks for {tree} columns of {most}")


def _trees_inside(value: Any) -> list[int]:
    """Give the number of columns that each tree right inside an estimator asks for."""
    if hasattr(value, "tree_"):
        return [value.tree_.n_features]
    if hasattr(value, "_predictors"):
        used = [predictor.nodes for stage in value._predictors for predictor in stage]
        return [int(nodes["feature_idx"][nodes["is_leaf"] == 0].max(initial=-1)) + 1 for nodes in used]
    inside = np.ravel(np.asarray(getattr(value, "estimators_", []), dtype=object))
    return [each.tree_.n_features for each in inside if hasattr(each, "tree_")]


def _check_nodes(left: IntArray, right: IntArray, feature: IntArray, inner: BoolArray, n_features: int | None) -> None:
    """Let children come after their parents, within the tree, so that every walk ends; and features be columns."""
    place = np.arange(len(left))[inner]
    ends: list[AnyArray] = [left[inner], right[inner]]
    if not len(left) or any((end <= place).any() or (end >= len(left)).any() for end in ends):
        raise CorruptFile("a tree has a node whose children are not in it")
    asked = feature[inner]
    if (asked < 0).any() or (n_features is not None and asked.max(initial=-1) >= n_features):
        raise CorruptFile("a tree asks for a column that is not there")


def _read_loss(data: Any, _: "Reader") -> Any:
    from sklearn._loss import _loss

    if data not in _LOSSES:
        raise CorruptFile(f"no classifier minimises {data!r}")
    return getattr(_loss, data)()


KINDS = (
    Kind("tree", ("sklearn.tree._tree:Tree",), _write_tree, _read_tree),
    Kind(
        "loss",
        tuple(f"sklearn._loss._loss:{name}" for name in _LOSSES),
        lambda value, _: type(value).__name__,
        _read_loss,
    ),
)
"""Trees, and the losses that boosting keeps."""
