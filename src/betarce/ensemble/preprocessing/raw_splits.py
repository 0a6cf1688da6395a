"""Rewrite tree splits from preprocessed columns to raw columns.

A split on a scaled number becomes a cut in the number's own units. A split on anything made of a category becomes the
set of its codes that go left, whatever the encoder and the library did in between. Both are exact to the last bit, for
missing values too.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import NamedTuple

import numpy as np

from betarce.arrays import AnyArray, BoolArray, FloatArray, IntArray
from betarce.ensemble.preprocessing.columns import Preprocessing
from betarce.ensemble.preprocessing.scaling import Ops, largest_at_most
from betarce.ensemble.trees.forest_arrays import Tree, TreeMember

_LARGEST = float(np.finfo(np.float64).max)  # every number is at most this; what is missing may lie above


class SplitColumns(NamedTuple):
    """The columns that rewritten splits compare: numbers, then for each set of codes whether a code is outside it.

    A number has two columns if missing values go left at some of its splits and right at others.
    """

    source: IntArray  # (numbers,): the column of the point
    missing_right: BoolArray  # (numbers,): whether a missing value lies above all cuts, or below
    set_source: IntArray  # (sets,): in ascending order
    set_start: IntArray  # (sets,): where its codes begin in `outside`
    set_codes: IntArray  # (sets,): how many codes there are; missing comes after them
    outside: AnyArray  # 1 where a code goes right

    @property
    def width(self) -> int:
        """The number of columns."""
        return len(self.source) + len(self.set_source)

    def values(self, X: FloatArray) -> FloatArray:
        """Give the columns of points, shape (n, width); missing values that go left stay NaN, below every cut."""
        plain = not len(self.set_source) and not self.missing_right.any()
        if plain and np.array_equal(self.source, np.arange(X.shape[1])):
            return X
        numbers = X[:, self.source]
        numbers[np.isnan(numbers) & self.missing_right] = np.inf
        codes = X[:, self.set_source]
        codes = np.where(np.isnan(codes), self.set_codes, codes).astype(np.intp)
        return np.concatenate([numbers, self.outside[self.set_start + codes]], axis=1)

    def without_missing(self) -> tuple["SplitColumns", IntArray]:
        """Merge the two columns of a number, for points with nothing missing; also give every column's new place."""
        source, place = np.unique(self.source, return_inverse=True)
        merged = self._replace(source=source, missing_right=np.zeros(len(source), dtype=bool))
        return merged, np.append(place, len(source) + np.arange(len(self.set_source)))


@dataclass(frozen=True, eq=False)
class _Nodes:
    """The splits of one member, tree after tree."""

    feature: IntArray
    threshold: FloatArray
    missing_left: BoolArray
    sets: dict[int, BoolArray]
    others_left: bool


def rewrite_splits(
    members: Sequence[TreeMember], preprocessing: Sequence[Preprocessing | None]
) -> tuple[list[TreeMember], SplitColumns] | None:
    """Rewrite the splits of all members to raw columns, which they share.

    Parameters
    ----------
    members : sequence of TreeMember
        Their splits compare preprocessed columns.
    preprocessing : sequence of Preprocessing or None
        That of each member; None for one that gets the point as it is.

    Returns
    -------
    members : list of TreeMember
        Their splits compare `columns`.
    columns : SplitColumns
        None instead of both if a column of numbers is split as a category.
    """
    nodes = [_nodes(member) for member in members]
    numeric, categorical = _NumericSplits(), _CategoricalSplits()
    for i, (each, before) in enumerate(zip(nodes, preprocessing, strict=True)):
        if before is None:
            if each.sets:
                return None
            numeric.add(i, np.arange(len(each.feature)), each.feature, each.threshold, each.missing_left)
            continue
        for j in np.unique(each.feature[each.feature >= 0]):
            output, rows = before.outputs[j], np.flatnonzero(each.feature == j)
            if output.lookup is not None:
                categorical.add(i, rows, output.source, _codes_left(output.lookup, rows, each))
                continue
            if not each.sets.keys().isdisjoint(rows.tolist()):
                return None
            missing_left = each.missing_left[rows]
            if not np.isnan(output.missing):
                missing_left = output.missing <= each.threshold[rows]
            source = np.full(len(rows), output.source)
            numeric.add(i, rows, source, each.threshold[rows], missing_left, output.ops)
    feature = [np.zeros(len(each.feature), dtype=np.int64) for each in nodes]
    threshold = [np.full(len(each.feature), 0.5) for each in nodes]
    source, missing_right = numeric.write(feature, threshold)
    columns = categorical.write(feature, source, missing_right)
    return [_with_splits(*each) for each in zip(members, feature, threshold, strict=True)], columns


class _NumericPart(NamedTuple):
    """Splits of one member on numbers that were scaled alike."""

    member: int
    rows: IntArray
    source: IntArray
    limits: FloatArray
    missing_left: BoolArray


