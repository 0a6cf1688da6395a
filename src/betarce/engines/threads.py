"""Limit numerical libraries to one thread."""

import sys
from collections.abc import Iterator
from contextlib import contextmanager

from threadpoolctl import ThreadpoolController

_found: tuple[int, ThreadpoolController] | None = None


@contextmanager
def one_thread() -> Iterator[None]:
    """Limit numerical libraries to one thread, for work that consists of many small pieces.

    Finding the libraries of a process takes milliseconds, longer than training a small model. So the search is repeated
    only if modules were imported since.

    Examples
    --------
    >>> with one_thread():
    ...     pass
    """
    global _found
    if _found is None or _found[0] != len(sys.modules):
        _found = len(sys.modules), ThreadpoolController()
    with _found[1].limit(limits=1):
        yield
