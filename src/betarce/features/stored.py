"""Serialise a feature space as plain data that JSON can hold.

What is stored: every column, every rule, and what tables are outside (libraries and dtypes), so that a loaded space
decodes to the same dtypes. Functions of derived columns cannot be stored, only formulas; a loaded space without its
function works until the function is needed, and then says so.
"""

import json
from collections.abc import Hashable, Iterator, Mapping
from contextlib import contextmanager
from typing import Any, get_args

import numpy as np
import pandas as pd

from betarce.errors import CorruptFile, InvalidInput, MissingExtra, require
from betarce.features.columns import Column, Kind
from betarce.features.plausible import check_plausible
from betarce.features.rules.protocol import Rule
from betarce.features.rules.registry import RULES, in_order
from betarce.features.space import FeatureSpace
from betarce.features.table_adapters import ArrayForm, Form, NarwhalsForm, PandasForm, is_text
from betarce.storage.values import plain, plain_float, unplain, unplain_float

FORMAT = 1
_NUMPY_KINDS = "biufOUSM"
_BLANKS: Mapping[str, Any] = {"nan": np.nan, "None": None, "NA": pd.NA, "NaT": pd.NaT}
_NARWHALS_TYPES = (
    *("Int8", "Int16", "Int32", "Int64", "Int128", "UInt8", "UInt16", "UInt32", "UInt64", "UInt128"),
    *("Float32", "Float64", "Decimal", "Boolean", "String", "Categorical"),
)


def to_plain(space: FeatureSpace) -> dict[str, Any]:
    """Write a feature space as plain data.

    Examples
    --------
    >>> space = FeatureSpace.infer(pd.DataFrame({"age": [20, 60], "housing": ["rent", "own"]}))
    >>> from_plain(to_plain(space)).describe()
                    kind     range rule
    age          integer  20 to 60
    housing  categorical  own, rent
    """
    return {
        "betarce_features": FORMAT,
        "columns": [_plain_column(column) for column in space.columns],
        "rules": plain_rules(space.rules),
        "form": _plain_form(space.form),
        **({} if space.max_changes is None else {"max_changes": int(space.max_changes)}),
    }


def from_plain(data: Any) -> FeatureSpace:
    """Read a feature space from plain data.

    Raises
    ------
    CorruptFile
        If the data is not what `to_plain` makes, or of a newer format.
    """
    with faults_are_corrupt("feature space"):
        if not isinstance(data, Mapping) or "betarce_features" not in data:
            raise CorruptFile("it holds no feature space of betarce")
        check_format(data["betarce_features"], FORMAT, "feature space")
        columns = tuple(_column(part) for part in data["columns"])
        rules = rules_of_plain(data["rules"])
        space = FeatureSpace(columns, rules, _form(data["form"]), data.get("max_changes"))
        check_plausible(space)
        if not same_data(to_plain(space), data):
            raise CorruptFile("its feature space says something that no feature space means")
        return space


def same_data(one: Any, other: Any) -> bool:
    """Compare plain data, types included: 1, 1.0 and true are three things."""
    return json.dumps(one, sort_keys=True) == json.dumps(other, sort_keys=True)


@contextmanager
def faults_are_corrupt(what: str) -> Iterator[None]:
    """Turn whatever goes wrong with data of the wrong shape into a CorruptFile."""
    try:
        yield
    except (KeyError, IndexError, TypeError, ValueError, AttributeError, OverflowError, RecursionError) as error:
        raise CorruptFile(f"its {what} cannot be read: {type(error).__name__}: {error}") from error


def check_format(stated: Any, known: int, what: str) -> None:
    """Refuse formats of other versions."""
    if isinstance(stated, int) and not isinstance(stated, bool) and stated > known:
        raise CorruptFile(
            f"its {what} has format {stated}, but this version of betarce reads format {known}. Upgrade betarce"
        )
    if type(stated) is int and 0 < stated < known:
        raise CorruptFile(
            f"its {what} has format {stated}, of an older version of betarce; this version reads format {known}. Make "
            "it again, or read it with the version that wrote it"
        )
    if stated != known or isinstance(stated, bool):
        raise CorruptFile(f"its {what} has the unknown format {stated!r}")


# Columns and rules


def _plain_name(name: Hashable) -> Any:
    return plain(name, what="the name of a column")


