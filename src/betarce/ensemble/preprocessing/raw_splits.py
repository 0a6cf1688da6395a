"""Splits on what an estimator sees, said of points instead: to the last bit, for missing values and for codes too.

A split on a scaled number becomes a cut in the number's own units. A split on anything made of a code becomes the set
of codes that go left, whatever the encoder and the library did between.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import NamedTuple

import numpy as np

from betarce.arrays import AnyArray, BoolArray, FloatArray, IntArray
from betarce.ensemble.preprocessing.columns import Front
from betarce.ensemble.preprocessing.scaling import largest_at_most
from betarce.ensemble.trees.forest_arrays import Tree, TreeMember

_LARGEST = float(np.finfo(np.float64).max)  # every number is at most this; what is missing may lie above


class Columns(NamedTuple):
    """What splits look at: numbers, and then for each set of codes whether a code is not in it.

    A number has two columns if missing values go left at some of its splits and right at others.
    """

    source: IntArray  # (numbers,): the column of the point
    high: BoolArray  # (numbers,): whether a missing value lies above all cuts, or below
    set_source: IntArray  # (sets,): in ascending order
    set_start: IntArray  # (sets,): where its codes begin in `outside`
    set_codes: IntArray  # (sets,): how many codes there are; missing comes after them
    outside: AnyArray  # 1 where a code goes right

    @property
    def width(self) -> int:
        """How many there are."""
        return len(self.source) + len(self.set_source)

    def values(self, X: FloatArray) -> FloatArray:
        """Give the columns of points, shape (n, width); missing values that go left stay NaN, below every cut."""
        if not len(self.set_source) and np.array_equal(self.source, np.arange(X.shape[1])) and not self.high.any():
            return X
        numbers = X[:, self.source]
        numbers[np.isnan(numbers) & self.high] = np.inf
        codes = X[:, self.set_source]
        codes = np.where(np.isnan(codes), self.set_codes, codes).astype(np.intp)
        return np.concatenate([numbers, self.outside[self.set_start + codes]], axis=1)

    def without_missing(self) -> tuple["Columns", IntArray]:
        """Give one column for each number, and the new place of every column: for points with nothing missing."""
        source, place = np.unique(self.source, return_inverse=True)
        merged = self._replace(source=source, high=np.zeros(len(source), dtype=bool))
        return merged, np.append(place, len(source) + np.arange(len(self.set_source)))


@dataclass(frozen=True, eq=False)
class _Nodes:
    """The splits of one member, tree after tree."""

    feature: IntArray
    threshold: FloatArray
    missing_left: BoolArray
    sets: dict[int, BoolArray]
    others_left: bool


def place_splits(
    members: Sequence[TreeMember], fronts: Sequence[Front | None]
) -> tuple[list[TreeMember], Columns] | None:
    """Say the splits of all members of points, on columns that they share; None where numbers serve as categories."""
    nodes = [_nodes(member) for member in members]
    numbers = _Numbers()
    sets = _Sets()
    for i, (each, front) in enumerate(zip(nodes, fronts, strict=True)):
        if front is None:
            if each.sets:
                return None
            numbers.add(i, np.arange(len(each.feature)), each.feature, each.threshold, each.missing_left)
            continue
        for j in np.unique(each.feature[each.feature >= 0]):
            output, rows = front.outputs[j], np.flatnonzero(each.feature == j)
            if output.table is not None:
                sets.add(i, rows, output.source, _left(output.table, rows, each))
                continue
            if not each.sets.keys().isdisjoint(rows.tolist()):
                return None
            missing_left = each.missing_left[rows]
            if not np.isnan(output.missing):
                missing_left = output.missing <= each.threshold[rows]
            limits = each.threshold[rows]
            numbers.add(i, rows, np.full(len(rows), output.source), limits, missing_left, [output.ops] * len(rows))
    feature = [np.zeros(len(each.feature), dtype=np.int64) for each in nodes]
    threshold = [np.full(len(each.feature), 0.5) for each in nodes]
    source, high = numbers.write(feature, threshold)
    columns = sets.write(feature, source, high)
    return [_relabelled(*each) for each in zip(members, feature, threshold, strict=True)], columns


class _Numbers:
    """Splits on numbers, gathered from all members so that all cuts are sought at once."""

    def __init__(self) -> None:
        self._parts: list[tuple[int, IntArray, IntArray, FloatArray, BoolArray]] = []
        self._ops: list[object] = []

    def add(
        self,
        member: int,
        rows: IntArray,
        source: IntArray,
        limits: FloatArray,
        missing_left: BoolArray,
        ops: Sequence[object] | None = None,
    ) -> None:
        self._parts.append((member, rows, source, limits, missing_left))
        self._ops.extend([()] * len(rows) if ops is None else ops)

    def write(self, feature: Sequence[IntArray], threshold: Sequence[FloatArray]) -> tuple[IntArray, BoolArray]:
        """Write columns and cuts of all splits; give the source of each column, and where missing values lie."""
        if not self._parts:
            return np.empty(0, dtype=np.int64), np.empty(0, dtype=bool)
        limits = np.concatenate([part[3] for part in self._parts])
        cuts = largest_at_most(self._ops, limits)  # type: ignore[arg-type]
        kinds = np.concatenate([2 * part[2] + ~part[4] for part in self._parts])
        used, column = np.unique(kinds[kinds >= 0], return_inverse=True)
        place = np.zeros(len(kinds), dtype=np.int64)
        place[kinds >= 0] = column
        start = 0
        for member, rows, *_ in self._parts:
            stop = start + len(rows)
            feature[member][rows], threshold[member][rows] = place[start:stop], cuts[start:stop]
            start = stop
        return used // 2, used % 2 == 1


class _Sets:
    """Splits on codes: the same set of the same code is one column, whoever splits on it."""

    def __init__(self) -> None:
        self._known: dict[tuple[int, bytes], int] = {}
        self._splits: list[tuple[int, IntArray, list[int]]] = []

    def add(self, member: int, rows: IntArray, source: int, left: BoolArray) -> None:
        found = [self._known.setdefault((source, each.tobytes()), len(self._known)) for each in left]
        self._splits.append((member, rows, found))

    def write(self, feature: Sequence[IntArray], source: IntArray, high: BoolArray) -> Columns:
        keys = list(self._known)
        order = sorted(range(len(keys)), key=lambda i: keys[i][0])
        place = np.empty(len(keys), dtype=np.int64)
        place[order] = np.arange(len(keys)) + len(source)
        for member, rows, found in self._splits:
            feature[member][rows] = place[found]
        left = [np.frombuffer(keys[i][1], dtype=bool) for i in order]
        sizes = np.array([len(each) for each in left], dtype=np.int64)
        return Columns(
            source=source,
            high=high,
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


def _left(table: FloatArray, rows: IntArray, nodes: _Nodes) -> BoolArray:
    """Say which values of a table go left at some splits, shape (splits, values)."""
    gone = np.isnan(table)
    left = np.where(gone, nodes.missing_left[rows, np.newaxis], table <= nodes.threshold[rows, np.newaxis])
    whole = np.where(gone, -1, table).astype(np.int64)
    for i, row in enumerate(rows.tolist()):
        if row in nodes.sets:
            allowed = nodes.sets[row]
            inside = (whole >= 0) & (whole < len(allowed))
            listed = np.append(allowed, nodes.others_left)[np.where(inside, whole, -1)]
            left[i] = np.where(gone, nodes.missing_left[row], listed)
    return left


def _relabelled(member: TreeMember, feature: IntArray, threshold: FloatArray) -> TreeMember:
    ends = np.cumsum([len(tree.feature) for tree in member.trees])[:-1]
    parts = zip(member.trees, np.split(feature, ends), np.split(threshold, ends), strict=True)
    trees: list[Tree] = [replace(tree, feature=f, threshold=t) for tree, f, t in parts]
    return replace(member, trees=trees)
