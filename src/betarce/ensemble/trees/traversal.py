"""Find the leaf of every tree that a point falls into, to sum up the leaf values.

Three ways give the same sums to the bit:

* `masked_sums`, compiled, for trees of up to 64 leaves. Each split removes the leaves of its left side from a bit mask
  where a point goes right; the lowest bit left is the exit leaf (QuickScorer, Lucchese et al. 2015). No step depends
  on the one before, so that one instruction serves 8 or 16 points.
* `walked_sums`, compiled, for larger trees: down from the root, many points in turn.
* `plain_sums`, numpy, where numba is not installed.
"""

from functools import cache
from typing import Any, NamedTuple

import numpy as np

from betarce.arrays import AnyArray, BoolArray, FloatArray, IntArray
from betarce.ensemble.compilation import compile_functions
from betarce.ensemble.preprocessing.raw_splits import SplitColumns
from betarce.ensemble.trees.forest_arrays import ForestArrays, split_levels

# A power of two times such a number has each value in its top bits once: the place of the lowest bit, as a hash.
DE_BRUIJN = {16: 0x09AF, 32: 0x077CB531, 64: 0x022FDD63CC95386D}
N_BUCKETS = 1024
MOST_CUTS = 32_767
BLOCK = 384
WALK_BLOCK = 64

# Compiled functions take no types of other modules: numba checks what it has cached against this file alone.


class Cuts(NamedTuple):
    """All thresholds of each number in order, and where to start looking in them."""

    at: FloatArray  # (cuts,)
    start: IntArray  # (numbers + 1,): the cuts of number j are start[j] to start[j + 1]
    low: FloatArray  # (numbers,)
    per_unit: FloatArray  # (numbers,): buckets per unit above `low`
    bucket: IntArray  # (numbers, N_BUCKETS + 1): how many cuts lie before each bucket


class CodeSets(NamedTuple):
    """The sets of codes that splits compare; see `SplitColumns`."""

    source: IntArray  # (sets,)
    start: IntArray  # (sets,)
    n_codes: IntArray  # (sets,)
    outside: AnyArray


class MaskedForest(NamedTuple):
    """The splits of all trees as bit masks, beside the leaves in the order of the hash."""

    feature: IntArray  # (splits,)
    cut: IntArray  # (splits,): place of the threshold among the feature's cuts
    keep: AnyArray  # (splits,): all leaves but those of the left side
    tree_start: IntArray  # (trees + 1,)
    leaf: FloatArray  # (width, trees, mask bits)
    output: IntArray  # (trees,)
    member_start: IntArray  # (members + 1,)
    full: Any  # scalars of the mask's own type: numba would widen any other
    one: Any
    hashing: Any
    shift: Any


class WalkedForest(NamedTuple):
    """The arrays of a forest that a walk needs."""

    feature: IntArray
    threshold: FloatArray
    children: IntArray
    value: FloatArray
    root: IntArray
    depth: IntArray
    output: IntArray
    member_start: IntArray


def masked_form(forest: ForestArrays, columns: SplitColumns) -> tuple[Cuts, MaskedForest] | None:
    """Convert a forest to bit masks; None if it has too many leaves or thresholds for that."""
    n_numbers = len(columns.source)
    first_leaf, n_leaves = _leaf_spans(forest)
    most_leaves = int(n_leaves[forest.root].max())
    splits = np.sort(np.concatenate([*split_levels(forest.children, forest.root), forest.root[:0]]))
    feature, threshold = forest.feature[splits], forest.threshold[splits]
    cuts = [np.unique(threshold[feature == j]) for j in range(n_numbers)]
    if most_leaves > 64 or max(map(len, cuts), default=0) > MOST_CUTS:
        return None
    bits = next(bits for bits in DE_BRUIJN if most_leaves <= bits)
    kind = np.dtype(f"uint{bits}").type
    cut = np.zeros(len(splits), dtype=np.int16)  # of a set: it has two places, 0 and 1
    for j in range(n_numbers):
        cut[feature == j] = np.searchsorted(cuts[j], threshold[feature == j])
    # The left side begins where the node itself does. Its leaves are never all 64: the right side has one at least.
    width = n_leaves[forest.children[2 * splits]].astype(np.uint64)
    left_side = ((np.uint64(1) << width) - np.uint64(1)) << first_leaf[splits].astype(np.uint64)
    tree = np.searchsorted(forest.root, splits, side="right") - 1
    first, keep = _merged(tree, feature, cut, (~left_side).astype(kind))
    masked = MaskedForest(
        feature=feature[first],
        cut=cut[first],
        keep=keep,
        tree_start=np.searchsorted(tree[first], np.arange(len(forest.root) + 1)),
        leaf=_hashed_leaves(forest, splits, first_leaf, bits),
        output=forest.output,
        member_start=forest.member_start,
        full=kind(2**bits - 1),
        one=kind(1),
        hashing=kind(DE_BRUIJN[bits]),
        shift=kind(bits - int(np.log2(bits))),
    )
    return index_cuts(cuts), masked


