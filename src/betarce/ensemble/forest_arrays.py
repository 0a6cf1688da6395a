"""Trees of any library as one flat set of arrays.

Every library compares in its own way: LightGBM takes tiny values for zero, scikit-learn rounds the input to float32,
XGBoost does so too and asks for "less" instead of "at most". All of that is a step function of one float64, so it is
folded into the thresholds here, once. What is left is one rule: left where ``x <= threshold``.
"""

import json
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from betarce.arrays import AnyArray, FloatArray, IntArray

DOUBLE = float(np.finfo(np.float64).eps)
SINGLE = float(np.finfo(np.float32).eps)


@dataclass(frozen=True, eq=False)
class Tree:
    """One tree. Node 0 is the root; a node whose `left` is negative is a leaf.

    Categorical splits have no place here yet: a reader that meets one gives up, and the member answers for itself.
    """

    feature: IntArray
    threshold: FloatArray
    left: IntArray
    right: IntArray
    value: FloatArray  # (nodes, width): what a leaf adds to the outputs from `output` on
    output: int = 0


@dataclass(frozen=True, eq=False)
class TreeMember:
    """One member: its score is `base` plus what its trees add.

    `rounding` is the unit roundoff of the library's own sum. With `probability`, the sum is a mean probability.
    """

    trees: list[Tree]
    base: FloatArray
    rounding: float = DOUBLE
    probability: bool = False


@dataclass(frozen=True, eq=False)
class ForestArrays:
    """All trees of all members, member after member.

    A leaf is its own child, under a threshold that nothing exceeds: a walk may go on past it without harm.
    """

    feature: IntArray  # (nodes,)
    threshold: FloatArray  # (nodes,)
    children: IntArray  # (2 * nodes,): left and right child of node i at 2i and 2i + 1
    value: FloatArray  # (nodes, width)
    root: IntArray  # (trees,)
    depth: IntArray  # (trees,)
    output: IntArray  # (trees,)
    member_start: IntArray  # (members + 1,): the trees of member i are start[i] to start[i + 1]
    base: FloatArray  # (members, outputs)


def assemble(members: Sequence[TreeMember]) -> ForestArrays:
    """Lay the trees of all members end to end.

    Examples
    --------
    >>> stump = Tree(*np.array([[2, 0, 0], [0.5, 0, 0], [1, -1, -1], [2, -1, -1]]), np.array([[0.0], [-1.0], [1.0]]))
    >>> forest = assemble([TreeMember([stump], base=np.zeros(1))] * 2)
    >>> forest.root.tolist(), forest.children.tolist()
    ([0, 3], [1, 2, 1, 1, 2, 2, 4, 5, 4, 4, 5, 5])
    """
    trees = [tree for member in members for tree in member.trees]
    start = np.cumsum([0] + [len(tree.feature) for tree in trees])
    itself = np.arange(start[-1])
    shift = np.repeat(start[:-1], np.diff(start))
    left, right = (_joined([getattr(tree, side) for tree in trees]).astype(np.int64) for side in ("left", "right"))
    leaf = left < 0
    children = np.stack([np.where(leaf, itself, side + shift) for side in (left, right)], axis=1)
    splits = list(split_levels(children.reshape(-1), start[:-1]))
    depth = np.zeros(len(trees), dtype=np.int32)
    for level, nodes in enumerate(splits):
        depth[np.searchsorted(start, nodes, side="right") - 1] = level + 1
    return ForestArrays(
        feature=np.where(leaf, 0, _joined([tree.feature for tree in trees])).astype(np.int32),
        threshold=np.where(leaf, np.inf, _joined([tree.threshold for tree in trees])),
        children=children.reshape(-1).astype(np.int32),
        value=_joined([tree.value for tree in trees]),
        root=start[:-1].astype(np.int32),
        depth=depth,
        output=np.array([tree.output for tree in trees], dtype=np.int32),
        member_start=np.cumsum([0] + [len(member.trees) for member in members]),
        base=np.array([member.base for member in members], dtype=np.float64),
    )


def split_levels(children: IntArray, roots: IntArray) -> Iterator[IntArray]:
    """Give the splits of all trees, level by level from the roots."""
    nodes = np.asarray(roots)
    while len(nodes := nodes[children[2 * nodes] != nodes]):
        yield nodes
        nodes = np.concatenate([children[2 * nodes], children[2 * nodes + 1]])