class _NumericSplits:
    """Splits on numbers, collected from all members so that all cuts are found at once."""

    def __init__(self) -> None:
        self._parts: list[_NumericPart] = []
        self._ops: list[Ops] = []

    def add(
        self,
        member: int,
        rows: IntArray,
        source: IntArray,
        limits: FloatArray,
        missing_left: BoolArray,
        ops: Ops = (),
    ) -> None:
        self._parts.append(_NumericPart(member, rows, source, limits, missing_left))
        self._ops.extend([ops] * len(rows))

    def write(self, feature: Sequence[IntArray], threshold: Sequence[FloatArray]) -> tuple[IntArray, BoolArray]:
        """Write the column and the cut of each split; give `source` and `missing_right` of the columns."""
        if not self._parts:
            return np.empty(0, dtype=np.int64), np.empty(0, dtype=bool)
        cuts = largest_at_most(self._ops, np.concatenate([part.limits for part in self._parts]))
        kinds = np.concatenate([2 * part.source + ~part.missing_left for part in self._parts])
        used, column = np.unique(kinds[kinds >= 0], return_inverse=True)
        place = np.zeros(len(kinds), dtype=np.int64)
        place[kinds >= 0] = column
        start = 0
        for member, rows, *_ in self._parts:
            stop = start + len(rows)
            feature[member][rows], threshold[member][rows] = place[start:stop], cuts[start:stop]
            start = stop
        return used // 2, used % 2 == 1


class _CategoricalSplits:
    """Splits on codes; members that split on the same set of the same category share one column."""

    def __init__(self) -> None:
        self._columns: dict[tuple[int, bytes], int] = {}
        self._splits: list[tuple[int, IntArray, list[int]]] = []

    def add(self, member: int, rows: IntArray, source: int, left: BoolArray) -> None:
        found = [self._columns.setdefault((source, each.tobytes()), len(self._columns)) for each in left]
        self._splits.append((member, rows, found))

    def write(self, feature: Sequence[IntArray], source: IntArray, missing_right: BoolArray) -> SplitColumns:
        """Write the column of each split; give all columns, those of numbers first."""
        keys = list(self._columns)
        order = sorted(range(len(keys)), key=lambda i: keys[i][0])
        place = np.empty(len(keys), dtype=np.int64)
        place[order] = np.arange(len(keys)) + len(source)
        for member, rows, found in self._splits:
            feature[member][rows] = place[found]
        left = [np.frombuffer(keys[i][1], dtype=bool) for i in order]
        sizes = np.array([len(each) for each in left], dtype=np.int64)
        return SplitColumns(
            source=source,
            missing_right=missing_right,
            set_source=np.array([keys[i][0] for i in order], dtype=np.int64),
            set_start=np.cumsum(sizes) - sizes,
            set_codes=sizes - 1,
            outside=(~np.concatenate([np.empty(0, dtype=bool), *left])).astype(np.int16),
        )


def _nodes(member: TreeMember) -> _Nodes:
    trees = member.trees
    start = np.cumsum([0] + [len(tree.feature) for tree in trees])
    left = [np.ones(len(t.feature), dtype=bool) if t.missing_left is None else t.missing_left for t in trees]
    leaf = np.concatenate([np.asarray(tree.left) < 0 for tree in trees])
    threshold = np.concatenate([np.asarray(tree.threshold, dtype=np.float64) for tree in trees])
    return _Nodes(
        feature=np.where(leaf, -1, np.concatenate([tree.feature for tree in trees])).astype(np.int64),
        threshold=np.where(leaf, 0.0, np.minimum(threshold, _LARGEST)),
        missing_left=np.concatenate(left),
        sets={int(at + node): left for at, tree in zip(start, trees, strict=False) for node, left in tree.sets.items()},
        others_left=trees[0].others_left,
    )


def _codes_left(lookup: FloatArray, rows: IntArray, nodes: _Nodes) -> BoolArray:
    """Say which codes go left at some splits, shape (splits, codes); the last code is "missing"."""
    gone = np.isnan(lookup)
    left = np.where(gone, nodes.missing_left[rows, np.newaxis], lookup <= nodes.threshold[rows, np.newaxis])
    whole = np.where(gone, -1, lookup).astype(np.int64)
    for i, row in enumerate(rows.tolist()):
        if row in nodes.sets:
            allowed = nodes.sets[row]
            inside = (whole >= 0) & (whole < len(allowed))
            listed = np.append(allowed, nodes.others_left)[np.where(inside, whole, -1)]
            left[i] = np.where(gone, nodes.missing_left[row], listed)
    return left


def _with_splits(member: TreeMember, feature: IntArray, threshold: FloatArray) -> TreeMember:
    ends = np.cumsum([len(tree.feature) for tree in member.trees])[:-1]
    parts = zip(member.trees, np.split(feature, ends), np.split(threshold, ends), strict=True)
    trees: list[Tree] = [replace(tree, feature=f, threshold=t) for tree, f, t in parts]
    return replace(member, trees=trees)
