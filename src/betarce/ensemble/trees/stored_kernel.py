"""A tree kernel as named arrays, and back: reading the trees of many members anew takes seconds.

Compiled code walks over these arrays without looking, so all places in them are checked before a kernel is made.
"""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from betarce.arrays import AnyArray
from betarce.ensemble.preprocessing.raw_splits import SplitColumns
from betarce.ensemble.trees.forest_arrays import ForestArrays, split_levels
from betarce.ensemble.trees.kernel import TreeKernel
from betarce.errors import CorruptFile

_FOREST: Mapping[str, tuple[Any, int]] = {
    "feature": (np.int32, 1),
    "threshold": (np.float64, 1),
    "children": (np.int32, 1),
    "value": (np.float64, 2),
    "root": (np.int32, 1),
    "depth": (np.int32, 1),
    "output": (np.int32, 1),
    "member_start": (np.int64, 1),
    "base": (np.float64, 2),
}
_COLUMNS: Mapping[str, tuple[Any, int]] = {
    "source": (np.int64, 1),
    "missing_right": (np.bool_, 1),
    "set_source": (np.int64, 1),
    "set_start": (np.int64, 1),
    "set_codes": (np.int64, 1),
    "outside": (np.int16, 1),
}
_SHARES = "shares"  # of forests; files of earlier versions have none
_REFUSED = "refused/"


def kernel_arrays(kernel: TreeKernel, *, levels: Sequence[int]) -> dict[str, AnyArray] | None:
    """Give the arrays of a kernel; None if it has a form that `kernel_of_arrays` would refuse.

    Parameters
    ----------
    kernel : TreeKernel
    levels : sequence of int
        Of every column of the points: how many codes it has, -1 for numbers.
    """
    forest = {name: getattr(kernel.forest, name) for name in _FOREST}
    columns = {name: np.asarray(getattr(kernel.columns, name)) for name in _COLUMNS}
    refused = {f"{_REFUSED}{source}": codes for source, codes in kernel.refused.items()}
    if kernel.forest.shares is not None:
        forest[_SHARES] = kernel.forest.shares
    numbers = {"probability": np.array([kernel.probability]), "rounding": kernel.rounding}
    arrays: dict[str, AnyArray] = {**forest, **columns, **numbers, **refused}
    try:
        kernel_of_arrays(arrays, levels=levels, n_members=len(kernel))
    except CorruptFile:
        return None
    return arrays


def kernel_of_arrays(arrays: Mapping[str, AnyArray], *, levels: Sequence[int], n_members: int) -> TreeKernel:
    """Make the kernel whose arrays these are.

    Parameters
    ----------
    arrays : mapping of str to array
    levels : sequence of int
        Of every column of the points: how many codes it has, -1 for numbers.
    n_members : int

    Raises
    ------
    CorruptFile
        If something in them points to where nothing is.
    """
    forest = ForestArrays(**{name: _typed(arrays, name, *form) for name, form in _FOREST.items()})
    columns = SplitColumns(**{name: _typed(arrays, name, *form) for name, form in _COLUMNS.items()})
    rounding, probability = _typed(arrays, "rounding", np.float64, 1), _typed(arrays, "probability", np.bool_, 1)
    _check_columns(columns, levels)
    _check_forest(forest, columns.width)
    if _SHARES in arrays:
        forest = replace(forest, shares=_typed(arrays, _SHARES, np.float64, 2))
        _check_shares(forest)
    if len(forest.base) != n_members or rounding.shape != (n_members,) or probability.shape != (1,):
        raise CorruptFile(f"it is the kernel of {len(forest.base)} members; {n_members} are there")
    refused = {
        _whole(name.removeprefix(_REFUSED)): _typed(arrays, name, np.bool_, 1)
        for name in arrays
        if name.startswith(_REFUSED)
    }
    for source, codes in refused.items():
        known = 0 <= source < len(levels)
        if not known or len(codes) not in (1, levels[source] + 1):
            raise CorruptFile(f"its kernel refuses codes of column {source}, which has others")
    return TreeKernel(forest, columns, bool(probability[0]), rounding, refused)


def _check_columns(columns: SplitColumns, levels: Sequence[int]) -> None:
    sizes = np.asarray(levels)
    sources = np.concatenate([columns.source, columns.set_source])
    _refuse("column", ((sources < 0) | (sources >= len(sizes))).any())
    _refuse("set of codes", len({len(columns.set_source), len(columns.set_start), len(columns.set_codes)}) > 1)
    _refuse("missing value", columns.missing_right.shape != columns.source.shape)
    _refuse("set of codes", (columns.set_codes != sizes[columns.set_source]).any())
    ends = columns.set_start + columns.set_codes
    _refuse("set of codes", ((columns.set_start < 0) | (ends >= len(columns.outside))).any())
    _refuse("side of a code", not np.isin(columns.outside, (0, 1)).all())


def _check_forest(forest: ForestArrays, width: int) -> None:
    n, n_trees = len(forest.feature), len(forest.root)
    _refuse("number of nodes", {len(forest.threshold), len(forest.value), len(forest.children) / 2} != {n} or n == 0)
    _refuse("number of trees", {len(forest.depth), len(forest.output)} != {n_trees} or n_trees == 0)
    _refuse("column", ((forest.feature < 0) | (forest.feature >= max(width, 1))).any())
    ends = np.append(forest.root[1:], n)
    _refuse("root", forest.root[0] != 0 or (ends <= forest.root).any())
    itself, stop = np.arange(n), np.repeat(ends, ends - forest.root)
    children = forest.children.reshape(n, 2)
    leaf = (children == itself[:, None]).all(axis=1)
    inside = (children > itself[:, None]) & (children < stop[:, None])
    _refuse("child", not (leaf | inside.all(axis=1)).all())
    outputs = forest.base.shape[1]
    _refuse("output", ((forest.output < 0) | (forest.output + forest.value.shape[1] > outputs)).any())
    start = forest.member_start
    _refuse("member", start[0] != 0 or start[-1] != n_trees or (np.diff(start) < 0).any())
    _refuse("member", len(start) != len(forest.base) + 1)
    depth = np.zeros(n_trees, dtype=np.int32)
    for level, nodes in enumerate(split_levels(forest.children, forest.root)):
        depth[np.searchsorted(forest.root, nodes, side="right") - 1] = level + 1
    _refuse("depth", not np.array_equal(depth, forest.depth))


def _check_shares(forest: ForestArrays) -> None:
    shares, width = np.asarray(forest.shares), forest.value.shape[1]
    _refuse("share", shares.shape != (len(forest.value), width + (width == 1)))
    tree = np.repeat(np.arange(len(forest.root)), np.diff(np.append(forest.root, len(shares))))
    n_trees = np.repeat(np.diff(forest.member_start), np.diff(forest.member_start))[tree]
    _refuse("share", not np.array_equal(shares[:, -width:] / n_trees[:, np.newaxis], forest.value))


def _typed(arrays: Mapping[str, AnyArray], name: str, dtype: Any, n_dimensions: int) -> AnyArray:
    if name not in arrays or arrays[name].dtype != dtype or arrays[name].ndim != n_dimensions:
        raise CorruptFile(f"its kernel has no usable part {name!r}")
    return arrays[name]


def _whole(text: str) -> int:
    if not text.isdecimal():
        raise CorruptFile(f"its kernel refuses codes of column {text!r}")
    return int(text)


def _refuse(what: str, is_so: bool | np.bool_) -> None:
    if is_so:
        raise CorruptFile(f"its kernel has a {what} that cannot be")
