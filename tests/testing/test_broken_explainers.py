"""Explainers that break one promise each: the contract names the one that is broken."""

from dataclasses import dataclass, replace

import numpy as np
import pytest

from betarce.errors import ContractBroken
from betarce.explainers import Closest, Explained, NearestUnlike
from betarce.search import FrontierSearch
from betarce.testing import check_explainer_contract, four_cases

BINARY, MIXED = 0, 1


def explained(*arguments):
    return NearestUnlike().explain(*arguments)


class Lucky:
    """Draws from the global generator."""

    def explain(self, originals, targets, problem, box, seeds):
        found = explained(originals, targets, problem, box, seeds)
        rows = problem.X_train[problem.is_target(problem.X_train, np.tile(targets[0], (len(problem.X_train), 1)))]
        points = found.points.copy()
        points[0] = rows[np.random.randint(len(rows))]  # noqa: NPY002
        return replace(found, points=points)


class Company:
    """Gives the first row what the last one gets."""

    def explain(self, originals, targets, problem, box, seeds):
        found = explained(originals, targets, problem, box, seeds)
        points = found.points.copy()
        points[0] = points[-1]
        return replace(found, points=points)


class Order:
    """Counts evaluations by place."""

    def explain(self, originals, targets, problem, box, seeds):
        found = explained(originals, targets, problem, box, seeds)
        return replace(found, n_evaluations=np.arange(len(originals)))


class Meddler:
    """Writes its answer over the question."""

    def explain(self, originals, targets, problem, box, seeds):
        found = explained(originals, targets, problem, box, seeds)
        originals[:] = found.points
        return found


class Sorter:
    """Sorts the training labels in place."""

    def explain(self, originals, targets, problem, box, seeds):
        found = explained(originals, targets, problem, box, seeds)
        problem.X_train[[0, 1]] = problem.X_train[[1, 0]]
        return found


class Trespasser:
    """Goes a step too far."""

    def explain(self, originals, targets, problem, box, seeds):
        found = explained(originals, targets, problem, box, seeds)
        points = found.points.copy()
        points[found.found, 0] = box.upper[found.found, 0] + 1
        return replace(found, points=points)


class Spendthrift:
    """Changes everything that it can."""

    def explain(self, originals, targets, problem, box, seeds):
        found = explained(originals, targets, problem, box, seeds)
        free = replace(box, max_changes=None)
        far = np.where(originals == box.upper, box.lower, box.upper)
        points = replace(problem.features, max_changes=None).project(far, free)
        return replace(found, points=np.where(found.found[:, None], points, found.points))


class Liar:
    """Returns the original as its own counterfactual."""

    def explain(self, originals, targets, problem, box, seeds):
        n = len(originals)
        return Explained(originals.copy(), np.ones(n, dtype=bool), [""] * n, np.zeros(n, dtype=int))


class Silent:
    """Does not say why."""

    def explain(self, originals, targets, problem, box, seeds):
        found = explained(originals, targets, problem, box, seeds)
        nothing = found.found.copy()
        nothing[:] = np.isnan(nothing)
        return replace(found, points=originals.copy(), found=nothing)


class Loser:
    """Finds nothing, and hands out something else than the original."""

    def explain(self, originals, targets, problem, box, seeds):
        n = len(originals)
        return Explained(originals + 1, np.zeros(n, dtype=bool), ["none"] * n, np.zeros(n, dtype=int))


class Hopeless:
    """Finds nothing."""

    def explain(self, originals, targets, problem, box, seeds):
        n = len(originals)
        return Explained(originals.copy(), np.zeros(n, dtype=bool), ["none"] * n, np.zeros(n, dtype=int))


class Short:
    """Forgets the last row."""

    def explain(self, originals, targets, problem, box, seeds):
        found = explained(originals, targets, problem, box, seeds)
        return replace(found, reasons=found.reasons[:-1] + [""] * (len(seeds) == 1))


class Bare:
    """Returns the points alone."""

    def explain(self, originals, targets, problem, box, seeds):
        return explained(originals, targets, problem, box, seeds).points


@pytest.mark.parametrize(
    ("explainer", "case", "message"),
    [
        (Lucky(), BINARY, "the same seeds gave other points the second time"),
        (Company(), BINARY, "points of a row depend on the order of the rows|points of row 0 depend on which other"),
        (Order(), BINARY, "n_evaluations of a row depend on the order of the rows"),
        (Meddler(), BINARY, "`originals` was changed in place"),
        (Sorter(), BINARY, "`X_train` was changed in place"),
        (Trespasser(), BINARY, "the counterfactual of row 0 breaks the rules"),
        (Spendthrift(), MIXED, r"a counterfactual changes \d features; 3 may"),
        (Liar(), BINARY, "the model's own `predict` does not give row 0 a class that it accepts"),
        (Silent(), BINARY, "reasons must be given exactly where nothing was found"),
        (Loser(), BINARY, "rows without a counterfactual must be returned as they were"),
        (Hopeless(), BINARY, "no row of any case has a counterfactual"),
        (Short(), BINARY, r"`reasons` must be one per row \(8\); got 7"),
        (Bare(), BINARY, "`explain` must return Explained"),
    ],
    ids=lambda value: type(value).__name__ if hasattr(value, "explain") else "",
)
def test_a_broken_explainer_is_caught_by_the_promise_that_it_breaks(explainer, case, message):
    chosen = four_cases()[case]
    with pytest.raises(ContractBroken, match=f"{type(explainer).__name__} on {chosen.name}: ({message})"):
        # A case of its own: some of them spoil its table.
        check_explainer_contract(explainer, cases=[replace(chosen)])


@dataclass(frozen=True)
class Unrounded:
    """Hands out more digits than the column has."""

    def explain(self, originals, targets, problem, box, seeds):
        found = explained(originals, targets, problem, box, seeds)
        points = found.points.copy()
        income = problem.features.names.index("income")
        points[found.found, income] += 1e-4
        return replace(found, points=points)


def test_a_counterfactual_that_changes_on_its_way_out_is_caught():
    with pytest.raises(ContractBroken, match=r"breaks the rules|changes when it is handed out"):
        check_explainer_contract(Unrounded(), cases=[four_cases()[MIXED]])


def test_a_budget_that_ran_out_without_a_word_is_caught():
    class Secretive(Closest):
        def explain(self, *arguments):
            found = super().explain(*arguments)
            return replace(found, reasons=["No luck." if reason else "" for reason in found.reasons])

    case = [four_cases()[BINARY]]
    frugal = Secretive(FrontierSearch(max_evaluations=1))
    with pytest.raises(ContractBroken, match="row 0 ran out of its budget, and its reason does not name `max_eval"):
        check_explainer_contract(Closest(), cases=case, frugal=frugal)
    with pytest.raises(ContractBroken, match="the frugal one must have a budget too small to find anything"):
        check_explainer_contract(Closest(), cases=case, frugal=Closest())
