"""Which rules stand in the way of rows that have no answer."""

from collections.abc import Hashable, Sequence
from dataclasses import dataclass, replace
from itertools import combinations

import numpy as np

from betarce.arrays import BoolArray, FloatArray, IntArray
from betarce.explainers import Closest, Problem
from betarce.features import Rules
from betarce.results.counterfactual import RobustCounterfactual
from betarce.robustify.batch import Batch
from betarce.robustify.rows import own_rules
from betarce.search import FrontierSearch

_STUCK = ("base-not-found", "not-found", "infeasible")
# Whether there is a point is all that is asked: no rung need come closer.
_LOOK = Closest(FrontierSearch(refinements=0, max_evaluations=2_000))
# Work per row is bounded, and depends on the row alone: its answer must not change with its company.
_MOST_SINGLES = 40
_MOST_PAIRED = 8  # columns with rules that are lifted in pairs: 28 pairs

Columns = tuple[Hashable, ...]


def blocking_columns(
    problem: Problem, originals: FloatArray, targets: BoolArray, overrides: Sequence[Rules | None] | None = None
) -> list[Columns]:
    """Name for each row the fewest columns without whose rules the model's target class can be reached.

    Parameters
    ----------
    problem : Problem
    originals : array of shape (n, d)
    targets : array of bool, shape (n, classes)
    overrides : sequence of rules or None, one per row, optional
        Rules of single rows.

    Returns
    -------
    list of tuple of column names
        One column, or two if no single one will do; none where the class can be reached under all rules, or where
        lifting two does not help either.
    """
    lifting = _Lifting(problem, originals, targets, own_rules(overrides, len(originals)))
    blocked: list[Columns] = [()] * len(originals)
    held = [lifting.held(row) for row in range(len(originals))]
    everyone = np.array([row for row, names in enumerate(held) if names], dtype=np.intp)
    stuck = everyone[~lifting.reachable(everyone, [()] * len(everyone))]
    # Most rows that nothing helps are known after one more look.
    open_ = stuck[lifting.reachable(stuck, [held[row] for row in stuck])]
    for size, most in ((1, _MOST_SINGLES), (2, _MOST_PAIRED)):
        for names in _in_order(problem, [held[row][:most] for row in open_], size):
            asked = np.array([row for row in open_ if set(names) <= set(held[row][:most])], dtype=np.intp)
            found = asked[lifting.reachable(asked, [names] * len(asked))]
            for row in found:
                blocked[row] = names
            open_ = np.setdiff1d(open_, found)
    return blocked


def with_advice(
    items: Sequence[RobustCounterfactual],
    batch: Batch,
    problem: Problem,
    overrides: Sequence[Rules | None] | None,
) -> list[RobustCounterfactual]:
    """Tell rows without any candidate which rules stand in the way."""
    stuck = [i for i, item in enumerate(items) if item.status in _STUCK and item.certificate is None]
    told, own = list(items), None if overrides is None else [overrides[i] for i in stuck]
    blocked = blocking_columns(problem, batch.originals[stuck], batch.targets[stuck], own)
    rules = own_rules(own, len(stuck))
    for i, columns, mine in zip(stuck, blocked, rules, strict=True):
        told[i] = replace(items[i], reason=items[i].reason + _advice(columns, problem.features.rules, mine))
    return told


def _advice(columns: Columns, rules: Rules, own: Rules) -> str:
    """Say in a sentence which rules stand in the way; "" where no one or two of them do."""
    if not columns:
        return ""
    names = " and ".join(repr(name) for name in columns)
    words = " and ".join(", ".join(str(part[name]) for part in (rules, own) if name in part) for name in columns)
    what, it = ("is the rule", "it") if len(columns) == 1 else ("are the rules", "them")
    return f" What stands in the way {what} on {names} ({words}): without {it} there is a point of the target class."


def _in_order(problem: Problem, held: Sequence[Columns], size: int) -> list[Columns]:
    """Give all sets of columns that some row holds, in the order of the columns."""
    place = {name: j for j, name in enumerate(problem.features.names)}
    sets = {names for columns in held for names in combinations(columns, size)}
    return sorted(sets, key=lambda names: [place[name] for name in names])


@dataclass(frozen=True, eq=False)
class _Lifting:
    """Rows, and where they could go if some of their rules were lifted."""

    problem: Problem
    originals: FloatArray
    targets: BoolArray
    own: Sequence[Rules]

    def held(self, row: int) -> Columns:
        """Name the columns with rules that limit how a row may move."""
        rules = self.problem.features.rules, self.own[row]
        return tuple(
            name
            for name in self.problem.features.names
            if any(name in part and part[name] != part[name].without_limits for part in rules)
        )

    def reachable(self, rows: IntArray, lifted: Sequence[Columns]) -> BoolArray:
        """Say which rows have a plain counterfactual once the rules of some columns, for each its own, are lifted."""
        found: BoolArray = np.zeros(len(rows), dtype=bool)
        for names in dict.fromkeys(lifted):
            same = np.array([i for i, columns in enumerate(lifted) if columns == names])
            found[same] = self._reachable(rows[same], names)
        return found

    def _reachable(self, rows: IntArray, names: Columns) -> BoolArray:
        rules = self.problem.features.rules
        lifted = {name: rules[name].without_limits for name in names if name in rules}
        features = replace(self.problem.features, rules={**rules, **lifted})
        own = [{name: rule for name, rule in self.own[row].items() if name not in names} for row in rows]
        box = features.box(self.originals[rows], own)
        open_ = np.flatnonzero(box.possible)
        found: BoolArray = np.zeros(len(rows), dtype=bool)
        if open_.size:
            asked, some = replace(self.problem, features=features), rows[open_]
            seeds = [0] * len(some)  # nothing is drawn at random
            found[open_] = _LOOK.explain(self.originals[some], self.targets[some], asked, box.take(open_), seeds).found
        return found
