"""What every explainer keeps to."""

from collections.abc import Callable, Iterable

import numpy as np

from betarce.arrays import FloatArray, IntArray
from betarce.explainers import Explained, Explainer
from betarce.testing.cases import Case, four_cases
from betarce.testing.contract import Contract, Parts, first_of, name_of


def check_explainer_contract(
    explainer: Explainer,
    *,
    cases: Iterable[Case] | None = None,
    frugal: Explainer | None = None,
    budget: str = "max_evaluations",
) -> None:
    """Check that an explainer keeps to its protocol.

    The same seeds give the same answer, whatever the global random generators hold. No row depends on the others or on
    their order. Inputs are left alone. What is found keeps the rules, can be handed out as it is, and has an accepted
    class under the model's own `predict`; where nothing is found, the original is returned with a reason. A budget
    that is too small is said, and kept.

    Parameters
    ----------
    explainer : explainer
    cases : iterable of Case, optional
        `four_cases` by default; something must be found on at least one of them.
    frugal : explainer, optional
        The same with a budget too small to find anything.
    budget : str
        The parameter that holds the budget, which reasons must name.

    Raises
    ------
    ContractBroken
        If it does not; the message names the promise that was broken, and on which case.

    Examples
    --------
    >>> from betarce.explainers import NearestUnlike
    >>> check_explainer_contract(NearestUnlike())
    """
    chosen = list(four_cases() if cases is None else cases)
    found = [check_on(explainer, case, Contract(name_of(explainer), case.name)) for case in chosen]
    everywhere = Contract(name_of(explainer), ", ".join(case.name for case in chosen))
    everywhere.require(any(found), "no row of any case has a counterfactual.")
    for case in chosen if frugal is not None else []:
        assert frugal is not None
        _check_budget(frugal, case, budget)


def check_on(explainer: Explainer, case: Case, contract: Contract) -> bool:
    """Check one case; say whether anything was found."""
    run = _runner(explainer, case, contract)
    together = contract.repeatable(run, case.n_rows)
    contract.company(run, together, case.n_rows, alone=(0, case.n_rows - 1))
    found, points = np.asarray(together["found"]), np.asarray(together["points"])
    asked = np.flatnonzero(found & case.features.box(case.originals).possible)  # the others are never asked for
    if asked.size:
        _check_points(contract, points[asked], asked, case)
    contract.same(
        points[~found], case.originals[~found], "rows without a counterfactual must be returned as they were."
    )
    contract.same(
        [bool(reason) for reason in together["reasons"]],
        list(~found),
        "reasons must be given exactly where nothing was found.",
    )
    return bool(found.any())


def _check_points(contract: Contract, points: FloatArray, rows: IntArray, case: Case) -> None:
    """Check what was found for some rows."""
    features, box = case.features, case.features.box(case.originals).take(rows)
    many, most = features.changes(points, box).sum(axis=1), features.max_changes
    contract.require(most is None or many.max() <= most, f"a counterfactual changes {many.max()} features; {most} may.")
    broken = np.asarray(features.violations(points, box).any(axis=1))
    contract.require(not broken.any(), f"the counterfactual of row {first_of(rows, broken)} breaks the rules.")
    back = features.encode(features.decode(points))
    contract.same(back, points, "a counterfactual changes when it is handed out: round it before it is scored.")
    wrong = ~case.accepts(points, rows)
    contract.require(
        not wrong.any(), f"the model's own `predict` does not give row {first_of(rows, wrong)} a class that it accepts."
    )


def _runner(explainer: Explainer, case: Case, contract: Contract) -> Callable[[IntArray], Parts]:
    """Give what explains some rows, and checks what can be checked at once."""

    def run(rows: IntArray) -> Parts:
        originals, targets = case.originals[rows], case.targets[rows]
        box, problem = case.features.box(originals), case.problem
        inputs = {
            "originals": originals,
            "targets": targets,
            "box": np.stack([box.lower, box.upper]),
            "X_train": problem.X_train,
            "y_train": problem.y_train,
        }
        with contract.untouched(inputs):
            explained = explainer.explain(originals, targets, problem, box, [case.seeds[i] for i in rows])
            inputs["box"][:] = np.stack([box.lower, box.upper])
        contract.require(isinstance(explained, Explained), f"`explain` must return Explained; got {explained!r}.")
        _check_shapes(contract, explained, originals)
        return {
            "points": explained.points,
            "found": explained.found,
            "reasons": explained.reasons,
            "n_evaluations": explained.n_evaluations,
        }

    return run


def _check_shapes(contract: Contract, explained: Explained, originals: FloatArray) -> None:
    points, found = np.asarray(explained.points), np.asarray(explained.found)
    spent: IntArray = np.asarray(explained.n_evaluations)
    contract.require(
        points.shape == originals.shape, f"`points` must have shape {originals.shape}; got {points.shape}."
    )
    n = len(originals)
    contract.require(
        found.shape == (n,) and found.dtype == bool, f"`found` must be {n} bools; got {found.dtype} {found.shape}."
    )
    contract.require(len(explained.reasons) == n, f"`reasons` must be one per row ({n}); got {len(explained.reasons)}.")
    contract.require(
        spent.shape == (n,) and spent.dtype.kind in "iu" and (spent >= 0).all(),
        f"`n_evaluations` must be one whole number >= 0 per row; got {explained.n_evaluations!r}.",
    )


def _check_budget(frugal: Explainer, case: Case, budget: str) -> None:
    contract = Contract(name_of(frugal), case.name)
    answer = _runner(frugal, case, contract)(np.arange(case.n_rows))
    lost = np.flatnonzero(~np.asarray(answer["found"]))
    contract.require(lost.size, "the frugal one must have a budget too small to find anything; it found all rows.")
    silent = np.array([budget not in answer["reasons"][i] for i in lost], dtype=bool)
    contract.require(
        not silent.any(),
        f"row {first_of(lost, silent)} ran out of its budget, and its reason does not name `{budget}`.",
    )