def at_most_in_float32(threshold: FloatArray) -> FloatArray:
    """Find the largest float64 that, rounded to float32, is at most `threshold`.

    So ``float32(x) <= threshold`` and ``x <= at_most_in_float32(threshold)`` say the same of every float64.

    Examples
    --------
    >>> limit = at_most_in_float32(np.array([0.1]))[0]
    >>> [float(np.float32(x)) <= 0.1 for x in (limit, np.nextafter(limit, 1))]
    [True, False]
    """
    threshold = np.asarray(threshold, dtype=np.float64)
    below = threshold.astype(np.float32)
    below = np.where(below > threshold, np.nextafter(below, np.float32(-np.inf)), below)
    above = np.nextafter(below, np.float32(np.inf))
    # Two float32 neighbours have their middle in float64, and it rounds to the one with the even last bit.
    middle = (below.astype(np.float64) + above.astype(np.float64)) / 2
    even = below.view(np.int32) % 2 == 0
    return np.where(even, middle, np.nextafter(middle, -np.inf))


def less_in_float32(threshold: AnyArray) -> FloatArray:
    """Find the largest float64 that, rounded to float32, is below the float32 `threshold`."""
    return at_most_in_float32(np.nextafter(threshold.astype(np.float32), np.float32(-np.inf)))


def read_member(model: Any) -> TreeMember | None:
    """Read a fitted classifier's trees; None for what these arrays cannot say exactly."""
    kind = type(model)
    # By name, so that no library is imported to be compared with; a subclass may override `predict`, so it is out.
    reader = READERS.get((kind.__module__.partition(".")[0], kind.__name__))
    return reader(model) if reader else None


def _joined(parts: list[Any]) -> AnyArray:
    return np.concatenate([np.asarray(part) for part in parts])


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
    zero_is_missing = (decision >> 2) & 3 == 1
    categorical = decision & 1
    if text.get("is_linear", "0") != "0" or categorical.any() or zero_is_missing.any():
        return None
    n_splits, n_leaves = len(leaf_value) - 1, len(leaf_value)
    empty = [-1] * n_leaves

    def column(name: str) -> AnyArray:
        return np.array(text.get(name, "").split()[:n_splits], dtype=np.float64)

    # Children are written as ~leaf for leaves; here the leaves follow the splits.
    left, right = (np.where(c < 0, n_splits - c - 1, c) for c in (column("left_child"), column("right_child")))
    return Tree(
        feature=np.append(column("split_feature"), empty).astype(np.int64),
        threshold=np.append(_zero_snapped(column("threshold")), empty),
        left=np.append(left, empty).astype(np.int64),
        right=np.append(right, empty).astype(np.int64),
        value=np.append(np.zeros(n_splits), leaf_value)[:, np.newaxis],
        output=output,
    )


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
    return TreeMember(read, base=np.broadcast_to(start, n_outputs).astype(np.float64), rounding=SINGLE)


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
    )


def _read_sklearn_forest(model: Any) -> TreeMember | None:
    if model.n_outputs_ > 1:
        return None
    estimators = getattr(model, "estimators_", [model])
    n_outputs = 1 if model.n_classes_ == 2 else model.n_classes_
    trees = [_sklearn_tree(tree.tree_, tree.tree_.value[:, 0, -n_outputs:] / len(estimators)) for tree in estimators]
    return TreeMember(trees, base=np.zeros(n_outputs), probability=True)


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
    return TreeMember(trees, base=scale * start)


def _sklearn_tree(tree: Any, value: FloatArray, output: int = 0) -> Tree:
    return Tree(
        feature=tree.feature,
        threshold=at_most_in_float32(tree.threshold),
        left=tree.children_left,
        right=tree.children_right,
        value=value,
        output=output,
    )


def _read_hist_gradient_boosting(model: Any) -> TreeMember | None:
    if np.any(model.is_categorical_):
        return None
    trees = [_hist_tree(tree.nodes, output) for stage in model._predictors for output, tree in enumerate(stage)]
    return TreeMember(trees, base=model._baseline_prediction.reshape(-1))


def _hist_tree(nodes: AnyArray, output: int) -> Tree:
    leaf = nodes["is_leaf"].astype(bool)
    return Tree(
        feature=nodes["feature_idx"],
        threshold=nodes["num_threshold"],
        left=np.where(leaf, -1, nodes["left"].astype(np.int64)),
        right=np.where(leaf, -1, nodes["right"].astype(np.int64)),
        value=np.where(leaf, nodes["value"], 0.0)[:, np.newaxis],
        output=output,
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
