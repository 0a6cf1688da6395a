"""What every kernel keeps to: it says what its members say, to the label."""

from collections.abc import Iterable
from typing import Any

import numpy as np

from betarce.arrays import AnyArray, BoolArray, FloatArray
from betarce.ensemble import Ensemble
from betarce.testing.cases import Case, four_cases
from betarce.testing.contract import Contract, name_of

_MEMBERS = 4
_POINTS = 120
_STEP = 1e-4  # of a feature's range, for slopes
_ROUNDING = 1e-5  # kernels may compute in single precision, and products of other sizes round in other ways
_SMOOTH = 0.9  # share of points at which slopes must agree: networks have kinks


def check_kernel_contract(
    estimator: Any, *, cases: Iterable[Case] | None = None, has_slopes: bool | None = None
) -> None:
    """Check that the members of a family are evaluated together, and as they answer themselves.

    The members are read by a kernel, not asked one by one. Its labels are those of every member's own `predict`, at
    rows of the data, between them and beyond them. Margins are positive exactly where the label is accepted; votes and
    quorums count those labels. No point depends on the others, no member on its company. Inputs are left alone. Slopes,
    if there are any, are those of the margins.

    Parameters
    ----------
    estimator : classifier
        Unfitted; it is trained behind the preprocessing of each case.
    cases : iterable of Case, optional
        `four_cases` by default.
    has_slopes : bool, optional
        Whether the kernel must have slopes, or must have none; either will do by default.

    Raises
    ------
    ContractBroken
        If it does not; the message names the promise that was broken, and on which case.

    Examples
    --------
    >>> from sklearn.tree import DecisionTreeClassifier
    >>> check_kernel_contract(DecisionTreeClassifier(max_depth=4), has_slopes=False)
    """
    for case in four_cases() if cases is None else cases:
        contract = Contract(name_of(estimator), case.name)
        models = case.bootstrapped(case.pipeline(estimator), _MEMBERS)
        # Without probes, which would hide a kernel that is wrong behind the members themselves.
        ensemble = Ensemble(models, np.unique(case.y), features=case.features)
        contract.require(ensemble.path == "stacked", f"members are asked one by one ({ensemble.path}).")
        points = case.around(_POINTS)
        with contract.untouched({"points": points}):
            _check_labels(ensemble, models, case, points, contract)
            _check_margins(ensemble, points, contract)
            _check_company(ensemble, models, case, points, contract)
        if has_slopes is not None:
            contract.require(ensemble.has_slopes == has_slopes, f"`has_slopes` must be {has_slopes}.")
        if ensemble.has_slopes:
            _check_slopes(ensemble, case, points, contract)


def _labels_of(models: list[Any], case: Case, points: FloatArray) -> AnyArray:
    table = case.features.decode(points)
    return np.stack([np.asarray(model.predict(table)) for model in models], axis=1)


def _check_labels(ensemble: Ensemble, models: list[Any], case: Case, points: FloatArray, contract: Contract) -> None:
    labels, own = ensemble.labels(points), _labels_of(models, case, points)
    wrong = (labels != own).any(axis=0)
    contract.require(not wrong.any(), f"the kernel's labels differ from `predict` of member {int(wrong.argmax())}.")


def _check_margins(ensemble: Ensemble, points: FloatArray, contract: Contract) -> None:
    labels = ensemble.labels(points)
    for target in ensemble.classes:
        agree: BoolArray = labels == target
        contract.same(
            ensemble.margins(points, target) > 0, agree, "margins are not positive exactly where the label is accepted."
        )
        votes = agree.sum(axis=1)
        contract.same(ensemble.votes(points, target), votes, "votes do not count the members' labels.")
        for quorum in range(1, len(ensemble) + 1):
            contract.same(
                ensemble.reaches(points, target, quorum), votes >= quorum, "`reaches` is not what the votes say."
            )


def _check_company(ensemble: Ensemble, models: list[Any], case: Case, points: FloatArray, contract: Contract) -> None:
    labels, target = ensemble.labels(points), ensemble.classes[-1]
    margins = ensemble.margins(points, target)
    for i in (0, len(points) - 1):
        contract.same(ensemble.labels(points[[i]]), labels[[i]], f"labels at point {i} depend on the others.")
        alone = ensemble.margins(points[[i]], target)
        contract.require(
            np.allclose(alone, margins[[i]], rtol=_ROUNDING, atol=_ROUNDING),
            f"margins at point {i} depend on the others.",
        )
    some = Ensemble(models[1:3], ensemble.classes, features=case.features)
    contract.same(some.labels(points), labels[:, 1:3], "labels of a member depend on the other members.")


def _check_slopes(ensemble: Ensemble, case: Case, points: FloatArray, contract: Contract) -> None:
    some = points[~np.isnan(points).any(axis=1)][:_POINTS]
    rng = np.random.default_rng(3)
    weights, target = rng.random((len(some), len(ensemble))), ensemble.classes[-1]
    slopes = ensemble.slopes(some, target, weights)
    contract.require(slopes.shape == some.shape, f"slopes must have shape {some.shape}; got {slopes.shape}.")

    def total(at: FloatArray) -> FloatArray:
        return np.asarray((ensemble.margins(at, target) * weights).sum(axis=1))

    for j in np.flatnonzero(~case.features.is_nominal):
        step = np.zeros(some.shape[1])
        step[j] = _STEP * case.features.scale[j]
        numeric = (total(some + step) - total(some - step)) / (2 * step[j])
        close = np.isclose(slopes[:, j], numeric, rtol=5e-2, atol=1e-2 / case.features.scale[j])
        contract.require(
            close.mean() >= _SMOOTH, f"slopes along column {j} are not those of the margins ({close.mean():.0%} agree)."
        )
