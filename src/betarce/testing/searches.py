"""What every search keeps to."""

from collections.abc import Callable, Iterable
from dataclasses import dataclass, field

import numpy as np

from betarce.arrays import BoolArray, FloatArray, IntArray
from betarce.features import FeatureSpace
from betarce.search import Goal, Ladders, Search, Task
from betarce.testing.cases import Case, four_cases
from betarce.testing.contract import Contract, Parts, first_of, name_of, same_bits

_FARTHER = 0.1  # in ranges of the features: what a search may count as closer in its own way


def check_search_contract(
    search: Search,
    *,
    cases: Iterable[Case] | None = None,
    frugal: Search | None = None,
    max_evaluations: int | None = None,
) -> None:
    """Check that a search keeps to its protocol.

    The same seeds give the same ladders, whatever the global random generators hold. No row depends on the others or on
    their order. Inputs are left alone. The goal is asked only about points that could be handed out, and every one is
    counted. Rungs keep the rules, have an accepted class under the model's own `predict`, and stand safest first and
    closest last. A goal that cannot be reached gives no rung; a budget that is too small is said, and kept.

    Parameters
    ----------
    search : search
    cases : iterable of Case, optional
        `four_cases` by default; at least one row of each must get a rung.
    frugal : search, optional
        The same with a budget too small to look everywhere.
    max_evaluations : int, optional
        What the frugal one may ask for each row; its own `max_evaluations` by default.

    Raises
    ------
    ContractBroken
        If it does not; the message names the promise that was broken, and on which case.

    Examples
    --------
    >>> from betarce.search import GrowingSpheresSearch
    >>> check_search_contract(GrowingSpheresSearch(), frugal=GrowingSpheresSearch(max_evaluations=150))
    """
    for case in four_cases() if cases is None else cases:
        contract = Contract(name_of(search), case.name)
        _check_on(search, case, contract)
        _check_hopeless(search, case, contract)
        if frugal is not None:
            most = getattr(frugal, "max_evaluations", None) if max_evaluations is None else max_evaluations
            contract.require(most is not None, "the frugal one has no `max_evaluations`: say what it may ask.")
            assert most is not None
            _check_budget(frugal, case, int(most), contract)


@dataclass
class _Watch:
    """A goal that notes which points it is asked about."""

    goal: Goal
    features: FeatureSpace
    contract: Contract
    n_rows: int
    asked: dict[int, set[bytes]] = field(default_factory=dict)

    def __call__(self, points: FloatArray, rows: IntArray) -> tuple[FloatArray, BoolArray]:
        self._note(points, rows)
        return self.goal(points, rows)

    def is_robust(self, points: FloatArray, rows: IntArray) -> BoolArray:
        self._note(points, rows)
        return self.goal.is_robust(points, rows)

    def slopes(self, points: FloatArray, rows: IntArray) -> FloatArray | None:
        return self.goal.slopes(points, rows)

    def anchors(self, task: Task) -> FloatArray | None:
        return self.goal.anchors(task)

    def _note(self, points: FloatArray, rows: IntArray) -> None:
        back = self.features.encode(self.features.decode(points))
        self.contract.same(
            back, points, "the goal was asked about a point that changes when it is handed out: project it first."
        )
        for point, row in zip(points, rows, strict=True):
            self.asked.setdefault(int(row), set()).add(point.tobytes())


class _Hopeless:
    """A goal that no point reaches."""

    def __call__(self, points: FloatArray, rows: IntArray) -> tuple[FloatArray, BoolArray]:
        return np.full(len(points), -1.0), np.zeros(len(points), dtype=bool)

    def is_robust(self, points: FloatArray, rows: IntArray) -> BoolArray:
        return np.zeros(len(points), dtype=bool)

    def slopes(self, points: FloatArray, rows: IntArray) -> FloatArray | None:
        return None

    def anchors(self, task: Task) -> FloatArray | None:
        return None


