"""Errors and warnings as sentences on stderr."""

from collections.abc import Iterator
from contextlib import contextmanager

import typer


@contextmanager
def friendly_errors() -> Iterator[None]:
    """Print our own errors as a sentence; leave all others, which are bugs, with their traceback."""
    from betarce.errors import BetarceError

    try:
        yield
    except BetarceError as error:
        typer.secho(f"Error: {error}", err=True, fg="red")
        raise typer.Exit(2) from None


@contextmanager
def friendly_warnings() -> Iterator[None]:
    """Print each warning once, as a sentence."""
    import warnings

    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        yield
    for text in dict.fromkeys(str(warning.message) for warning in caught):
        typer.secho(f"Warning: {text}", err=True, fg="yellow")
