"""Which rules stand in the way of rows that have no answer."""

from collections.abc import Hashable, Sequence
from dataclasses import replace
from itertools import combinations

import numpy as np

from betarce.arrays import BoolArray, FloatArray
from betarce.explainers import Closest, Problem
from betarce.results.result import RobustCounterfactual
from betarce.robustify.batch import Batch

_STUCK = ("base-not-found", "not-found", "infeasible")
_ADVISED = 3  # rows without an answer for which the rules in the way are looked for
_MOST_COLUMNS = 8  # columns with rules that are lifted in pairs: 28 pairs


def blocking_columns(problem: Problem, original: FloatArray, target: BoolArray) -> list[Hashable] | None:
    """Name the fewest columns without whose rules the model's target class can be reached.

    Parameters
    ----------
    problem : Problem
    original : array of shape (d,)
    target : array of bool, shape (classes,)

    Returns
    -------
    list of column names, or None
        One column, or two if no single one will do; None where that does not help either, or there are no rules.
    """
    features = problem.features
    held = [name for name, rule in features.rules.items() if rule != rule.without_limits and name in features.names]
    singles: list[tuple[Hashable, ...]] = [(name,) for name in held]
    pairs: list[tuple[Hashable, ...]] = list(combinations(held[:_MOST_COLUMNS], 2))
    for sets in (singles, pairs):
        found = _reachable(problem, original, target, sets)
        if found.any():
            return list(sets[int(found.argmax())])
    return None


def advice(problem: Problem, original: FloatArray, target: BoolArray) -> str:
    """Say in a sentence which rules stand in the way; "" where no one or two of them do."""
    columns = blocking_columns(problem, original, target)
    if not columns:
        return ""
    names = " and ".join(repr(name) for name in columns)
    rules = " and ".join(str(problem.features.rules[name]) for name in columns)
    return f" What stands in the way is the rule on {names} ({rules}): without it there is a point of the target class."


def with_advice(items: Sequence[RobustCounterfactual], batch: Batch, problem: Problem) -> list[RobustCounterfactual]:
    """Tell the first rows without any candidate which rules stand in the way; the others likely have the same."""
    told = list(items)
    stuck = [i for i, item in enumerate(items) if item.status in _STUCK and item.certificate is None]
    for i in stuck[:_ADVISED]:
        why = advice(problem, batch.originals[i], batch.targets[i])
        told[i] = replace(items[i], reason=items[i].reason + why)
    return told


def _reachable(
    problem: Problem, original: FloatArray, target: BoolArray, sets: Sequence[tuple[Hashable, ...]]
) -> BoolArray:
    """Say for which sets of columns a plain counterfactual exists once their rules are lifted; stop at the first."""
    found: BoolArray = np.zeros(len(sets), dtype=bool)
    for i, names in enumerate(sets):
        rules = problem.features.rules
        lifted = {name: rules[name].without_limits for name in names}
        features = replace(problem.features, rules={**rules, **lifted})
        box = features.box(original[None])
        if box.possible[0]:
            asked = replace(problem, features=features)
            found[i] = Closest().explain(original[None], target[None], asked, box, [0]).found[0]
            if found[i]:
                break
    return found
