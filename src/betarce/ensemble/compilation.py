"""Compile functions with numba, where it is installed."""

from collections.abc import Callable
from typing import Any


def compile_functions(*functions: Callable[..., Any]) -> tuple[Any, ...] | None:
    """Compile functions on arrays; None without numba.

    Compiled code is cached on disk. Numba checks what it has cached against the file of the function alone, so such a
    function must use no types of other modules.

    Examples
    --------
    >>> def add(a, b):
    ...     return a + b
    >>> compile_functions(add) is None or callable(compile_functions(add)[0])
    True
    """
    try:
        import numba
    except ImportError:
        return None
    try:
        return tuple(numba.njit(nogil=True, cache=True)(function) for function in functions)
    except RuntimeError:  # no folder for the cache of compiled code
        return tuple(numba.njit(nogil=True)(function) for function in functions)
