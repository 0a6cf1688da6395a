"""Where the points of each row may lie."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np

from betarce.arrays import AnyArray, BoolArray, FloatArray, IntArray
from betarce.errors import InvalidInput
from betarce.features.columns import Column
from betarce.features.rules import Rule

_TINY = 1e-9  # of a step: what rounding may add to a bound


@dataclass(frozen=True, eq=False)
class Choices:
    """The values that a column may end in: `values` of shape (k,), `allowed` of shape (rows, k)."""

    values: FloatArray
    allowed: BoolArray


@dataclass(frozen=True, eq=False)
class Box:
    """What each row may become.

    Attributes
    ----------
    origin : array of shape (rows, features)
        Where each row is now; what does not change stays as it is, to the bit.
    lower, upper : array of shape (rows, features)
        Where it may go; both NaN where a missing value stays missing.
    free : array of bool, shape (rows, features)
        What can be moved at all.
    may_miss : array of bool, shape (rows, features)
        Where a missing value is allowed.
    choices : mapping of int to Choices
        Columns that may take only some of the values between their bounds.
    conflicts : tuple of str
        For each row, which rules cannot all hold; "" where there is no conflict.
    max_changes : int or None
        How many columns may differ from where the row is now.
    """

    origin: FloatArray
    lower: FloatArray
    upper: FloatArray
    free: BoolArray
    may_miss: BoolArray
    choices: Mapping[int, Choices]
    conflicts: tuple[str, ...] = ()
    max_changes: int | None = None

    @property
    def possible(self) -> BoolArray:
        """The rows whose rules can all hold and leave something to change."""
        return np.array([not conflict for conflict in self.conflicts], dtype=bool) & self.free.any(axis=1)

    def take(self, rows: IntArray) -> "Box":
        """Pick the boxes of some rows, in any order and number; conflicts are left behind."""
        return Box(
            self.origin[rows],
            self.lower[rows],
            self.upper[rows],
            self.free[rows],
            self.may_miss[rows],
            {j: Choices(choice.values, choice.allowed[rows]) for j, choice in self.choices.items()},
            max_changes=self.max_changes,
        )


@dataclass(frozen=True, eq=False)
class Limits:
    """What one column of some rows may become; see `Box`."""

    lower: FloatArray
    upper: FloatArray
    may_miss: BoolArray
    choices: Choices | None
    conflict: list[str]


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
    may_miss = np.full(len(origin), bool(rule.missing)) | missing
    low, high = _reach(column, rule, origin)
    lower, upper = _on_grid(low, origin, column, up=True), _on_grid(high, origin, column, up=False)
    if column.single and column.step is None:
        lower, upper = _in_float32(lower, up=True), _in_float32(upper, up=False)
    values, allowed = _allowed(column, rule, origin, lower, upper)
    if values is None:
        choices = None
        conflict = np.asarray(lower > upper)
    else:
        choices = Choices(values, allowed)
        some = allowed.any(axis=1)
        conflict = np.asarray(~some)
        lower = np.where(some, np.where(allowed, values, np.inf).min(axis=1), lower)
        upper = np.where(some, np.where(allowed, values, -np.inf).max(axis=1), upper)
    if rule.missing:
        filled_low, filled_high = _reach(column, Rule(low=rule.low, high=rule.high), np.full(len(origin), np.nan))
        lower, upper = np.where(missing, filled_low, lower), np.where(missing, filled_high, upper)
    else:
        lower, upper = np.where(missing, np.nan, lower), np.where(missing, np.nan, upper)
    conflicts = [
        f"{column.title}: {column.show(value)} now, but {rule}" if clash else ""
        for value, clash in zip(origin, conflict & ~missing, strict=True)
    ]
    return Limits(lower, upper, may_miss, choices, conflicts)


def nearest_choice(column: Column, points: FloatArray, origin: FloatArray, choices: Choices) -> FloatArray:
    """Move values to the nearest allowed ones; names without an order go back to where they were."""
    rows = np.arange(len(points))
    if column.is_nominal:
        codes = np.rint(np.nan_to_num(points, nan=-1)).astype(np.intp)
        here = np.rint(np.nan_to_num(origin, nan=-1)).astype(np.intp)
        first = choices.allowed.argmax(axis=1)
        back = np.where((here >= 0) & choices.allowed[rows, here], here, first)
        moved = np.where((codes >= 0) & choices.allowed[rows, codes], codes, back).astype(np.float64)
    else:
        gap = np.where(choices.allowed, np.abs(points[:, None] - choices.values), np.inf)
        moved = choices.values[gap.argmin(axis=1)]
    return np.where(choices.allowed.any(axis=1) & ~np.isnan(points), moved, points)


def is_choice(points: FloatArray, choices: Choices) -> BoolArray:
    """Say which values are allowed."""
    return np.asarray(((points[:, None] == choices.values) & choices.allowed).any(axis=1) | np.isnan(points))


def on_grid(values: FloatArray, step: float | FloatArray, decimals: int) -> FloatArray:
    """Round to multiples of a step, written with so many decimals.

    Examples
    --------
    >>> on_grid(np.array([0.31, 0.44]), 0.1, 1)
    array([0.3, 0.4])
    """
    # Adding zero turns -0.0 into 0.0, which is what people write.
    return np.asarray(np.round(np.rint(values / step) * step, decimals) + 0.0)


def without_noise(points: FloatArray, box: Box, noise: FloatArray) -> FloatArray:
    """Make values within rounding of the original, or of zero, just that, where the box allows it."""
    quiet = np.where(np.abs(points) <= noise, 0.0, points)
    quiet = np.where(np.abs(points - box.origin) <= noise, box.origin, quiet)
    return np.where((quiet < box.lower) | (quiet > box.upper), points, quiet)


def decimals_of(step: float) -> int:
    """Count the decimals that multiples of a step have.

    Examples
    --------
    >>> decimals_of(0.25), decimals_of(500.0), decimals_of(1e-06)
    (2, 0, 6)
    """
    text = np.format_float_positional(step, trim="-")
    return len(text.partition(".")[2])


def _reach(column: Column, rule: Rule, origin: FloatArray) -> tuple[FloatArray, FloatArray]:
    low = np.fmin(column.lower, origin) if rule.low is None else np.full(len(origin), rule.low)
    high = np.fmax(column.upper, origin) if rule.high is None else np.full(len(origin), rule.high)
    if rule.derived is not None:
        return (np.full(len(origin), -np.inf) if rule.low is None else low), (
            np.full(len(origin), np.inf) if rule.high is None else high
        )
    if rule.down is not None:
        low = np.fmax(low, origin - rule.down)
    if rule.up is not None:
        high = np.fmin(high, origin + rule.up)
    return low, high


def _on_grid(bounds: FloatArray, origin: FloatArray, column: Column, *, up: bool) -> FloatArray:
    """Move bounds to the grid, inwards; where a value is now is always on it."""
    if (step := column.step) is None:
        return bounds
    with np.errstate(invalid="ignore", over="ignore"):
        largest = np.fmax(np.abs(bounds), np.abs(origin)).astype(np.float32)
        slack = np.spacing(largest) / step if column.single else _TINY
        places = np.ceil(bounds / step - slack) if up else np.floor(bounds / step + slack)
        snapped = np.round(places * step, decimals_of(step)) + 0.0
        if column.single:  # as float32 has it: 0.7 is a little less there, and still on the grid
            snapped = snapped.astype(np.float32).astype(np.float64)
        inward = (
            np.where(bounds <= origin, np.minimum(snapped, origin), snapped)
            if up
            else np.where(bounds >= origin, np.maximum(snapped, origin), snapped)
        )
    return np.where(np.isinf(bounds) | (bounds == origin), bounds, inward)


def _in_float32(bounds: FloatArray, *, up: bool) -> FloatArray:
    """Move bounds to the next float32, inwards."""
    rounded = bounds.astype(np.float32)
    past = rounded < bounds if up else rounded > bounds
    return np.where(past, np.nextafter(rounded, np.float32(np.inf if up else -np.inf)), rounded).astype(np.float64)


def _allowed(
    column: Column, rule: Rule, origin: FloatArray, lower: FloatArray, upper: FloatArray
) -> tuple[FloatArray | None, BoolArray]:
    """Say which single values are allowed in each row; None where everything between the bounds is."""
    none = np.zeros((len(origin), 0), dtype=bool)
    if column.levels is None:
        if rule.values is None:
            return None, none
        values = np.array(sorted(float(value) for value in rule.values))
        mask = np.ones((len(origin), len(values)), dtype=bool)
    else:
        values = np.arange(len(column.levels), dtype=np.float64)
        seen = np.ones(len(values), dtype=bool) if column.seen is None else column.seen
        if rule.values is None and rule.moves is None and seen.all():
            return None, none
        mask = np.tile(seen if rule.values is None else True, (len(origin), 1)) & np.ones(len(values), dtype=bool)
        if rule.values is not None:
            mask &= np.array([level in rule.values for level in column.levels])
        if rule.moves is not None:
            mask &= _reachable(column, rule)[np.nan_to_num(origin, nan=0).astype(np.intp)]
        if rule.values is None:
            stays = values == origin[:, None]
            mask |= stays
    if column.is_nominal:
        # Codes of names have no order, so bounds say one thing only: whether the value may change.
        still = (lower == upper)[:, None]
        return values, mask & (~still | (values == origin[:, None]))
    return values, mask & (values >= lower[:, None]) & (values <= upper[:, None])


def _reachable(column: Column, rule: Rule) -> BoolArray:
    """Turn transitions into a table: from each level to each level."""
    assert column.levels is not None
    assert rule.moves is not None
    ends: dict[object, AnyArray] = {
        start: np.array([level in to for level in column.levels]) for start, to in rule.moves
    }
    nowhere = np.zeros(len(column.levels), dtype=bool)
    table = np.array([ends.get(level, nowhere) for level in column.levels])
    return np.asarray(table | np.eye(len(column.levels), dtype=bool))
