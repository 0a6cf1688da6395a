"""Parameters that change after `fit`: which are honoured, and which need new members."""

from collections.abc import Mapping
from typing import Any

from betarce.errors import InvalidInput

NEED_FIT = ("model", "space", "certify_on", "n_models", "random_state")
"""Parameters that decide which members there are."""
HONOURED = ("base", "search", "delta", "confidence", "prior", "features", "max_changes")
"""Parameters that decide what is asked of them."""


def snapshot(estimator: Any, names: tuple[str, ...]) -> dict[str, Any]:
    """Take note of parameters, and of the parameters of those that have some."""
    return {name: (getattr(estimator, name), _inside(getattr(estimator, name))) for name in names}


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


def _inside(value: Any) -> dict[str, Any]:
    return dict(value.get_params(deep=True)) if hasattr(value, "get_params") and not isinstance(value, type) else {}


def _same(one: Any, other: Any) -> bool:
    if one is other:
        return True
    if isinstance(one, (tuple, list)) and isinstance(other, (tuple, list)):
        return len(one) == len(other) and all(map(_same, one, other))
    if isinstance(one, dict) and isinstance(other, dict):
        return one.keys() == other.keys() and all(_same(one[key], other[key]) for key in one)
    try:
        return type(one) is type(other) and bool(one == other)
    except (TypeError, ValueError):  # arrays and frames have no single answer: another object may be another value
        return False
