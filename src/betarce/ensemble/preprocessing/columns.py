"""What stands before the estimator that decides: every column it sees, as a function of one column of a point."""

import warnings
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from betarce.arrays import FloatArray
from betarce.ensemble.foreign import catboost, lightgbm, xgboost
from betarce.ensemble.foreign.sklearn_transformers import trace
from betarce.ensemble.foreign.sklearn_trees import encoded_first, encoder_of
from betarce.ensemble.preprocessing.column_sources import Trace, Traced
from betarce.ensemble.preprocessing.probe_points import Witness
from betarce.ensemble.preprocessing.scaling import Ops, apply
from betarce.ensemble.unreadable import Unreadable

# What transformers raise for a level or a missing value that they were not made for.
_REFUSALS = (TypeError, ValueError, KeyError, AttributeError)


@dataclass(frozen=True, eq=False)
class Output:
    """One column that the estimator sees.

    Attributes
    ----------
    source : int
        The column of the point that it comes from.
    table : array of float or None
        For a coded source, the value of each code, and last that of a missing one.
    ops : tuple of Op
        For a source of numbers, the arithmetic.
    missing : float
        For a source of numbers, what becomes of a missing one: NaN if it stays missing.
    """

    source: int
    table: FloatArray | None = None
    ops: Ops = ()
    missing: float = np.nan

    def values(self, x: FloatArray) -> FloatArray:
        """Compute the column from its source."""
        gone = np.isnan(x)
        if self.table is not None:
            return self.table[np.where(gone, len(self.table) - 1, x).astype(np.intp)]
        return np.where(gone, self.missing, apply(self.ops, x))


@dataclass(frozen=True, eq=False)
class Front:
    """All columns that the estimator sees.

    Attributes
    ----------
    outputs : tuple of Output
    refused : frozenset of int
        Columns of the point in which a missing value may raise an error: only the model can say.
    sparse : bool
        Whether the estimator is given a sparse matrix.
    precision : str
        Of the arithmetic.
    """

    outputs: tuple[Output, ...]
    refused: frozenset[int] = frozenset()
    sparse: bool = False
    precision: str = "float64"

    def transform(self, points: FloatArray) -> FloatArray:
        """Compute what the estimator sees, shape (n, outputs)."""
        if not self.outputs:
            return np.empty((len(points), 0))
        return np.stack([output.values(points[:, output.source]) for output in self.outputs], axis=1)

    @classmethod
    def plain(cls, width: int) -> "Front":
        """Let the estimator see the point as it is."""
        return cls(tuple(Output(j) for j in range(width)))


def read_front(steps: Sequence[Any], core: Any, witness: Witness) -> Front:
    """Read fitted transformers, and hold what was read against their own output on a few points.

    Parameters
    ----------
    steps : sequence of fitted transformers
    core : estimator
        What decides; some libraries encode categories themselves.
    witness : Witness

    Raises
    ------
    Unreadable
        If a transformer is unknown, mixes columns or refuses a level.
    """
    seen, holed = _seen(steps, core, witness)
    # Some transformers keep to the precision of their input, others do not: what they did tells.
    for precision in dict.fromkeys(["float64", witness.precision]):
        traced = _trace(steps, core, witness, precision)
        front = _front(traced, seen, witness) if len(traced.columns) == seen.shape[1] else None
        if front is not None:
            return _with_missing(front, steps, core, witness, holed)
    raise Unreadable("what the transformers do is not what was read")


def _seen(steps: Sequence[Any], core: Any, witness: Witness) -> tuple[FloatArray, FloatArray | None]:
    """Run the transformers on the points of a witness; on missing values too if they go along."""
    n = len(witness.points)
    if witness.everything is not None:
        try:
            seen = _run(steps, core, witness.everything, witness)
        except _REFUSALS:
            pass
        else:
            return seen[:n], seen[n:]
    try:
        return _run(steps, core, witness.table, witness), None
    except _REFUSALS as refusal:
        raise Unreadable(f"what stands before it refuses a level ({type(refusal).__name__}: {refusal})") from refusal


