"""The objects that a model is made of."""

from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np


def objects_inside(model: object) -> Iterator[Any]:
    """Give a model and every object in it, each once.

    Examples
    --------
    >>> from sklearn.linear_model import LogisticRegression
    >>> from sklearn.pipeline import make_pipeline
    >>> from sklearn.preprocessing import StandardScaler
    >>> [type(each).__name__ for each in objects_inside(make_pipeline(StandardScaler(), LogisticRegression()))]
    ['Pipeline', 'LogisticRegression', 'StandardScaler']
    """
    seen: set[int] = set()
    waiting: list[Any] = [model]
    while waiting:
        value = waiting.pop()
        if id(value) in seen or value is None or isinstance(value, (str, bytes, int, float, type, np.generic)):
            continue
        seen.add(id(value))
        if isinstance(value, np.ndarray):
            waiting += value.ravel().tolist() if value.dtype.kind == "O" else []
        elif isinstance(value, Mapping):
            waiting += [*value.values()]
        elif isinstance(value, (list, tuple, set, frozenset)):
            waiting += [*value]
        else:
            yield value
            waiting += [*getattr(value, "__dict__", {}).values()]
