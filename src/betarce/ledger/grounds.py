"""The grounds of a promise: which libraries were at work."""

import platform
from functools import cache
from importlib.metadata import PackageNotFoundError, version

import betarce

_LIBRARIES = ("numpy", "scipy", "scikit-learn", "pandas", "lightgbm", "xgboost", "catboost", "torch")


@cache
def versions() -> dict[str, str]:
    """Say which versions of what are installed.

    Examples
    --------
    >>> {"betarce", "numpy", "python"} <= set(versions())
    True
    """
    found = {"betarce": betarce.__version__, "python": platform.python_version()}
    for name in _LIBRARIES:
        try:
            found[name] = version(name)
        except PackageNotFoundError:
            continue
    return found
