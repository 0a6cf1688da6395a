"""Turn tables of the user's own kind into points, or points into such tables."""

from collections.abc import Hashable
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import pandas as pd

from betarce.arrays import FloatArray
from betarce.errors import InvalidInput
from betarce.features.columns import Column, listing, one_hot_codes
from betarce.features.readings import Reading
from betarce.features.table_adapters import ArrayForm, Coded, Form, RawTable, check_table, form_of


@dataclass(frozen=True, eq=False)
class TableCodec:
    """How rows of a table pass to points.

    Attributes
    ----------
    columns : tuple of Column
        One for each column of a point.
    form : Form
        What tables are outside.
    """

    columns: tuple[Column, ...]
    form: Form

    @property
    def is_frame(self) -> bool:
        """Whether tables are DataFrames outside."""
        return not isinstance(self.form, ArrayForm)

    @cached_property
    def readings(self) -> tuple[Reading, ...]:
        """How each column of the table outside is read off a point."""
        found: dict[Hashable, Reading] = {}
        for source, column in enumerate(self.columns):
            for raw in column.raw:
                levels = column.levels
                if len(column.raw) > 1:
                    levels = tuple(int(level == raw) for level in column.levels or ())
                found[raw] = Reading(raw, source, levels)
        return tuple(found[name] for name in self.form.names)

    def reads_like(self, other: "TableCodec") -> bool:
        """Say whether points of both stand for the same tables: columns, levels and dtypes."""
        mine, theirs = (
            [(each.name, each.source, None if each.levels is None else tuple(each.levels)) for each in codec.readings]
            for codec in (self, other)
        )
        same_dtypes = [str(dtype) for dtype in getattr(self.form, "dtypes", ())] == [
            str(dtype) for dtype in getattr(other.form, "dtypes", ())
        ]
        return mine == theirs and same_dtypes and type(self.form) is type(other.form)

    def encode(self, X: object, *, what: str = "X") -> FloatArray:
        """Check a table of the user's and turn it into points, shape (rows, features)."""
        table = check_table(X, what=what)
        if isinstance(table, np.ndarray) and self.is_frame:
            self._check_width(table, what)
            table = pd.DataFrame(table, columns=pd.Index(self.form.names))
        form = form_of(table)
        positions = self._positions(form, what)
        if self._holds_numbers and isinstance(table, np.ndarray) and table.dtype == np.float64:
            points = table[:, [positions[column.raw[0]] for column in self.columns]]
            if np.isfinite(points).all():
                return points
        points = np.empty((len(table), len(self.columns)))
        for k, column in enumerate(self.columns):
            series = [form.series(table, positions[name]) for name in column.raw]
            if len(column.raw) == 1:
                points[:, k] = column.encode(series[0], what=what)
            else:
                assert column.levels is not None
                points[:, k] = one_hot_codes(series, column.raw, what=what, allow_none=None in column.levels)
        return points

    def check_columns(self, X: object, *, what: str = "X") -> None:
        """Refuse a table that has other columns than the training table, whatever its rows hold."""
        table = check_table(X, what=what)
        if isinstance(table, np.ndarray):
            self._check_width(table, what)
        else:
            self._positions(form_of(table), what)

    def _positions(self, form: Form, what: str) -> dict[Hashable, int]:
        """Find each column of the training table in another one: by name, or by place in an array."""
        mine = self.form.names
        if not self.is_frame and (isinstance(form, ArrayForm) or set(form.names) != set(mine)):
            self._check_width(form.names, what)
            return {name: j for j, name in enumerate(mine)}
        missing = [name for name in mine if name not in form.names]
        unknown = [name for name in form.names if name not in mine]
        if missing or unknown:
            parts = [f"lacks {listing(missing)}"] * bool(missing)
            parts += [f"has unknown {listing(unknown)}"] * bool(unknown)
            raise InvalidInput(
                f"`{what}` must have the columns of the training table; it {' and '.join(parts)}. "
                f"Expected: {listing(mine)}."
            )
        return {name: j for j, name in enumerate(form.names)}

    def _check_width(self, table: Any, what: str) -> None:
        width = table.shape[1] if isinstance(table, np.ndarray) else len(table)
        if width != len(self.form.names):
            raise InvalidInput(
                f"`{what}` must have the {len(self.form.names)} columns of the training table "
                f"({listing(self.form.names)}); got {width}."
            )

    def decode(self, points: FloatArray, index: "pd.Index[Any] | None" = None) -> RawTable:
        """Turn points into a table of the user's own kind; exact for projected points."""
        if self._is_plain_frame:
            return pd.DataFrame(points, columns=pd.Index(self.form.names), index=index)
        columns: list[FloatArray | Coded] = []
        for reading in self.readings:
            values = points[:, reading.source]
            if reading.levels is None:
                columns.append(values)
            else:
                codes = np.nan_to_num(values, nan=-1).astype(np.intp)
                columns.append(Coded(codes, reading.levels))
        return self.form.build(columns, index)

    def row(self, point: FloatArray, name: Hashable = None) -> Any:
        """Turn one point into a row of the user's own kind: a Series, a dict, or a flat array."""
        return self.form.row(self.decode(point[None]), 0, name)

    @cached_property
    def _holds_numbers(self) -> bool:
        return all(column.levels is None and len(column.raw) == 1 for column in self.columns)

    @cached_property
    def _is_plain_frame(self) -> bool:
        dtypes = getattr(self.form, "dtypes", ())
        plain = all(isinstance(dtype, np.dtype) and dtype == np.float64 for dtype in dtypes)
        return self.is_frame and bool(dtypes) and plain and all(column.levels is None for column in self.columns)
