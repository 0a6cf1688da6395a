"""Forests as packed nodes, for trees of any size: down from the root, many points in turn.

Siblings lie side by side, and all that a step needs is in one 64-bit word: the place of the threshold, the column and
where the left child is. A leaf is its own left child, under a threshold that nothing exceeds.
"""

from typing import NamedTuple

import numpy as np

from betarce.arrays import AnyArray, FloatArray, IntArray
from betarce.ensemble.preprocessing.raw_splits import SplitColumns
from betarce.ensemble.trees.forest_arrays import ForestArrays, split_levels
from betarce.ensemble.trees.places import Cuts, cuts_of, index_cuts, places_for

WALK_BLOCK = 128
# The bits of a word: 24 for the cut and its sign, 16 for the column, 24 for the left child.
CUT, COLUMN, CHILD = 40, 24, (1 << 24) - 1
NEVER = (1 << 23) - 1

# Compiled functions take no types of other modules: numba checks what it has cached against this file alone.


class PackedForest(NamedTuple):
    """The trees, one after the other; the nodes of each level by level."""

    word: IntArray  # (nodes,)
    value: FloatArray  # (nodes, width)
    root: IntArray  # (trees,)
    depth: IntArray  # (trees,)
    output: IntArray  # (trees,)
    member_start: IntArray  # (members + 1,)


def packed_form(forest: ForestArrays, columns: SplitColumns) -> tuple[Cuts, PackedForest] | None:
    """Convert a forest to packed nodes; None if a tree, or the columns, or their cuts are too many for a word."""
    levels = list(split_levels(forest.children, forest.root))
    below = [forest.children.reshape(-1, 2)[splits].reshape(-1) for splits in levels]
    nodes = np.concatenate([forest.root, *below])
    # Stable: within a tree, the order of the levels, in which siblings are neighbours.
    nodes = nodes[np.argsort(np.searchsorted(forest.root, nodes, side="right"), kind="stable")]
    place = np.zeros(len(forest.feature), dtype=np.int64)
    place[nodes] = np.arange(len(nodes))
    root = place[forest.root]
    size = np.diff(np.append(root, len(nodes)))
    left = place[forest.children[2 * nodes]]
    splits = np.flatnonzero(left != np.arange(len(nodes)))
    cuts, cut = cuts_of(forest, nodes[splits], len(columns.source))
    if size.max() > CHILD or columns.width > 1 << 16 or max(map(len, cuts), default=0) > NEVER:
        return None
    word = (NEVER << CUT) | (left - np.repeat(root, size))
    word[splits] &= CHILD
    word[splits] |= (cut << CUT) | (forest.feature[nodes[splits]].astype(np.int64) << COLUMN)
    packed = PackedForest(word, forest.value[nodes], root, forest.depth, forest.output, forest.member_start)
    return index_cuts(cuts), packed


def walk_places(n: int, n_columns: int) -> AnyArray:
    """Allocate the places of so many points."""
    return places_for(n, n_columns, WALK_BLOCK, np.int32)


def walked_sums(places: AnyArray, forest: PackedForest, first: int, last: int, sums: FloatArray) -> None:
    """Write the sums of members `first` to `last`: shape (points, members, outputs)."""
    block = places.shape[2]
    at = np.empty(block, dtype=np.int64)
    sums[:] = 0.0
    for b in range(places.shape[0]):
        start, place = b * block, places[b]
        n = min(block, sums.shape[0] - start)
        for member in range(first, last):
            for tree in range(forest.member_start[member], forest.member_start[member + 1]):
                words, values = forest.word[forest.root[tree] :], forest.value[forest.root[tree] :]
                at[:] = 0
                for _ in range(forest.depth[tree]):
                    # One level of all points before the next: no point waits for the memory of another.
                    moved = 0
                    for i in range(n):
                        node = at[i]
                        word = words[node]
                        right = place[(word >> COLUMN) & 0xFFFF, i] > (word >> CUT)
                        to = (word & CHILD) + right
                        moved |= to ^ node
                        at[i] = to
                    if moved == 0:
                        break
                for i in range(n):
                    for k in range(values.shape[1]):
                        sums[start + i, member - first, forest.output[tree] + k] += values[at[i], k]
