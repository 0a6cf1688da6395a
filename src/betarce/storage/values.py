"""Serialise single values to JSON: names, levels, numbers."""

import math
from datetime import date
from typing import Any

import numpy as np
import pandas as pd

from betarce.errors import CorruptFile, InvalidInput

_ODD_FLOATS = {"nan": math.nan, "inf": math.inf, "-inf": -math.inf}


def plain(value: Any, *, what: str) -> Any:
    """Turn a value into plain data that strict JSON can hold.

    Text, truth values, whole numbers, finite floats and None stay as they are; other values are tagged.

    Examples
    --------
    >>> plain(np.int64(3), what="a name"), plain(("a", 1), what="a name"), plain(float("inf"), what="a bound")
    (3, {'tuple': ['a', 1]}, {'float': 'inf'})
    >>> plain(pd.Timestamp("2024-05-01 12:00"), what="a name")
    {'timestamp': '2024-05-01T12:00:00', 'unit': 'us'}
    >>> plain(b"x", what="a name")
    Traceback (most recent call last):
    betarce.errors.InvalidInput: b'x' (bytes) cannot be saved as a name: text, numbers, truth values, timestamps,
    intervals, and tuples of them can.
    """
    if isinstance(value, np.generic) and not isinstance(value, (np.datetime64, np.timedelta64)):
        value = value.item()
    match value:
        case None | bool() | str() | int():
            return value
        case float():
            return value if math.isfinite(value) else {"float": str(float(value))}
        case tuple():
            return {"tuple": [plain(part, what=what) for part in value]}
        case pd.Timestamp() if value is not pd.NaT:
            zone = {} if value.tz is None else {"zone": str(value.tz)}
            moment = value if value.tz is None else value.tz_convert("UTC").tz_localize(None)
            return {"timestamp": moment.isoformat(), "unit": value.unit, **zone}
        case date() if type(value) is date:
            return {"date": value.isoformat()}
        case pd.Interval():
            ends = [plain(end, what=what) for end in (value.left, value.right)]
            return {"interval": ends, "closed": value.closed}
    raise InvalidInput(
        f"{value!r} ({type(value).__name__}) cannot be saved as {what}: text, numbers, truth values, timestamps, "
        "intervals, and tuples of them can."
    )


def unplain(value: Any) -> Any:
    """Turn the output of `plain` back into the value."""
    match value:
        case None | bool() | str() | int() | float():
            return value
        case {"float": str(name)} if name in _ODD_FLOATS:
            return _ODD_FLOATS[name]
        case {"tuple": list(parts)}:
            return tuple(unplain(part) for part in parts)
        case {"timestamp": str(text), "unit": str(unit)}:
            moment = pd.Timestamp(text).as_unit(unit)  # type: ignore[arg-type]
            return moment.tz_localize("UTC").tz_convert(value["zone"]) if "zone" in value else moment
        case {"date": str(text)}:
            return date.fromisoformat(text)
        case {"interval": [left, right], "closed": closed}:
            return pd.Interval(unplain(left), unplain(right), closed=closed)
    raise CorruptFile(f"{value!r} stands for no value")


def plain_float(value: float | None) -> Any:
    """Turn a float or None into plain data."""
    return None if value is None else plain(float(value), what="a number")


def unplain_float(value: Any) -> float:
    """Read a float from plain data; raise CorruptFile for anything else."""
    number = unplain(value)
    if isinstance(number, bool) or not isinstance(number, (int, float)):
        raise CorruptFile(f"{value!r} is not a number")
    return float(number)