def _merged(tree: IntArray, feature: IntArray, cut: IntArray, keep: AnyArray) -> tuple[IntArray, AnyArray]:
    """Apply the masks of equal splits of one tree at once; in a symmetric tree, all splits of a level are equal."""
    order = np.lexsort((cut, feature, tree))
    keys = np.stack([tree, feature, cut])[:, order]
    new = np.append(True, (keys[:, 1:] != keys[:, :-1]).any(axis=0))[: len(order)]
    if not len(order):
        return order, keep
    return order[new], np.bitwise_and.reduceat(keep[order], np.flatnonzero(new))


def _leaf_spans(forest: ForestArrays) -> tuple[IntArray, IntArray]:
    """Number the leaves of each tree from left to right: the first one under each node, and how many."""
    children = forest.children
    n_leaves = np.ones(len(forest.feature), dtype=np.int64)
    first_leaf = np.zeros(len(forest.feature), dtype=np.int64)
    levels = list(split_levels(children, forest.root))
    for nodes in reversed(levels):
        n_leaves[nodes] = n_leaves[children[2 * nodes]] + n_leaves[children[2 * nodes + 1]]
    for nodes in levels:
        first_leaf[children[2 * nodes]] = first_leaf[nodes]
        first_leaf[children[2 * nodes + 1]] = first_leaf[nodes] + n_leaves[children[2 * nodes]]
    return first_leaf, n_leaves


def _hashed_leaves(forest: ForestArrays, splits: IntArray, first_leaf: IntArray, bits: int) -> FloatArray:
    """Put the leaf values of each tree where the hash of the leaf's bit points to."""
    # Through the splits: XGBoost leaves pruned nodes in its arrays, and these must not write.
    nodes = np.concatenate([forest.children[2 * splits], forest.children[2 * splits + 1], forest.root])
    leaves = nodes[forest.children[2 * nodes] == nodes]
    tree = np.searchsorted(forest.root, leaves, side="right") - 1
    place = [((DE_BRUIJN[bits] << i) % 2**bits) >> (bits - int(np.log2(bits))) for i in range(bits)]
    table = np.zeros((forest.value.shape[1], len(forest.root), bits))
    table[:, tree, np.array(place)[first_leaf[leaves]]] = forest.value[leaves].T
    return table


def index_cuts(cuts: list[FloatArray]) -> Cuts:
    """Lay a grid over each number's cuts, so that a point's place among them is found in a step or two."""
    # Cuts beyond all numbers, that part what is missing from what is not, would stretch the grid.
    usual = [cut[np.abs(cut) < 1e300] for cut in cuts]
    low = np.array([cut[0] if len(cut) else 0.0 for cut in usual])
    span = np.array([cut[-1] - cut[0] if len(cut) else 0.0 for cut in usual])
    # Without a usable span, all cuts share the first bucket: slower to search, and no less right.
    per_unit = np.zeros(len(cuts))
    np.divide(N_BUCKETS - 1, span, out=per_unit, where=span > 1e-300)
    bucket = np.zeros((len(cuts), N_BUCKETS + 1), dtype=np.int32)
    for j, cut in enumerate(cuts):
        # The same arithmetic as for a point in `locate_numbers`, or the two might round apart.
        with np.errstate(over="ignore"):
            place = (cut - low[j]) * per_unit[j] if per_unit[j] else np.zeros(len(cut))
        place = np.clip(place, 0, N_BUCKETS - 1).astype(np.int64)
        bucket[j] = np.searchsorted(place, np.arange(N_BUCKETS + 1))
    start = np.cumsum([0] + [len(cut) for cut in cuts])
    return Cuts(np.concatenate([np.empty(0), *cuts]), start, low, per_unit, bucket)


def walked_form(forest: ForestArrays) -> WalkedForest:
    """Convert a forest to the arrays that a walk needs."""
    return WalkedForest(*(getattr(forest, name) for name in WalkedForest._fields))


@cache
def compiled() -> tuple[Any, Any, Any, Any] | None:
    """Compile `locate_numbers`, `locate_codes`, `masked_sums` and `walked_sums`; None without numba."""
    functions = compile_functions(locate_numbers, locate_codes, masked_sums, walked_sums)
    return None if functions is None else (functions[0], functions[1], functions[2], functions[3])


