"""Find the leaf of every tree that a point falls into, to sum up the leaf values.

Three ways give the same sums to the bit:

* `masked_sums`, compiled, for trees of up to 64 leaves.
* `walked_sums`, compiled, for larger trees.
* `plain_sums`, numpy, where numba is not installed.
"""

from functools import cache
from typing import Any, NamedTuple

import numpy as np

from betarce.arrays import AnyArray, FloatArray
from betarce.ensemble.compilation import compile_functions
from betarce.ensemble.preprocessing.raw_splits import SplitColumns
from betarce.ensemble.trees.forest_arrays import ForestArrays
from betarce.ensemble.trees.masks import masked_sums
from betarce.ensemble.trees.places import CodeSets, Cuts, locate_codes, locate_numbers
from betarce.ensemble.trees.walk import walked_sums

_BLOCK = 64


class Compiled(NamedTuple):
    """The compiled functions."""

    locate_numbers: Any
    locate_codes: Any
    masked_sums: Any
    walked_sums: Any

    def places(self, X: FloatArray, columns: SplitColumns, cuts: Cuts, places: AnyArray) -> AnyArray:
        """Fill in the places of points, of shape (blocks, columns, block)."""
        self.locate_numbers(X, columns.source, columns.missing_right, cuts, places)
        if len(columns.set_source):
            sets = CodeSets(columns.set_source, columns.set_start, columns.set_codes, columns.outside)
            self.locate_codes(X, sets, places)
        return places


@cache
def compiled() -> Compiled | None:
    """Compile what is to be compiled; None without numba."""
    functions = compile_functions(locate_numbers, locate_codes, masked_sums, walked_sums)
    return None if functions is None else Compiled(*functions)


def plain_sums(X: FloatArray, forest: ForestArrays, first: int, last: int) -> FloatArray:
    """Give the sums of members `first` to `last`, without compiled code, from `SplitColumns.values`.

    Their shape is (points, members, outputs).
    """
    start, stop = forest.member_start[first], forest.member_start[last]
    member = np.repeat(np.arange(last - first), np.diff(forest.member_start[first : last + 1]))
    n_outputs = forest.base.shape[1]
    sums = np.empty((len(X), last - first, n_outputs))
    for begin in range(0, len(X), _BLOCK):
        block = X[begin : begin + _BLOCK]
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
        sums[begin : begin + _BLOCK] = np.sum(added, axis=0).reshape(len(block), last - first, n_outputs)
    return sums
