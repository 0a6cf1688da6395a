"""One thread at a time, for work that is cut into many small pieces."""

import sys
from collections.abc import Iterator
from contextlib import contextmanager

from threadpoolctl import ThreadpoolController

_found: tuple[int, ThreadpoolController] | None = None


@contextmanager
def one_thread() -> Iterator[None]:
    """Let numerical libraries use one thread.

    Looking for the libraries of a process takes milliseconds, longer than training a small model. So it is done again
    only when modules were imported since.

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
