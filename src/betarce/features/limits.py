"""The limits of single columns: rules applied to the values that rows have now."""

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from betarce.arrays import BoolArray, FloatArray, IntArray
from betarce.errors import InvalidInput
from betarce.features.box import Choices
from betarce.features.columns import Column
from betarce.features.grid import inward
from betarce.features.rules.derived import Derived
from betarce.features.rules.protocol import Rule
from betarce.features.rules.reach import Ends, Moves


@dataclass(frozen=True, eq=False)
class Limits:
    """What one column of some rows may become; see `Box`."""

    lower: FloatArray
    upper: FloatArray
    may_miss: BoolArray
    choices: Choices | None
    conflict: list[str]


def is_unlimited(column: Column, rule: Rule | None) -> bool:
    """Say whether the training range is all that limits a column, and any number in it will do."""
    return not (rule and rule.parts) and column.levels is None and column.step is None and not column.single


def training_range(columns: Sequence[Column], origin: FloatArray) -> tuple[FloatArray, FloatArray, BoolArray]:
    """Give what `limits` gives for columns that are unlimited, all of them at once: lower, upper and may_miss.

    Each has the shape (rows, columns) of `origin`.
    """
    missing = np.isnan(origin)
    lower = np.fmin(np.array([column.lower for column in columns]), origin)
    upper = np.fmax(np.array([column.upper for column in columns]), origin)
    lower[missing] = upper[missing] = np.nan
    return lower, upper, missing


def joined_limits(column: Column, rules: Sequence[tuple[Rule, IntArray]], origin: FloatArray) -> Limits:
    """Apply the rules of one column in turn, each to some rows; a later one takes the place of those before."""
    whole = Limits(origin.copy(), origin.copy(), np.zeros(len(origin), dtype=bool), None, [""] * len(origin))
    choices: Choices | None = None
    for rule, rows in rules:
        part = limits(column, rule, origin[rows])
        whole.lower[rows], whole.upper[rows], whole.may_miss[rows] = part.lower, part.upper, part.may_miss
        for row, text in zip(rows, part.conflict, strict=True):
            whole.conflict[row] = text
        if part.choices is not None or choices is not None:
            choices = _joined_choices(choices, part.choices, rows, len(origin), column)
    return replace(whole, choices=choices)


def _joined_choices(old: Choices | None, new: Choices | None, rows: IntArray, n: int, column: Column) -> Choices:
    """Bring the choices of some rows together with those of the others."""
    if column.levels is not None:
        everything = Choices(np.arange(len(column.levels), dtype=float), np.ones((n, len(column.levels)), dtype=bool))
        old = old or everything
        new = new or Choices(everything.values, everything.allowed[rows])
    elif new is None or (old is None and len(rows) < n):
        raise InvalidInput(
            f"`overrides` must list the values of column {column.name!r} for every row or for none: where some "
            "rows may take certain numbers only, use betarce.one_of for all of them."
        )
    values = new.values if old is None else np.union1d(old.values, new.values)
    allowed = np.zeros((n, len(values)), dtype=bool)
    if old is not None:
        allowed[:, np.searchsorted(values, old.values)] = old.allowed
    allowed[rows] = False
    allowed[np.ix_(rows, np.searchsorted(values, new.values))] = new.allowed
    return Choices(values, allowed)


def limits(column: Column, rule: Rule, origin: FloatArray) -> Limits:
    """Apply the rule of one column to the values that rows have in it now.

    The range of the training data only restricts moves: a value that is out of it already may stay. A range or a set of
    values that the user stated must hold.
    """
    missing = np.isnan(origin)
    ends, moves = rule.ends(column), rule.moves(column, origin)
    low, high = _bounds(column, rule, ends, moves, origin)
    lower, upper = inward(low, origin, column, up=True), inward(high, origin, column, up=False)
    choices = _choices(column, ends, moves, origin, lower, upper)
    if choices is None:
        conflict = np.asarray(lower > upper)
    else:
        values, allowed = choices.values, choices.allowed
        some = allowed.any(axis=1)
        conflict = np.asarray(~some)
        lower = np.where(some, np.where(allowed, values, np.inf).min(axis=1, initial=np.inf), lower)
        upper = np.where(some, np.where(allowed, values, -np.inf).max(axis=1, initial=-np.inf), upper)
    filled: tuple[FloatArray | float, FloatArray | float] = (np.nan, np.nan)
    if rule.lets_miss:
        filled = _range(column, ends, np.full(len(origin), np.nan))
    lower, upper = np.where(missing, filled[0], lower), np.where(missing, filled[1], upper)
    conflicts = [
        f"{column.title}: {column.show(value)} now, but {rule}" if clash else ""
        for value, clash in zip(origin, conflict & ~missing, strict=True)
    ]
    return Limits(lower, upper, missing | rule.lets_miss, choices, conflicts)


def _bounds(column: Column, rule: Rule, ends: Ends, moves: Moves, origin: FloatArray) -> tuple[FloatArray, FloatArray]:
    low, high = _range(column, ends, origin)
    if rule.part(Derived) is not None:  # computed, not chosen: only what is stated about its end holds
        low = np.full(len(origin), -np.inf) if ends.low is None else low
        high = np.full(len(origin), np.inf) if ends.high is None else high
        return low, high
    if moves.lower is not None:
        low = np.fmax(low, moves.lower)
    if moves.upper is not None:
        high = np.fmin(high, moves.upper)
    return low, high


def _range(column: Column, ends: Ends, origin: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Give the range that is stated, or that of the training data, widened to where values are now."""
    low = np.fmin(column.lower, origin) if ends.low is None else np.full(len(origin), ends.low)
    high = np.fmax(column.upper, origin) if ends.high is None else np.full(len(origin), ends.high)
    return low, high


def _choices(
    column: Column, ends: Ends, moves: Moves, origin: FloatArray, lower: FloatArray, upper: FloatArray
) -> Choices | None:
    """Say which single values are allowed in each row; None where everything between the bounds is."""
    if column.levels is None:
        if ends.values is None:
            return None
        values = ends.values
        mask = np.ones((len(origin), len(values)), dtype=bool)
    else:
        values = np.arange(len(column.levels), dtype=np.float64)
        seen = np.ones(len(values), dtype=bool) if column.seen is None else column.seen
        if ends.values is None and moves.allowed is None and seen.all():
            return None
        mask = np.tile(seen if ends.values is None else np.isin(values, ends.values), (len(origin), 1))
        if moves.allowed is not None:
            mask &= moves.allowed
        if ends.values is None:
            mask |= values == origin[:, None]
    if column.is_nominal:
        # Codes of names have no order, so bounds say one thing only: whether the value may change.
        still = (lower == upper)[:, None]
        return Choices(values, mask & (~still | (values == origin[:, None])))
    return Choices(values, mask & (values >= lower[:, None]) & (values <= upper[:, None]))
