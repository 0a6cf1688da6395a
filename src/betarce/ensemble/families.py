"""Group members into families that one kernel can evaluate."""

from collections.abc import Callable, Iterator, Sequence
from itertools import groupby
from typing import NamedTuple

import numpy as np

from betarce.arrays import AnyArray, IntArray
from betarce.ensemble import linear, networks
from betarce.ensemble.composites import kernel as composites
from betarce.ensemble.kernel import Kernel
from betarce.ensemble.preprocessing.unwrapped import UnwrappedModel
from betarce.ensemble.trees import kernel as trees
from betarce.ensemble.unreadable import Unreadable, reading

_KERNELS: tuple[Callable[[Sequence[UnwrappedModel]], Kernel | None], ...] = (linear.stack, networks.stack, trees.stack)


class Family(NamedTuple):
    """Some members of an ensemble.

    Attributes
    ----------
    indices : array of int
        Their places in the ensemble.
    kernel : Kernel or None
    reason : str
        Why there is no kernel; empty if there is one.
    """

    indices: IntArray
    kernel: Kernel | None
    reason: str = ""


def families(unwrapped: Sequence[UnwrappedModel], models: Sequence[object], classes: AnyArray) -> Iterator[Family]:
    """Group members that share a kernel, in a fixed order; those without one are grouped by the reason.

    Parameters
    ----------
    unwrapped : sequence of UnwrappedModel
        The members without their wrappers.
    models : sequence of fitted models
        The members themselves.
    classes : array
        The labels of the ensemble, sorted.
    """
    reasons = [_why_not(each, model, classes) for each, model in zip(unwrapped, models, strict=True)]
    kinds = [(reason != "", reason or each.family) for each, reason in zip(unwrapped, reasons, strict=True)]
    order = sorted(range(len(unwrapped)), key=lambda i: (kinds[i], i))
    for (left_out, reason), group in groupby(order, key=lambda i: kinds[i]):
        indices = np.array(list(group))
        if left_out:
            yield Family(indices, None, reason)
            continue
        members = [unwrapped[i] for i in indices]
        try:
            with reading(members[0].estimator):
                yield Family(indices, kernel_of(members))
        except Unreadable as error:
            yield Family(indices, None, str(error))


def kernel_of(members: Sequence[UnwrappedModel]) -> Kernel:
    """Make the kernel of members of one family.

    Parameters
    ----------
    members : sequence of UnwrappedModel

    Returns
    -------
    Kernel

    Raises
    ------
    Unreadable
        If there is none.

    Examples
    --------
    >>> from sklearn.linear_model import LogisticRegression
    >>> kernel_of([UnwrappedModel(LogisticRegression().fit([[0.0], [1.0]], [0, 1]))]).weights.shape
    (1, 1, 1)
    """
    if members[0].combination is not None:
        return composites.stack(members, kernel_of)
    for stack in _KERNELS:
        kernel = stack(members)
        if kernel is not None:
            return kernel
    raise Unreadable(f"there is no kernel for {type(members[0].estimator).__name__}")


def _why_not(unwrapped: UnwrappedModel, model: object, classes: AnyArray) -> str:
    """Say why no kernel can evaluate a member; empty if one may."""
    name = type(unwrapped.estimator).__name__
    if unwrapped.reason:
        return unwrapped.reason
    try:
        with reading(model):
            own = getattr(model, "classes_", None)
    except Unreadable as error:
        return str(error)
    if own is None:
        return f"{name} has no `classes_`"
    if not np.array_equal(own, classes):
        return f"{name} knows other classes"
    if unwrapped.score_threshold is None:
        return f"{name} has a threshold on a response that no kernel gives"
    return ""