def _plain_values(values: Any) -> Any:
    return None if values is None else [plain(value, what="a value of a column") for value in values]


def _values(data: Any) -> tuple[Any, ...] | None:
    return None if data is None else tuple(unplain(value) for value in data)


def _plain_column(column: Column) -> dict[str, Any]:
    return {
        "name": _plain_name(column.name),
        "raw": [_plain_name(name) for name in column.raw],
        "kind": column.kind,
        "lower": plain_float(column.lower),
        "upper": plain_float(column.upper),
        "scale": plain_float(column.scale),
        "step": plain_float(column.step),
        "levels": _plain_values(column.levels),
        "seen": None if column.seen is None else [bool(seen) for seen in column.seen],
        "missing": bool(column.missing),
        "single": bool(column.single),
        "common": [plain_float(value) for value in column.common],
    }


def _column(data: Mapping[str, Any]) -> Column:
    levels, seen = _values(data["levels"]), data["seen"]
    if data["kind"] not in get_args(Kind):
        raise ValueError(f"no column is {data['kind']!r}")
    if seen is not None and (levels is None or len(seen) != len(levels)):
        raise ValueError("levels and those seen differ in number")
    return Column(
        name=unplain(data["name"]),
        raw=tuple(unplain(name) for name in data["raw"]),
        kind=data["kind"],
        lower=unplain_float(data["lower"]),
        upper=unplain_float(data["upper"]),
        scale=unplain_float(data["scale"]),
        step=None if data["step"] is None else unplain_float(data["step"]),
        levels=levels,
        seen=None if seen is None else np.array([_truth(each) for each in seen], dtype=bool),
        missing=_truth(data["missing"]),
        single=_truth(data["single"]),
        common=tuple(unplain_float(value) for value in data["common"]),
    )


def _truth(value: Any) -> bool:
    if not isinstance(value, bool):
        raise ValueError(f"{value!r} is not a truth value")
    return value


def plain_rules(rules: Mapping[Any, Rule]) -> list[Any]:
    """Write rules as plain data: pairs of column and rule, since a column may be called by any value."""
    return [[_plain_name(name), _plain_rule(rule)] for name, rule in rules.items()]


def rules_of_plain(data: Any) -> dict[Hashable, Rule]:
    """Read rules from plain data."""
    rules = {unplain(name): _rule(part) for name, part in data}
    if len(rules) < len(data):
        raise ValueError("a column has rules twice")
    return rules


def _plain_rule(rule: Rule) -> dict[str, Any]:
    return {key: value for part in rule.parts for key, value in part.to_json().items()}


def _rule(data: Mapping[str, Any]) -> Rule:
    owners = {key: entry.part for entry in RULES.values() for key in entry.stored}
    for key in data:
        if key not in owners:
            raise ValueError(f"there is no rule {key!r}; if it is one of another package, import that first")
    parts = []
    for entry in in_order():
        if said := {key: data[key] for key in entry.stored if key in data}:
            parts.append(entry.part.from_json(said))
    return Rule.of(*parts)


# What tables are outside


def _plain_form(form: Form) -> dict[str, Any]:
    names = [_plain_name(name) for name in form.names]
    if isinstance(form, PandasForm):
        dtypes = [plain_dtype(dtype) for dtype in form.dtypes]
        return {"kind": "pandas", "names": names, "dtypes": dtypes, "blanks": [_plain_blank(v) for v in form.blanks]}
    if isinstance(form, ArrayForm):
        dtypes = [plain_dtype(dtype) for dtype in form.dtypes]
        return {"kind": "array", "names": names, "dtype": plain_dtype(form.dtype), "dtypes": dtypes}
    if isinstance(form, NarwhalsForm):
        dtypes = [_plain_narwhals(form.schema[name]) for name in form.names]
        return {"kind": "narwhals", "names": names, "dtypes": dtypes, "library": str(form.backend.value)}
    raise InvalidInput(f"Tables of the kind {type(form).__name__} cannot be saved.")


