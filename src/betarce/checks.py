"""Checks of values that users pass."""

from typing import Any

import numpy as np

from betarce.errors import InvalidInput

MOST_JOBS = 1024  # each is a process


def check_n_jobs(n_jobs: Any) -> int | None:
    """Refuse a number of workers that joblib cannot read.

    Examples
    --------
    >>> check_n_jobs(-1)
    -1
    >>> check_n_jobs(0)
    Traceback (most recent call last):
    betarce.errors.InvalidInput: `n_jobs` must be None or a whole number other than 0; got 0. -1 takes all cores.
    >>> check_n_jobs(10**6)
    Traceback (most recent call last):
    betarce.errors.InvalidInput: `n_jobs` must be at most 1024; got 1000000. -1 takes all cores.
    """
    whole = isinstance(n_jobs, (int, np.integer)) and not isinstance(n_jobs, bool)
    if n_jobs is not None and (not whole or n_jobs == 0):
        raise InvalidInput(f"`n_jobs` must be None or a whole number other than 0; got {n_jobs!r}. -1 takes all cores.")
    if n_jobs is not None and n_jobs > MOST_JOBS:
        raise InvalidInput(f"`n_jobs` must be at most {MOST_JOBS}; got {n_jobs!r}. -1 takes all cores.")
    return None if n_jobs is None else int(n_jobs)


def check_verbose(verbose: Any) -> int:
    """Refuse what is no level of detail.

    Examples
    --------
    >>> check_verbose("much")
    Traceback (most recent call last):
    betarce.errors.InvalidInput: `verbose` must be a whole number such as -1, 0 or 1; got 'much'.
    """
    if not isinstance(verbose, (int, np.integer)):
        raise InvalidInput(f"`verbose` must be a whole number such as -1, 0 or 1; got {verbose!r}.")
    return int(verbose)


def check_unmasked(values: object, *, what: str) -> None:
    """Refuse a masked array that hides values.

    Reading them as missing would not do: the model gets the table as it is, and scikit-learn drops the mask.
    """
    if hidden := _n_hidden(values):
        raise InvalidInput(
            f"`{what}` must not be a masked array; {hidden} of its values are masked, and models would see what is "
            f"under the mask. Leave those rows out, or fill them: {what}.filled(...)."
        )


def _n_hidden(values: object) -> int:
    if isinstance(values, np.ma.MaskedArray):
        return int(np.ma.getmaskarray(values).sum())
    return sum(map(_n_hidden, values)) if isinstance(values, (list, tuple)) else 0
