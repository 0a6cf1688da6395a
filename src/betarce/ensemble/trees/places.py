"""Find the place of a point's numbers among the thresholds of all trees, and whether its codes lie outside sets.

After that, a split is a comparison of two small whole numbers.
"""

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from betarce.arrays import AnyArray, BoolArray, FloatArray, IntArray
from betarce.ensemble.trees.forest_arrays import ForestArrays

N_BUCKETS = 1024

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


def cuts_of(forest: ForestArrays, splits: IntArray, n_numbers: int) -> tuple[list[FloatArray], IntArray]:
    """Give the thresholds of each number in order, and the place of each split's threshold among them.

    A split on a set of codes is at place 0: its column has 0 for what goes left and 1 for what goes right.
    """
    feature, threshold = forest.feature[splits], forest.threshold[splits]
    cuts, place = [], np.zeros(len(splits), dtype=np.int64)
    for j in range(n_numbers):
        rows = np.flatnonzero(feature == j)
        found, place[rows] = np.unique(threshold[rows], return_inverse=True)
        cuts.append(found)
    return cuts, place


def index_cuts(cuts: Sequence[FloatArray]) -> Cuts:
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


def places_for(n: int, n_columns: int, most: int, kind: Any) -> AnyArray:
    """Allocate places in blocks of even size, at most `most`: what pads the last one is computed in vain."""
    n_blocks = -(-n // most)
    block = 16 * -(-n // (16 * max(n_blocks, 1)))
    return np.zeros((n_blocks, n_columns, block), dtype=kind)


def locate_numbers(X: FloatArray, source: IntArray, missing_right: BoolArray, cuts: Cuts, places: IntArray) -> None:
    """Write how many cuts lie below each number, in blocks of points: shape (blocks, columns, block)."""
    block = places.shape[2]
    for i in range(X.shape[0]):
        for j in range(len(source)):
            x = X[i, source[j]]
            if np.isnan(x):
                places[i // block, j, i % block] = cuts.start[j + 1] - cuts.start[j] if missing_right[j] else 0
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
