"""The error for models that cannot be read into a kernel."""

from collections.abc import Iterator
from contextlib import contextmanager


class Unreadable(Exception):
    """No kernel can evaluate this member, which is then asked itself; the message says why."""


@contextmanager
def reading(model: object) -> Iterator[None]:
    """Turn any error while a model is read into `Unreadable`.

    Examples
    --------
    >>> with reading([1, 2]):
    ...     [1, 2].coef_
    Traceback (most recent call last):
    betarce.ensemble.unreadable.Unreadable: list could not be read (AttributeError: 'list' object has no attribute
    'coef_'); betarce may not know this version of its library
    """
    try:
        yield
    except Unreadable:
        raise
    except Exception as error:  # what another version of a library does to our reading of it, nobody can list
        name = type(model).__name__
        raise Unreadable(
            f"{name} could not be read ({type(error).__name__}: {error}); betarce may not know this version of its "
            "library"
        ) from error