def _check_on(search: Search, case: Case, contract: Contract) -> None:
    run = _runner(search, case, contract)
    with contract.untouched({"X_train": case.problem.X_train}):
        together = contract.repeatable(run, case.n_rows)
    contract.company(run, together, case.n_rows, alone=(0, case.n_rows - 1))
    points, exists = np.asarray(together["points"]), np.asarray(together["exists"])
    contract.require(exists.any(), "no row has a single rung.")
    rows, rungs = np.nonzero(exists)
    inside = points[rows, rungs]
    broken = np.asarray(case.features.violations(inside, case.features.box(case.originals).take(rows)).any(axis=1))
    contract.require(not broken.any(), f"a rung of row {first_of(rows, broken)} breaks the rules.")
    contract.same(
        case.features.encode(case.features.decode(inside)),
        inside,
        "a rung changes when it is handed out: project it before it is asked about.",
    )
    wrong = ~case.accepts(inside, rows)
    contract.require(
        not wrong.any(),
        f"the model's own `predict` does not give a rung of row {first_of(rows, wrong)} a class that it accepts.",
    )
    _check_order(case, contract, points, exists)


def _check_order(case: Case, contract: Contract, points: FloatArray, exists: BoolArray) -> None:
    """Require that the first rung is the safest and the last the closest, as far as every search must agree."""
    everyone = np.arange(case.n_rows)
    goal = case.goal(everyone)
    for row in everyone[exists.any(axis=1)]:
        rungs = points[row, exists[row]][[0, -1]]
        depth, _ = goal(rungs, np.full(2, row))
        contract.require(depth[0] >= depth[1] - 1e-6, f"the first rung of row {row} is not its safest.")
        far = case.features.distance(rungs, case.originals[row][None])
        contract.require(far[1] <= far[0] + _FARTHER, f"the last rung of row {row} is not its closest.")


def _check_hopeless(search: Search, case: Case, contract: Contract) -> None:
    ladders = _ladders(search, case.task(np.arange(2)), _Hopeless(), contract)
    contract.require(not ladders.exists.any(), "a goal that no point reaches was said to be reached.")


def _check_budget(frugal: Search, case: Case, most: int, contract: Contract) -> None:
    ladders = _ladders(frugal, case.task(np.arange(2)), _Hopeless(), contract)
    over = ladders.n_evaluations > most
    contract.require(
        not over.any(), f"a budget of {most} evaluations was overrun: {int(ladders.n_evaluations.max())} were made."
    )
    contract.require(ladders.spent.all(), "a budget ran out, and `spent` does not say so.")


def _runner(search: Search, case: Case, contract: Contract) -> Callable[[IntArray], Parts]:
    def run(rows: IntArray) -> Parts:
        task = case.task(rows)
        watch = _Watch(case.goal(rows), case.features, contract, len(rows))
        ladders = _ladders(search, task, watch, contract)
        least = np.array([len(watch.asked.get(i, ())) for i in range(len(rows))])
        contract.require(
            (ladders.n_evaluations >= least).all(),
            f"`n_evaluations` must count every point asked about: {ladders.n_evaluations.tolist()} are fewer than "
            f"{least.tolist()}.",
        )
        parts = {"points": ladders.points, "exists": ladders.exists, "levels": ladders.levels}
        parts["points"] = np.where(ladders.exists[..., None], ladders.points, 0.0)
        return {**parts, "n_evaluations": ladders.n_evaluations, "spent": ladders.spent}

    return run


def _ladders(search: Search, task: Task, goal: Goal, contract: Contract) -> Ladders:
    starts = task.starts.copy()
    lower, upper = task.box.lower.copy(), task.box.upper.copy()
    ladders = search.ladders(task, goal)
    contract.require(isinstance(ladders, Ladders), f"`ladders` must return Ladders; got {ladders!r}.")
    contract.require(
        len(ladders.points) == len(task), f"there must be one ladder per row ({len(task)}); got {len(ladders.points)}."
    )
    kept = same_bits(task.starts, starts) and same_bits(task.box.lower, lower) and same_bits(task.box.upper, upper)
    contract.require(kept, "the task was changed in place.")
    return ladders
