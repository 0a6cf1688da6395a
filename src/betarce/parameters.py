"""Parameters of methods: the fields of the dataclasses that explainers and searches are."""

from collections.abc import Mapping
from dataclasses import fields, is_dataclass, replace
from typing import Any, TypeVar

from betarce.errors import InvalidInput

_Method = TypeVar("_Method")


def parameters_of(method: object) -> dict[str, Any]:
    """Give the parameters of a method and their values; none if it is no dataclass.

    Examples
    --------
    >>> from betarce.search import GrowingSpheresSearch
    >>> parameters_of(GrowingSpheresSearch())["n_candidates"]
    100
    """
    if not is_dataclass(method) or isinstance(method, type):
        return {}
    return {each.name: getattr(method, each.name) for each in fields(method) if each.init}


def with_parameters(method: _Method, parameters: Mapping[str, Any]) -> _Method:
    """Give a copy of a method with some of its parameters set, checked as if it were made anew.

    Examples
    --------
    >>> from betarce.search import GrowingSpheresSearch
    >>> with_parameters(GrowingSpheresSearch(), {"n_candidates": 7}).n_candidates
    7
    >>> with_parameters(GrowingSpheresSearch(), {"candidates": 7})
    Traceback (most recent call last):
    betarce.errors.InvalidInput: GrowingSpheresSearch has no parameter 'candidates'; it has initial_radius,
    n_candidates, max_evaluations, bounded, norm.
    """
    if not parameters:
        return method
    known = parameters_of(method)
    unknown = [name for name in parameters if name not in known]
    name = type(method).__name__
    if unknown:
        has = f"it has {', '.join(known)}" if known else "only those of dataclasses can be set"
        raise InvalidInput(f"{name} has no parameter {unknown[0]!r}; {has}.")
    changed: _Method = replace(method, **parameters)  # type: ignore[type-var]
    return changed