def _trace(steps: Sequence[Any], core: Any, witness: Witness, precision: str) -> Traced:
    columns = tuple(Trace(reading.source, reading.levels is not None) for reading in witness.readings)
    traced = Traced(columns, tuple(reading.name for reading in witness.readings), precision=precision)
    for step in steps:
        traced = trace(step, traced)
    if encoder_of(core) is not None:
        # HistGradientBoosting's own, of known make: encoded categories first, then numbers as they are.
        encoded = encoded_first(core)
        order = np.argsort(~encoded, kind="stable")
        if not all(traced.columns[j].coded for j in order[: int(encoded.sum())]):
            raise Unreadable("categories in a column of numbers")
        traced = traced.made([traced.columns[j] for j in order])
    return traced


def _run(steps: Sequence[Any], core: Any, table: Any, witness: Witness) -> FloatArray:
    """Send a table through the transformers, and give what the estimator makes of the result, as numbers."""
    with warnings.catch_warnings():
        # The members' own answers have said it already.
        warnings.simplefilter("ignore")
        for step in steps:
            if step is not None and not isinstance(step, str):
                table = step.transform(table)
        if (encoder := encoder_of(core)) is not None:
            table = encoder.transform(table)
        return _numbers(core, table, witness)


def _numbers(core: Any, table: Any, witness: Witness) -> FloatArray:
    if hasattr(table, "toarray"):
        return np.asarray(table.toarray(), dtype=np.float64)
    table = _recoded(core, table, witness)
    if hasattr(table, "to_numpy"):
        kwargs = {"dtype": np.float64, "na_value": np.nan} if hasattr(table, "iloc") else {}
        table = table.to_numpy(**kwargs)
    return np.asarray(table, dtype=np.float64)


def _recoded(core: Any, table: Any, witness: Witness) -> Any:
    """Number categories as the estimator does that takes them as they are."""
    library = type(core).__module__.partition(".")[0]
    if library == "catboost":
        return catboost.recoded(core, table, witness)
    categories = np.flatnonzero([str(dtype) == "category" for dtype in getattr(table, "dtypes", [])])
    if len(categories) and library in ("lightgbm", "xgboost"):
        recode = lightgbm.recoded if library == "lightgbm" else xgboost.recoded
        return recode(core, table, categories)
    return table


def _front(traced: Traced, seen: FloatArray, witness: Witness) -> Front | None:
    """Fill in the values of codes; None if what was read does not give what was seen."""
    outputs = []
    for j, column in enumerate(traced.columns):
        table = None
        if column.coded:
            k = witness.n_levels[column.source]
            table = np.append(seen[:k, j], np.nan)
        outputs.append(Output(column.source, table, column.ops))
    used = {column.source for column in traced.columns}
    front = Front(tuple(outputs), frozenset(used), traced.sparse, traced.precision)
    return front if np.array_equal(front.transform(witness.points), seen, equal_nan=True) else None


def _with_missing(front: Front, steps: Sequence[Any], core: Any, witness: Witness, holed: FloatArray | None) -> Front:
    """Find out what becomes of missing values; where transformers refuse them, so does the front."""
    for place, (gone, points, table) in enumerate(witness.missing_tables):
        if not front.refused & set(np.flatnonzero(gone).tolist()):
            continue
        try:
            seen = holed if holed is not None and place == 0 else _run(steps, core, table, witness)
        except _REFUSALS:
            continue
        outputs = tuple(
            _missing_as(output, seen[0, j]) if gone[output.source] and output.source in front.refused else output
            for j, output in enumerate(front.outputs)
        )
        known = Front(outputs, front.refused - set(np.flatnonzero(gone).tolist()), front.sparse, front.precision)
        if np.array_equal(known.transform(points), seen, equal_nan=True):
            front = known
    return front


def _missing_as(output: Output, value: float) -> Output:
    table = None if output.table is None else np.append(output.table[:-1], value)
    return Output(output.source, table, output.ops, float(value))
