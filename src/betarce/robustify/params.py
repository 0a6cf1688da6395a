"""Parameters that change after `fit`: which are honoured, and which need new members."""

import os
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from betarce.errors import InvalidInput
from betarce.robustify.refitting import FittedModel
from betarce.robustify.subject import Subject

NEED_FIT = ("model", "space", "certify_on", "n_models", "random_state")
"""Parameters that decide which members there are."""
HONOURED = ("base", "search", "delta", "confidence", "prior", "features", "max_changes")
"""Parameters that decide what is asked of them."""


@dataclass(frozen=True, eq=False)
class FittedWith:
    """What decided which members there are, as it was when they were trained.

    Attributes
    ----------
    params : mapping
        A snapshot of the parameters.
    model : FittedModel
    """

    params: Mapping[str, Any]
    model: FittedModel

    @classmethod
    def of(cls, estimator: Any, subject: Subject) -> "FittedWith":
        """Take note of an explainer's parameters and of the model that it explains."""
        return cls(snapshot(estimator, NEED_FIT), FittedModel.of(subject.model, subject.table))

    def refuse_changed(self, estimator: Any) -> None:
        """Raise if other members would have to be trained now."""
        refuse_changed(self.params, snapshot(estimator, NEED_FIT))
        self.model.refuse_refitted()


def snapshot(estimator: Any, names: tuple[str, ...]) -> dict[str, Any]:
    """Take note of parameters, and of what may change inside them: parameters of their own, entries, a file's text."""
    return {name: _noted(getattr(estimator, name)) for name in names}


def changed(before: Mapping[str, Any], after: Mapping[str, Any]) -> list[str]:
    """Name the parameters that differ between two snapshots."""
    return [name for name in before if not _same(before[name], after[name])]


def refuse_changed(before: Mapping[str, Any], after: Mapping[str, Any]) -> None:
    """Raise if a parameter was changed that decides which members there are."""
    different = changed(before, after)
    if different:
        names = " and ".join(f"`{name}`" for name in different)
        raise InvalidInput(
            f"{names} {'were' if len(different) > 1 else 'was'} changed after `fit`, and other members must be trained "
            f"for that: call `fit` again. Without it, these can be changed: {', '.join(HONOURED)}."
        )


def _noted(value: Any) -> Any:
    if isinstance(value, Mapping):
        return {name: _noted(entry) for name, entry in value.items()}
    if isinstance(value, list):
        return [_noted(entry) for entry in value]
    if isinstance(value, (str, os.PathLike)):
        return value, _FileState.of(value)
    if hasattr(value, "get_params") and not isinstance(value, type):
        return value, dict(value.get_params(deep=True))
    return value


@dataclass(frozen=True)
class _FileState:
    """The size and the time of the last change of a file; None if there is no such file (any more)."""

    size: int | None = None
    modified: int | None = None

    @classmethod
    def of(cls, path: "str | os.PathLike[str]") -> "_FileState":
        try:
            found = os.stat(path)
        except (OSError, ValueError):
            return cls()
        return cls(found.st_size, found.st_mtime_ns)

    def __eq__(self, later: object) -> bool:
        # What was read from a file that is gone by now still holds.
        if not isinstance(later, _FileState):
            return NotImplemented
        return later.size is None or (self.size, self.modified) == (later.size, later.modified)


def _same(one: Any, other: Any) -> bool:
    if one is other:
        return True
    if isinstance(one, (tuple, list)) and isinstance(other, (tuple, list)):
        return len(one) == len(other) and all(map(_same, one, other))
    if isinstance(one, dict) and isinstance(other, dict):
        return one.keys() == other.keys() and all(_same(one[key], other[key]) for key in one)
    try:
        # NaN, the usual sign of a missing value, equals nothing; the NaN of a copy is another object.
        return type(one) is type(other) and bool(one == other or (one != one and other != other))
    except (TypeError, ValueError):  # arrays and frames have no single answer: another object may be another value
        return False
