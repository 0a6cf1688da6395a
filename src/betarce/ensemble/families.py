"""Members sorted into families, each with the kernel that speaks for it, or the reason why there is none."""

from collections.abc import Callable, Iterator, Sequence
from itertools import groupby
from typing import NamedTuple

import numpy as np

from betarce.arrays import AnyArray, IntArray
from betarce.ensemble import linear, networks
from betarce.ensemble.composites import blend
from betarce.ensemble.kernel import Kernel
from betarce.ensemble.preprocessing.unwrapped import Peeled
from betarce.ensemble.trees import kernel as trees
from betarce.ensemble.unreadable import Unreadable, reading

_KERNELS: tuple[Callable[[Sequence[Peeled]], Kernel | None], ...] = (linear.stack, networks.stack, trees.stack)


class Family(NamedTuple):
    """Some members, by their places: with a kernel, or the reason why there is none."""

    indices: IntArray
    kernel: Kernel | None
    why: str = ""


def families(peeled: Sequence[Peeled], models: Sequence[object], classes: AnyArray) -> Iterator[Family]:
    """Group members that share a kernel, in a fixed order; those without one by the reason."""
    whys = [_why_not(each, model, classes) for each, model in zip(peeled, models, strict=True)]
    kinds = [(why != "", why or each.family) for each, why in zip(peeled, whys, strict=True)]
    order = sorted(range(len(peeled)), key=lambda i: (kinds[i], i))
    for (left_out, why), group in groupby(order, key=lambda i: kinds[i]):
        indices = np.array(list(group))
        if left_out:
            yield Family(indices, None, why)
            continue
        members = [peeled[i] for i in indices]
        try:
            with reading(members[0].core):
                yield Family(indices, kernel_of(members))
        except Unreadable as reason:
            yield Family(indices, None, str(reason))


def kernel_of(members: Sequence[Peeled]) -> Kernel:
    """Make the kernel of members of one family.

    Raises
    ------
    Unreadable
        If there is none.

    Examples
    --------
    >>> from sklearn.linear_model import LogisticRegression
    >>> kernel_of([Peeled(LogisticRegression().fit([[0.0], [1.0]], [0, 1]))]).weights.shape
    (1, 1, 1)
    """
    if members[0].rule is not None:
        return blend.stack(members, kernel_of)
    for stack in _KERNELS:
        kernel = stack(members)
        if kernel is not None:
            return kernel
    raise Unreadable(f"there is no kernel for {type(members[0].core).__name__}")


def _why_not(peeled: Peeled, model: object, classes: AnyArray) -> str:
    """Say why a member cannot be part of any kernel; empty if it may."""
    name = type(peeled.core).__name__
    if peeled.why:
        return peeled.why
    if not hasattr(model, "classes_"):
        return f"{name} has no `classes_`"
    if not np.array_equal(model.classes_, classes):
        return f"{name} knows other classes"
    if peeled.turn is None:
        return f"{name} has a threshold on a response that no kernel gives"
    return ""
