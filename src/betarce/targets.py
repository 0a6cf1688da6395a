"""The classes that each row accepts as its target.

Inside the package, targets are a boolean array of shape (rows, classes).
"""

from collections.abc import Collection, Sequence
from typing import Any

import numpy as np

from betarce.arrays import AnyArray, BoolArray
from betarce.checks import check_unmasked
from betarce.errors import InvalidInput


def accepted(target: Any, classes: AnyArray, n_rows: int) -> BoolArray:
    """Turn the `target` of the user into a boolean array of accepted classes.

    Parameters
    ----------
    target : label, set of labels, or one of either per row
    classes : array
        All labels, sorted.
    n_rows : int

    Returns
    -------
    array of bool, shape (n_rows, classes)

    Examples
    --------
    >>> accepted({"good", "fair"}, np.array(["bad", "fair", "good"]), 2)
    array([[False,  True,  True],
           [False,  True,  True]])
    """
    if isinstance(target, (set, frozenset)):
        return np.tile(_row(target, classes), (n_rows, 1))
    wanted = _with_sets(target)
    if wanted is not None:
        if len(wanted) != n_rows:
            raise InvalidInput(
                f"`target` must be one class or set of classes, or one a row ({n_rows}); got {len(wanted)}."
            )
        return np.stack([_row(each if isinstance(each, (set, frozenset)) else [each], classes) for each in wanted])
    check_unmasked(target, what="target")
    labels = _as_array(target, n_rows)
    if labels.shape not in ((), (n_rows,)):
        raise InvalidInput(f"`target` must be one class, or one a row ({n_rows}); got shape {labels.shape}.")
    every = np.broadcast_to(labels, (n_rows,))
    if labels.dtype == object or labels.dtype.kind == "V":  # records: no labels, and not to be compared
        mask = np.array([[_same(label, each) for each in classes.tolist()] for label in every.tolist()])
    else:
        mask = np.asarray(every[:, None] == classes)
    unknown = ~mask.any(axis=1)
    if unknown.any():
        wrong = plain(every[unknown][0])
        raise InvalidInput(f"`target` must be one of the classes {classes.tolist()}; got {wrong!r}.")
    return mask


def named(target: Any, classes: AnyArray) -> Any:
    """Give the target of one row as a label, or as a list of labels where it accepts several.

    Examples
    --------
    >>> named(np.array([False, True]), np.array(["no", "yes"]))
    'yes'
    """
    if np.ndim(target) == 0:
        return plain(target)  # a label already
    labels = classes[target].tolist()
    return labels[0] if len(labels) == 1 else labels


def plain(label: Any) -> Any:
    """Turn a numpy scalar into a Python value that JSON can hold."""
    return label.item() if isinstance(label, np.generic) else label


def _with_sets(target: Any) -> list[Any] | None:
    """Give one target per row as a list if there are sets among them; None otherwise."""
    listed = target.tolist() if getattr(getattr(target, "dtype", None), "kind", "") == "O" else target
    if not isinstance(listed, Sequence) or isinstance(listed, str):
        return None
    return list(listed) if any(isinstance(each, (set, frozenset)) for each in listed) else None


def _as_array(target: Any, n_rows: int) -> AnyArray:
    try:
        return np.asarray(target)
    except ValueError as error:
        raise InvalidInput(f"`target` must be one class, or one a row ({n_rows}); {error}") from error


def _same(label: Any, other: Any) -> bool:
    try:
        return bool(label == other)
    except Exception:  # noqa: BLE001 - a missing value, an array, an object that objects: neither equal nor unequal
        return False


def _row(labels: "Collection[Any]", classes: AnyArray) -> BoolArray:
    known = classes.tolist()
    unknown = [label for label in labels if not any(_same(label, each) for each in known)]
    if unknown or not labels:
        raise InvalidInput(
            f"`target` must name some of the classes {classes.tolist()}; got {sorted(map(repr, labels))}."
        )
    if len(labels) == len(known):
        raise InvalidInput(f"`target` must leave some class out; {sorted(known)!r} are all there are.")
    return np.array([any(_same(label, each) for label in labels) for each in known])
