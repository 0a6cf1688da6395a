"""Which rules stand in the way of rows that have no answer."""

from collections.abc import Hashable, Sequence
from itertools import combinations

import numpy as np

from betarce.arrays import BoolArray, FloatArray
from betarce.explainers import Closest, Problem
from betarce.features import Rule

_MOST_COLUMNS = 12  # columns with rules that are lifted in pairs: 66 pairs


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
    held = [
        name for name, rule in problem.features.rules.items() if _restricts(rule) and name in problem.features.names
    ]
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


def _reachable(
    problem: Problem, original: FloatArray, target: BoolArray, sets: Sequence[tuple[Hashable, ...]]
) -> BoolArray:
    """Say for which sets of columns a plain counterfactual exists once their rules are lifted."""
    if not sets:
        return np.zeros(0, dtype=bool)
    originals = np.repeat(original[None], len(sets), axis=0)
    box = problem.features.box(originals, [{name: Rule() for name in names} for names in sets])
    found: BoolArray = np.zeros(len(sets), dtype=bool)
    rows = np.flatnonzero(box.possible)
    if rows.size:
        targets = np.repeat(target[None], len(rows), axis=0)
        found[rows] = Closest().explain(originals[rows], targets, problem, box.take(rows), [0] * len(rows)).found
    return found


def _restricts(rule: Rule) -> bool:
    """Say whether a rule limits where a value may go, by itself."""
    parts = (rule.down, rule.up, rule.low, rule.high, rule.values, rule.moves)
    return any(part is not None for part in parts)
