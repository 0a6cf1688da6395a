"""Values as a file of rules writes them."""

from collections.abc import Hashable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any

from betarce.errors import InvalidInput

NO_LEVEL: Mapping[str, bool] = {"none": True}
"""Stands for "none of the columns of the group", since TOML has no null."""


class WrongKey(InvalidInput):
    """One key of a section says what no rule means."""

    def __init__(self, key: str, reason: object) -> None:
        super().__init__(str(reason))
        self.key = key


@contextmanager
def at_key(key: str) -> Iterator[None]:
    """Name the key whose value is wrong."""
    try:
        yield
    except (InvalidInput, TypeError) as error:
        raise WrongKey(key, error) from None


def read_flag(value: Any) -> bool:
    """Read true or false."""
    if not isinstance(value, bool):
        raise InvalidInput(f"must be true or false; got {value!r}.")
    return value


def read_value(value: Any) -> Any:
    """Read a value of a column; a list stands for a tuple.

    Examples
    --------
    >>> read_value(["a", 1]), read_value({"none": True})
    (('a', 1), None)
    """
    if value == NO_LEVEL:
        return None
    if isinstance(value, list):
        return tuple(read_value(part) for part in value)
    if value is not None and not isinstance(value, (str, int, float)):
        raise InvalidInput(f"a value must be text, a number, or true or false; got {value!r}.")
    return value


def read_values(value: Any) -> list[Any]:
    """Read a list of values of a column."""
    if not isinstance(value, list):
        raise InvalidInput(f"must be a list of values; got {value!r}.")
    return [read_value(each) for each in value]


def read_table(value: Any, names: Sequence[str]) -> dict[str, Any]:
    """Read a table of values, some or all of these names."""
    if not isinstance(value, Mapping) or not set(value) <= set(names):
        raise InvalidInput(f"must be a table with the keys {', '.join(names)}; got {value!r}.")
    return {str(name): read_value(each) for name, each in value.items()}


def read_column_name(value: Any, place: str) -> Hashable:
    """Read the name of a column; a list stands for a name in several levels."""
    if isinstance(value, list):
        return tuple(read_column_name(part, place) for part in value)
    if not isinstance(value, (str, int)) or isinstance(value, bool):
        raise InvalidInput(f"{place}: a column is named by text or a whole number; got {value!r}.")
    return value


def short(value: float) -> int | float:
    """Write whole numbers whole.

    Examples
    --------
    >>> short(2.0), short(2.5)
    (2, 2.5)
    """
    return int(value) if float(value).is_integer() and abs(value) < 2**53 else float(value)
