"""Checks of values that users pass."""

import sys
from collections.abc import Collection, Sequence
from typing import Any

import numpy as np

from betarce.errors import InvalidInput

MOST_JOBS = 1024  # each is a process
MOST_COUNTED = 10**12


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


def is_one_of(value: Any, choices: Collection[Any]) -> bool:
    """Say whether a value is one of some names and numbers; what compares element by element is none.

    Examples
    --------
    >>> is_one_of("l1", ("l1", "l2")), is_one_of(np.array(["l1"]), ("l1", "l2"))
    (True, False)
    """
    return isinstance(value, (str, int, float)) and value in choices


def is_number(value: Any) -> bool:
    """Say whether a value is a number that a float can hold, infinite or not.

    Examples
    --------
    >>> is_number(0.5), is_number("0.5"), is_number(True), is_number(10**400), is_number(float("nan"))
    (True, False, False, False, False)
    """
    if isinstance(value, int):
        return not isinstance(value, bool) and -sys.float_info.max <= value <= sys.float_info.max
    return isinstance(value, (float, np.integer, np.floating)) and not np.isnan(value)


def check_whole(name: str, value: Any, *, least: int = 1) -> None:
    """Refuse what is no whole number, or beyond what any computer counts to.

    Examples
    --------
    >>> check_whole("n_samples", 0)
    Traceback (most recent call last):
    betarce.errors.InvalidInput: `n_samples` must be a whole number >= 1; got 0.
    """
    if isinstance(value, bool) or not isinstance(value, int) or value < least:
        raise InvalidInput(f"`{name}` must be a whole number >= {least}; got {value!r}.")
    if value > MOST_COUNTED:
        raise InvalidInput(f"`{name}` must be at most {MOST_COUNTED:,}; got {value!r}.")


def check_flag(name: str, value: Any) -> None:
    """Refuse what is neither True nor False.

    Examples
    --------
    >>> check_flag("private", "no")
    Traceback (most recent call last):
    betarce.errors.InvalidInput: `private` must be True or False; got 'no'.
    """
    if not isinstance(value, (bool, np.bool_)):
        raise InvalidInput(f"`{name}` must be True or False; got {value!r}.")


def check_models(name: str, models: Any) -> None:
    """Refuse what is no list of one or more models.

    Examples
    --------
    >>> check_models("members", [])
    Traceback (most recent call last):
    betarce.errors.InvalidInput: `members` must hold at least one model; got none.
    """
    listed = (
        isinstance(models, Sequence | np.ndarray)
        and not isinstance(models, (str, bytes))
        and getattr(models, "ndim", 1) == 1
    )
    if listed and len(models) == 0:
        raise InvalidInput(f"`{name}` must hold at least one model; got none.")
    without = [m for m in models if isinstance(m, type) or not callable(getattr(m, "predict", None))] if listed else ()
    if not listed or without:
        got = repr(without[0]) if without else repr(models)
        raise InvalidInput(f"`{name}` must be a list of models with `predict`; got {got}.")


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
