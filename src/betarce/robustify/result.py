"""What `explain` hands out: one robust counterfactual a row, and the table of them all."""

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any, Literal, overload

import numpy as np
import pandas as pd

from betarce.arrays import BoolArray
from betarce.posterior import Certificate

Status = Literal["certified", "base-not-found", "not-found", "infeasible", "budget-spent"]


@dataclass(frozen=True, eq=False)
class RobustCounterfactual:
    """The answer for one row, in the user's own units and types.

    Attributes
    ----------
    original : Series or array
        The instance that was explained.
    base : Series, array or None
        The base counterfactual; the original itself with `base=None`.
    robust : Series, array or None
        The certified counterfactual.
    target : label
        The class asked for.
    status : str
        "certified", "base-not-found", "not-found", "infeasible" or "budget-spent".
    reason : str
        Why there is no certified point, in a sentence; "" if there is one.
    certificate : Certificate or None
        The vote on the point found, also where it fell short.
    distance_to_base, distance_to_original : float
        L1, every feature in units of its training range; NaN without a certified point.
    n_evaluations : int
        Points that were evaluated for this row.
    runtime_s : float
        This row's share of the batch's time.
    """

    original: Any
    base: Any
    robust: Any
    target: Any
    status: Status
    reason: str
    certificate: Certificate | None
    distance_to_base: float
    distance_to_original: float
    n_evaluations: int
    runtime_s: float = np.nan

    def __repr__(self) -> str:
        return f"RobustCounterfactual({self.status}: {self.reason or self.certificate})"

    def changes(self) -> pd.DataFrame:
        """Show what to change: one line a feature that differs, in original units.

        Returns
        -------
        DataFrame
            Columns "original", "base" and "robust"; empty without a certified point.
        """
        points = {"original": self.original, "base": self.base, "robust": self.robust}
        table = pd.DataFrame({name: _as_series(point) for name, point in points.items() if point is not None})
        if self.robust is None:
            return table.iloc[:0]
        return table[table["robust"] != table["original"]]


class Result(Sequence[RobustCounterfactual]):
    """Robust counterfactuals, one a row, in the order of the rows.

    Parameters
    ----------
    items : sequence of RobustCounterfactual
    row_names : Index
        The names of the rows.
    runtime_s : float, optional
        The time of the whole batch, to be shared among the rows.
    """

    def __init__(
        self, items: Sequence[RobustCounterfactual], row_names: "pd.Index[Any]", *, runtime_s: float | None = None
    ) -> None:
        share = None if runtime_s is None else runtime_s / len(items)
        self._items = list(items) if share is None else [replace(item, runtime_s=share) for item in items]
        self.row_names = row_names

    @overload
    def __getitem__(self, i: int) -> RobustCounterfactual: ...

    @overload
    def __getitem__(self, i: slice) -> "Result": ...

    def __getitem__(self, i: int | slice) -> "RobustCounterfactual | Result":
        return Result(self._items[i], self.row_names[i]) if isinstance(i, slice) else self._items[i]

    def __len__(self) -> int:
        return len(self._items)

    def __iter__(self) -> Iterator[RobustCounterfactual]:
        return iter(self._items)

    def __repr__(self) -> str:
        counts = Counter(item.status for item in self)
        return f"Result({len(self)} rows: {', '.join(f'{n} {status}' for status, n in counts.most_common())})"

    def _repr_html_(self) -> str:
        return f"<p>{self!r}</p>{self.to_frame()._repr_html_()}"  # type: ignore[operator]

    @property
    def certified(self) -> BoolArray:
        """Which rows have a certified point."""
        return np.array([item.status == "certified" for item in self])

    def to_frame(self) -> pd.DataFrame:
        """Put everything in one table: original, base and robust side by side, then the outcome.

        Returns
        -------
        DataFrame
            One line a row, columns in two levels: "original", "base", "robust" by feature, and "result".
        """
        blocks = {name: self.points(name) for name in ("original", "base", "robust")}
        blocks["result"] = pd.DataFrame([_outcome(item) for item in self], index=self.row_names)
        return pd.concat(blocks, axis=1)

    def points(self, which: str) -> pd.DataFrame:
        """Give the originals, bases or robust points as a table; missing ones are rows of NaN."""
        rows = [getattr(item, which) for item in self]
        names = _as_series(self._items[0].original).index
        blank = pd.Series(np.nan, index=names)
        table = pd.DataFrame([blank if row is None else _as_series(row) for row in rows])
        table.index = self.row_names
        return table.infer_objects()


def _as_series(row: Any) -> "pd.Series[Any]":
    if isinstance(row, pd.Series):
        return row
    return pd.Series(row, index=[f"x{j}" for j in range(len(row))])


def _outcome(item: RobustCounterfactual) -> dict[str, Any]:
    vote = item.certificate
    return {
        "target": item.target,
        "status": item.status,
        "lower_bound": np.nan if vote is None else vote.lower_bound,
        "n_agree": pd.NA if vote is None else vote.n_agree,
        "n_models": pd.NA if vote is None else vote.n_models,
        "distance_to_base": item.distance_to_base,
        "distance_to_original": item.distance_to_original,
        "n_evaluations": item.n_evaluations,
        "reason": item.reason,
    }
