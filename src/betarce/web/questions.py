"""Questions as the page sends them, checked before anything is asked of a model."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from betarce.arrays import BoolArray, FloatArray
from betarce.features import Column, FeatureSpace
from betarce.features.plausible import survives
from betarce.web.refusals import Refusal

_LARGEST = 1e15
_MOST_OPTIONS = 4
_KINDS = ("keep", "up", "down", "between", "only")


@dataclass(frozen=True)
class Wish:
    """What the asker wants of one column, on top of the rules of the run.

    Attributes
    ----------
    column : int
    kind : str
        "keep" (as it is), "up", "down", "between" (two numbers) or "only" (some names).
    low, high : float
    levels : tuple of int
        The names that are allowed, by their place.
    """

    column: int
    kind: str
    low: float = -math.inf
    high: float = math.inf
    levels: tuple[int, ...] = ()


@dataclass(frozen=True, eq=False)
class Question:
    """A row, the classes that it wants, and what may change.

    Attributes
    ----------
    point : array of shape (d,)
    targets : array of bool, shape (classes,)
    wishes : tuple of Wish
    """

    point: FloatArray
    targets: BoolArray
    wishes: tuple[Wish, ...] = field(default=())


def read_question(data: Any, features: FeatureSpace, n_classes: int) -> Question:
    """Check a question: an object with "values", "target" and "wishes".

    Raises
    ------
    Refusal
        With what is wrong, in a way that the page can say.
    """
    if not isinstance(data, Mapping) or not set(data) <= {"run", "values", "target", "wishes"}:
        raise Refusal("malformed")
    wishes = data.get("wishes", [])
    if not isinstance(wishes, list) or len(wishes) > len(features):
        raise Refusal("malformed")
    read = tuple(_wish(wish, features) for wish in wishes)
    if len({wish.column for wish in read}) < len(read):
        raise Refusal("malformed")
    return Question(read_point(data.get("values"), features), _targets(data.get("target"), n_classes), read)


def read_options(data: Any, features: FeatureSpace, n_classes: int) -> list[Question]:
    """Check a question with "without", a list of columns: one question for each of them, in which it stays as it is."""
    if not isinstance(data, Mapping) or not isinstance(data.get("without"), list):
        raise Refusal("malformed")
    columns = data["without"]
    if not 0 < len(columns) <= _MOST_OPTIONS or len(set(map(repr, columns))) < len(columns):
        raise Refusal("malformed")
    question = read_question({key: data[key] for key in data if key != "without"}, features, n_classes)
    kept = [_wish({"column": j, "kind": "keep"}, features) for j in columns]
    return [
        replace(question, wishes=(*(wish for wish in question.wishes if wish.column != other.column), other))
        for other in kept
    ]


def read_point(values: Any, features: FeatureSpace) -> FloatArray:
    """Turn typed values, one per column, into a point; names come by their place, missing values as null."""
    if not isinstance(values, list) or len(values) != len(features):
        raise Refusal("malformed")
    point = np.array([_value(value, column) for value, column in zip(values, features.columns, strict=True)])
    links = features.links
    if len(links.derived_columns):
        # What follows from other columns is computed, whatever was typed.
        point = links.apply(point[None].copy(), features.unbounded(point[None]), features)[0]
    with np.errstate(all="ignore"):
        fits = survives(features, point[None])[0]
    for j in np.flatnonzero(~fits):
        raise Refusal("value", column=features.columns[j].title, value=features.columns[j].show(point[j]))
    return np.asarray(point + 0.0)


def _value(value: Any, column: Column) -> float:
    if value is None:
        if not column.missing:
            raise Refusal("missing", column=column.title)
        return math.nan
    if isinstance(value, bool) or not isinstance(value, (int, float)) or not abs(value) < _LARGEST:
        raise Refusal("number", column=column.title)
    if column.levels is not None and value not in range(len(column.levels)):
        raise Refusal("name", column=column.title)
    return float(value)


def _targets(target: Any, n_classes: int) -> BoolArray:
    places = target if isinstance(target, list) else [target]
    if not places or not all(type(place) is int and 0 <= place < n_classes for place in places):
        raise Refusal("target")
    wanted = np.zeros(n_classes, dtype=bool)
    wanted[places] = True
    if wanted.all():
        raise Refusal("target")
    return wanted


def _wish(data: Any, features: FeatureSpace) -> Wish:
    if not isinstance(data, Mapping) or not set(data) <= {"column", "kind", "low", "high", "levels"}:
        raise Refusal("malformed")
    j, kind = data.get("column"), data.get("kind")
    if type(j) is not int or not 0 <= j < len(features) or kind not in _KINDS:
        raise Refusal("malformed")
    column = features.columns[j]
    if kind == "between":
        return _between(j, column, data)
    if kind == "only":
        return Wish(j, "only", levels=_levels(column, data.get("levels")))
    if kind in ("up", "down") and column.is_nominal:
        raise Refusal("wish", column=column.title)
    return Wish(j, kind)


def _between(j: int, column: Column, data: Mapping[str, Any]) -> Wish:
    ends = []
    for name, none in (("low", -math.inf), ("high", math.inf)):
        end = data.get(name)
        if end is not None and (isinstance(end, bool) or not isinstance(end, (int, float)) or not abs(end) < _LARGEST):
            raise Refusal("wish", column=column.title)
        ends.append(none if end is None else float(end))
    if column.levels is not None or ends[0] > ends[1]:
        raise Refusal("wish", column=column.title)
    return Wish(j, "between", low=ends[0], high=ends[1])


def _levels(column: Column, levels: Any) -> tuple[int, ...]:
    if column.levels is None or not isinstance(levels, Sequence) or isinstance(levels, str) or not levels:
        raise Refusal("wish", column=column.title)
    if not all(type(level) is int and 0 <= level < len(column.levels) for level in levels):
        raise Refusal("wish", column=column.title)
    return tuple(dict.fromkeys(levels))
