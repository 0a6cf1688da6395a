"""Forests as bit masks, for trees of up to 64 leaves.

Each split removes the leaves of its left side from a bit mask where a point goes right; the lowest bit left is the exit
leaf (QuickScorer, Lucchese et al. 2015). No step depends on the one before: one instruction serves 8 or 16 points.
"""

from typing import Any, NamedTuple

import numpy as np

from betarce.arrays import AnyArray, FloatArray, IntArray
from betarce.ensemble.preprocessing.raw_splits import SplitColumns
from betarce.ensemble.trees.forest_arrays import ForestArrays, split_levels
from betarce.ensemble.trees.places import Cuts, cuts_of, index_cuts, places_for

# A power of two times such a number has each value in its top bits once: the place of the lowest bit, as a hash.
DE_BRUIJN = {16: 0x09AF, 32: 0x077CB531, 64: 0x022FDD63CC95386D}
MOST_CUTS = 32_767
BLOCK = 384

# Compiled functions take no types of other modules: numba checks what it has cached against this file alone.


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


def masked_form(forest: ForestArrays, columns: SplitColumns) -> tuple[Cuts, MaskedForest] | None:
    """Convert a forest to bit masks; None if it has too many leaves or thresholds for that."""
    first_leaf, n_leaves = _leaf_spans(forest)
    most_leaves = int(n_leaves[forest.root].max())
    if most_leaves > 64:
        return None
    splits = np.sort(np.concatenate([*split_levels(forest.children, forest.root), forest.root[:0]]))
    cuts, places = cuts_of(forest, splits, len(columns.source))
    if max(map(len, cuts), default=0) > MOST_CUTS:
        return None
    bits = next(bits for bits in DE_BRUIJN if most_leaves <= bits)
    kind = np.dtype(f"uint{bits}").type
    feature, cut = forest.feature[splits], places.astype(np.int16)
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


def mask_places(n: int, n_columns: int) -> AnyArray:
    """Allocate the places of so many points."""
    return places_for(n, n_columns, BLOCK, np.int16)


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
