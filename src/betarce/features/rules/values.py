"""Checks of the values that rules are made of."""

import math
from collections.abc import Mapping
from typing import Any

import numpy as np

from betarce.errors import InvalidInput
from betarce.storage.values import unplain


def distinct(name: str, values: Any) -> tuple[Any, ...]:
    """Give each of several values once; `name` is what messages call them."""
    try:
        if isinstance(values, (str, bytes)):
            raise TypeError
        return tuple(dict.fromkeys(value.item() if isinstance(value, np.generic) else value for value in values))
    except TypeError:  # nothing to go through, or a value that is itself a list
        raise InvalidInput(f"`{name}` must be a list of values; got {values!r}.") from None


def stored_number(data: Mapping[str, Any], key: str, *, least: float = -math.inf, most: float = math.inf) -> Any:
    """Read a number from JSON as it is; None if it is not there.

    Examples
    --------
    >>> stored_number({"down": 2}, "down", least=0)
    2
    >>> stored_number({"down": -2}, "down", least=0)
    Traceback (most recent call last):
    ValueError: no rule says down = -2
    """
    if key not in data:
        return None
    value = unplain(data[key])
    if type(value) not in (int, float) or math.isnan(value) or not least <= value <= most:
        raise unsaid(key, value)
    return value


def stored_values(data: Any) -> tuple[Any, ...]:
    """Read several values from JSON."""
    return tuple(unplain(value) for value in data)


def unsaid(key: str, value: Any) -> ValueError:
    """Make the error for a value in JSON that no rule has."""
    return ValueError(f"no rule says {key} = {value!r}")