def locate_numbers(X: FloatArray, source: IntArray, missing_right: BoolArray, cuts: Cuts, places: IntArray) -> None:
    """Write how many cuts lie below each number, in blocks of points: shape (blocks, columns, block)."""
    block = places.shape[2]
    for i in range(X.shape[0]):
        for j in range(len(source)):
            x = X[i, source[j]]
            if np.isnan(x):
                places[i // block, j, i % block] = MOST_CUTS if missing_right[j] else 0
                continue
            # Every step is monotone in x, rounding included: the cuts of earlier buckets are below x for sure.
            bucket = (x - cuts.low[j]) * cuts.per_unit[j]
            b = 0
            if bucket >= N_BUCKETS - 1:
                b = N_BUCKETS - 1
            elif bucket > 0:
                b = int(bucket)
            at = cuts.start[j]
            first, last = cuts.bucket[j, b], cuts.bucket[j, b + 1]
            while first < last:
                middle = (first + last) // 2
                if cuts.at[at + middle] < x:
                    first = middle + 1
                else:
                    last = middle
            places[i // block, j, i % block] = first


def locate_codes(X: FloatArray, sets: CodeSets, places: IntArray) -> None:
    """Write whether each code lies outside each set, after the numbers."""
    block, n_numbers = places.shape[2], places.shape[1] - len(sets.source)
    code = np.zeros(block, dtype=np.int64)
    for b in range(places.shape[0]):
        n = min(block, X.shape[0] - b * block)
        last = -1
        for j in range(len(sets.source)):
            source, n_codes = sets.source[j], sets.n_codes[j]
            if source != last:
                for i in range(n):
                    x = X[b * block + i, source]
                    code[i] = n_codes if np.isnan(x) else min(max(int(x), 0), n_codes)
                last = source
            outside = sets.outside[sets.start[j] : sets.start[j] + n_codes + 1]
            for i in range(n):
                places[b, n_numbers + j, i] = outside[code[i]]


def masked_sums(places: IntArray, forest: MaskedForest, first: int, last: int, sums: FloatArray) -> None:
    """Write the sums of members `first` to `last`: shape (points, members, outputs)."""
    block = places.shape[2]
    alive = np.empty(block, dtype=forest.keep.dtype)
    total = np.empty((sums.shape[2], block))
    for b in range(places.shape[0]):
        for member in range(first, last):
            total[:] = 0.0
            for tree in range(forest.member_start[member], forest.member_start[member + 1]):
                alive[:] = forest.full
                for split in range(forest.tree_start[tree], forest.tree_start[tree + 1]):
                    place = places[b, forest.feature[split]]
                    cut, keep = forest.cut[split], forest.keep[split]
                    for i in range(block):
                        alive[i] &= forest.full if place[i] <= cut else keep
                for i in range(block):
                    alive[i] = (alive[i] ^ (alive[i] & (alive[i] - forest.one))) * forest.hashing
                for k in range(forest.leaf.shape[0]):
                    leaf, to = forest.leaf[k, tree], total[forest.output[tree] + k]
                    for i in range(block):
                        to[i] += leaf[alive[i] >> forest.shift]
            for i in range(min(block, sums.shape[0] - b * block)):
                for k in range(sums.shape[2]):
                    sums[b * block + i, member - first, k] = total[k, i]


def walked_sums(X: FloatArray, forest: WalkedForest, first: int, last: int, sums: FloatArray) -> None:
    """Write the sums of members `first` to `last`, from `SplitColumns.values`: shape (points, members, outputs)."""
    at = np.empty(WALK_BLOCK, dtype=np.int32)
    sums[:] = 0.0
    for start in range(0, X.shape[0], WALK_BLOCK):
        n = min(WALK_BLOCK, X.shape[0] - start)
        for member in range(first, last):
            for tree in range(forest.member_start[member], forest.member_start[member + 1]):
                at[:] = forest.root[tree]
                for _ in range(forest.depth[tree]):
                    # One level of all points before the next: no point waits for the memory of another.
                    for i in range(n):
                        node = at[i]
                        right = X[start + i, forest.feature[node]] > forest.threshold[node]
                        at[i] = forest.children[2 * node + right]
                for i in range(n):
                    for k in range(forest.value.shape[1]):
                        sums[start + i, member - first, forest.output[tree] + k] += forest.value[at[i], k]


def plain_sums(X: FloatArray, forest: ForestArrays, first: int, last: int) -> FloatArray:
    """Give the sums of members `first` to `last`, without compiled code, from `SplitColumns.values`.

    Their shape is (points, members, outputs).
    """
    start, stop = forest.member_start[first], forest.member_start[last]
    member = np.repeat(np.arange(last - first), np.diff(forest.member_start[first : last + 1]))
    n_outputs = forest.base.shape[1]
    sums = np.empty((len(X), last - first, n_outputs))
    for begin in range(0, len(X), WALK_BLOCK):
        block = X[begin : begin + WALK_BLOCK]
        row = np.arange(len(block))[:, np.newaxis]
        at = np.broadcast_to(forest.root[start:stop], (len(block), stop - start))
        for _ in range(forest.depth[start:stop].max(initial=0)):
            right = block[row, forest.feature[at]] > forest.threshold[at]
            at = forest.children[2 * at + right]
        # bincount adds in order, as the compiled sums do; np.add.reduceat and sum do not.
        to = (row * (last - first) + member) * n_outputs + forest.output[start:stop]
        size = len(block) * (last - first) * n_outputs
        added = [
            np.bincount((to + k).ravel(), forest.value[at, k].ravel(), minlength=size)
            for k in range(forest.value.shape[1])
        ]
        # A tree that writes several outputs writes all of them, so these never meet in one place.
        sums[begin : begin + WALK_BLOCK] = np.sum(added, axis=0).reshape(len(block), last - first, n_outputs)
    return sums
