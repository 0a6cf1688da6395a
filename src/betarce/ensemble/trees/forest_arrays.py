"""Trees of any library as one flat set of arrays.

Every library compares in its own way: LightGBM takes tiny values for zero, scikit-learn rounds the input to float32,
XGBoost does so too and asks for "less" instead of "at most". All of that is a step function of one float64, so it is
folded into the thresholds once, when trees are read. What is left is one comparison: left where ``x <= threshold``,
with a side for missing values and sets for categories.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from betarce.arrays import AnyArray, BoolArray, FloatArray, IntArray

DOUBLE = float(np.finfo(np.float64).eps)
SINGLE = float(np.finfo(np.float32).eps)


@dataclass(frozen=True, eq=False)
class Tree:
    """One tree. Node 0 is the root; a node whose `left` is negative is a leaf."""

    feature: IntArray
    threshold: FloatArray
    left: IntArray
    right: IntArray
    value: FloatArray  # (nodes, width): what a leaf adds to the outputs from `output` on
    output: int = 0
    missing_left: BoolArray | None = None  # (nodes,): where a missing value goes; to the left everywhere if None
    shares: FloatArray | None = None  # (nodes, classes): what the library itself adds up, if `value` was made of it
    # By node: which categories 0, 1, ... go left. Where all beyond go is said by `others_left`.
    sets: Mapping[int, BoolArray] = field(default_factory=dict)
    others_left: bool = False


@dataclass(frozen=True, eq=False)
class TreeMember:
    """One member: its score is `base` plus what its trees add.

    `rounding` is the unit roundoff of the library's own sum. With `probability`, the sum is a mean probability. With
    `missing`, missing values get an answer and no error; with `sparse_missing`, those in sparse matrices too. Without
    `sparse`, the library reads sparse matrices in another way than dense ones.
    """

    trees: list[Tree]
    base: FloatArray
    rounding: float = DOUBLE
    probability: bool = False
    missing: bool = True
    sparse_missing: bool = True
    sparse: bool = True


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
    shares: FloatArray | None = None  # (nodes, classes): see `Tree.shares`; None unless all trees have them


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
        shares=None if any(tree.shares is None for tree in trees) else _joined([tree.shares for tree in trees]),
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
    with np.errstate(over="ignore"):  # the largest float32 is a border that parts what is missing from all numbers
        below = np.where(below > threshold, np.nextafter(below, np.float32(-np.inf)), below)
        above = np.nextafter(below, np.float32(np.inf))
    # Two float32 neighbours have their middle in float64, and it rounds to the one with the even last bit.
    middle = (below.astype(np.float64) + above.astype(np.float64)) / 2
    even = below.view(np.int32) % 2 == 0
    return np.where(even, middle, np.nextafter(middle, -np.inf))


def less_in_float32(threshold: AnyArray) -> FloatArray:
    """Find the largest float64 that, rounded to float32, is below the float32 `threshold`."""
    return at_most_in_float32(np.nextafter(threshold.astype(np.float32), np.float32(-np.inf)))


def bits_of_words(words: AnyArray) -> BoolArray:
    """Unpack 32-bit words into bits, the lowest first.

    Examples
    --------
    >>> np.flatnonzero(bits_of_words(np.array([5, 1], dtype=np.uint32)))
    array([ 0,  2, 32])
    """
    return ((words[:, np.newaxis] >> np.arange(32, dtype=np.uint32)) & 1).astype(bool).reshape(-1)


def _joined(parts: list[Any]) -> AnyArray:
    return np.concatenate([np.asarray(part) for part in parts])
