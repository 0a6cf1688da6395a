"""Warnings about members that cannot say much about retraining."""

import warnings
from collections.abc import Iterable

import numpy as np

from betarce.arrays import FloatArray
from betarce.ensemble import Ensemble
from betarce.errors import ConstantMembers, DegenerateSpace
from betarce.spaces import Seed

_ODD_ROWS = 2000


def warn_of_odd_members(roles: Iterable[Ensemble], points: FloatArray, space: object, estimator: object) -> bool:
    """Say so if all members are the same model, or if some answer one class everywhere.

    Returns
    -------
    bool
        Whether the members differ from each other at all, as far as more than one can.

    Parameters
    ----------
    roles : iterable of Ensemble
        The members drawn, for each role.
    points : array of shape (n, d)
        Training rows; the first 2,000 are looked at.
    space, estimator : object
        What they were drawn from, for the message.
    """
    roles = list(roles)
    n = sum(map(len, roles))
    if n < 2:
        return True
    points = points[:_ODD_ROWS]
    margins = np.hstack([members.margins(points, members.classes[1]) for members in roles])
    # Equal members may differ in the last bit: a matrix product rounds its last few columns in another way.
    scale = np.abs(margins[np.isfinite(margins)]).max(initial=0.0)
    if np.isclose(margins, margins[:, :1], rtol=1e-10, atol=1e-10 * scale).all():
        warnings.warn(_why_degenerate(n, space, estimator), DegenerateSpace, stacklevel=4)
        return False
    labels = np.hstack([members.labels(points) for members in roles])
    constant = (labels == labels[:1]).all(axis=0)
    if constant.any():
        shown = ", ".join(f"{label!r}" for label in np.unique(labels[0, constant]).tolist())
        warnings.warn(
            f"{int(constant.sum())} of {n} members answer one class ({shown}) for every training row. "
            "They are part of the declared space and vote like all others, so some targets may be out of reach. "
            "Train longer, or declare a space without them.",
            ConstantMembers,
            stacklevel=4,
        )
    return True


def _why_degenerate(n: int, space: object, estimator: object) -> str:
    name = type(estimator).__name__
    if isinstance(space, Seed):
        why = f"training {name} uses no randomness, so another seed changes nothing"
        if name == "LGBMClassifier":
            why += " (LightGBM samples rows only with subsample < 1 and subsample_freq >= 1)"
    else:
        why = f"the changes that {space!r} declares do not reach {name}"
    return (
        f"All {n} members are the same model: {why}. A certificate from them would say nothing about retraining. "
        "Use betarce.Bootstrap(), or wrap the model in betarce.models.ValidationSplit."
    )