def _form(data: Mapping[str, Any]) -> Form:
    names = tuple(unplain(name) for name in data["names"])
    if len(data["dtypes"]) != len(names):
        raise ValueError("columns and dtypes differ in number")
    match data["kind"]:
        case "pandas":
            blanks = tuple(_BLANKS[blank] for blank in data["blanks"])
            return PandasForm(names, tuple(dtype_of_plain(dtype) for dtype in data["dtypes"]), blanks)
        case "array":
            return ArrayForm(
                names, dtype_of_plain(data["dtype"]), tuple(dtype_of_plain(dtype) for dtype in data["dtypes"])
            )
        case "narwhals":
            nw = require("narwhals.stable.v2", extra="polars", purpose="A table that is not of pandas")
            pairs = [(name, _narwhals_type(dtype, nw)) for name, dtype in zip(names, data["dtypes"], strict=True)]
            return NarwhalsForm(names, nw.Schema(pairs), nw.Implementation.from_backend(data["library"]))
    raise ValueError(f"no table is {data['kind']!r}")


def _plain_blank(value: Any) -> str:
    return "None" if value is None else "NA" if value is pd.NA else "NaT" if value is pd.NaT else "nan"


def plain_dtype(dtype: Any) -> dict[str, Any]:
    """Write the dtype of a column as plain data."""
    match dtype:
        case np.dtype() if dtype.kind in _NUMPY_KINDS and dtype.names is None:
            return {"numpy": dtype.str}
        case pd.CategoricalDtype():
            index = dtype.categories
            return {
                "categories": _plain_values(index),
                "ordered": bool(dtype.ordered),
                "of": plain_dtype(index.dtype),
            }
        case pd.StringDtype():
            # The storage that pandas chose by itself may be another one elsewhere.
            chosen = dtype == _string_dtype(None, dtype.na_value)
            return {"string": None if chosen else dtype.storage, "blank": _plain_blank(dtype.na_value)}
        case pd.ArrowDtype() if is_text(dtype):
            # By its name, pandas takes it for text of its own that Arrow stores.
            return {"arrow": str(dtype.pyarrow_dtype)}
        case pd.api.extensions.ExtensionDtype() if _from_name(str(dtype)) == dtype:
            return {"pandas": str(dtype)}
    raise InvalidInput(f"Columns of the dtype {dtype} cannot be saved. Turn them into plain numbers or categories.")


def _from_name(name: str) -> Any:
    try:
        return pd.api.types.pandas_dtype(name)
    except (TypeError, ValueError, ImportError, NotImplementedError):
        return None


def dtype_of_plain(data: Mapping[str, Any]) -> Any:
    """Read the dtype of a column from plain data."""
    match data:
        case {"numpy": str(name)}:
            dtype = np.dtype(name)
            if dtype.kind not in _NUMPY_KINDS or dtype.names is not None:
                raise ValueError(f"no column has the dtype {name!r}")
            return dtype
        case {"categories": values, "ordered": ordered, "of": of}:
            return pd.CategoricalDtype(pd.Index(list(_values(values) or ()), dtype=dtype_of_plain(of)), _truth(ordered))
        case {"string": None | str() as storage, "blank": blank}:
            return _string_dtype(storage, _BLANKS[blank])
        case {"arrow": "string" | "large_string" as name}:
            return pd.ArrowDtype(getattr(require("pyarrow", extra="parquet", purpose="Text stored by Arrow"), name)())
        case {"pandas": str(name)} if (dtype := _from_name(name)) is not None:
            return dtype
    raise ValueError(f"the dtype {data!r} is unknown here")


def _string_dtype(storage: str | None, blank: Any) -> Any:
    try:
        return pd.StringDtype(storage) if blank is pd.NA else pd.StringDtype(storage, na_value=blank)
    except ImportError as error:
        raise MissingExtra(
            'Its text is stored by `pyarrow`. Install it with: pip install "betarce[parquet]"'
        ) from error


def _plain_narwhals(dtype: Any) -> dict[str, Any]:
    name = type(dtype).__name__
    if name == "Enum":
        return {"type": name, "categories": list(dtype.categories)}
    if name not in _NARWHALS_TYPES:
        raise InvalidInput(f"Columns of the dtype {dtype} cannot be saved. Turn them into plain numbers or categories.")
    return {"type": name}


def _narwhals_type(data: Mapping[str, Any], nw: Any) -> Any:
    if data["type"] == "Enum":
        return nw.Enum(data["categories"])
    if data["type"] not in _NARWHALS_TYPES:
        raise ValueError(f"no column has the dtype {data['type']!r}")
    return getattr(nw, data["type"])()
