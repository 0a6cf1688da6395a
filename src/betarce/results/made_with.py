"""Provenance of a result: its model, space, members and library versions."""

import platform
from collections.abc import Mapping
from functools import cache
from importlib.metadata import version
from typing import Any

import betarce
from betarce.errors import CorruptFile

MadeWith = Mapping[str, str | int]

_TEXTS = ("model", "space", "base", "search", "certify_on", "betarce", "python", "numpy", "scikit-learn")
_COUNTS = ("search_members", "certifying_members", "training_rows")


def made_with(
    *,
    model: object,
    space: object,
    base: object,
    search: object,
    certify_on: str,
    search_members: int,
    certifying_members: int,
    training_rows: int,
) -> MadeWith:
    """Put on record what a result is made with.

    Examples
    --------
    >>> from sklearn.linear_model import LogisticRegression
    >>> sizes = {"search_members": 15, "certifying_members": 298, "training_rows": 1000}
    >>> record = made_with(
    ...     model=LogisticRegression(), space="Bootstrap()", base=None, search="frontier", certify_on="holdout", **sizes
    ... )
    >>> record["model"], record["base"], record["certifying_members"]
    ('LogisticRegression', 'none: closest to the row', 298)
    """
    return {
        "model": _kind(model),
        "space": str(space),
        "base": "none: closest to the row" if base is None else _kind(base),
        "search": _kind(search),
        "certify_on": certify_on,
        "search_members": search_members,
        "certifying_members": certifying_members,
        "training_rows": training_rows,
        "betarce": betarce.__version__,
        "python": platform.python_version(),
        "numpy": _version("numpy"),
        "scikit-learn": _version("scikit-learn"),
    }


_version = cache(version)  # reads a file every time


def check_made_with(data: Any) -> MadeWith:
    """Refuse a record from a file that `made_with` does not write; one that is empty says nothing.

    Raises
    ------
    CorruptFile
    """
    if not isinstance(data, dict) or (data and sorted(data) != sorted([*_TEXTS, *_COUNTS])):
        raise CorruptFile(f"what it was made with has the wrong entries: {data!r}")
    for name, value in data.items():
        fits = type(value) is str if name in _TEXTS else type(value) is int and value >= 0
        if not fits:
            raise CorruptFile(f"it cannot be made with {name} = {value!r}")
    return data


def _kind(part: object) -> str:
    """Name what is used: the last step of a pipeline, the class of an object, a name as it is."""
    if isinstance(part, str):
        return part
    steps = getattr(part, "steps", None)
    if isinstance(steps, list) and steps:
        return _kind(steps[-1][1])
    return getattr(part, "__name__", type(part).__name__)
