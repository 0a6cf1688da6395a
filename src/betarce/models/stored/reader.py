"""Rebuild a fitted model from plain data with arrays."""

from collections.abc import Mapping, Sequence
from typing import Any

import sklearn
from sklearn.base import BaseEstimator

from betarce.arrays import AnyArray
from betarce.errors import CorruptFile
from betarce.models.stored.kinds import KINDS
from betarce.models.stored.known import known_class
from betarce.models.stored.trees import check_object


class Reader:
    """Reads what `Writer` wrote.

    Parameters
    ----------
    arrays : sequence of arrays
        What was set apart; every use of one gets a copy of its own.
    objects : sequence
        The objects as plain data; each may refer to those before it.
    """

    def __init__(self, arrays: Sequence[AnyArray], objects: Sequence[Any]) -> None:
        self._arrays = arrays
        self._objects: list[object] = []
        for data in objects:
            self._objects.append(self._made(data))

    def read(self, data: Any) -> Any:
        """Read one value."""
        if data is None or type(data) in (bool, int, str, float):
            return data
        if type(data) is list:
            return [self.read(part) for part in data]
        if type(data) is not dict or len(data) != 1:
            raise CorruptFile(f"{str(data)[:80]} stands for no value")
        [(tag, part)] = data.items()
        if tag == "object":
            return self._objects[_place(part, self._objects)]
        if tag not in KINDS:
            raise CorruptFile(f"it holds a value of the unknown kind {tag[:80]!r}")
        return KINDS[tag].read(part, self)

    def array(self, place: Any) -> AnyArray:
        """Give an array that was set apart."""
        return self._arrays[_place(place, self._arrays)].copy()

    def content(self, place: Any) -> bytes:
        """Give bytes that were set apart."""
        return self._arrays[_place(place, self._arrays)].tobytes()

    def _made(self, data: Any) -> object:
        kind: Any = known_class(data["class"])
        state = {name: self.read(part) for name, part in _mapping(data["state"]).items()}
        made = kind.__new__(kind)
        if isinstance(made, BaseEstimator) and kind.__module__.startswith("sklearn."):
            made.__setstate__({**state, "_sklearn_version": sklearn.__version__})
        else:
            made.__dict__.update(state)
        check_object(made)
        return made


def _mapping(data: Any) -> Mapping[str, Any]:
    if not isinstance(data, Mapping):
        raise CorruptFile(f"{str(data)[:80]} is no state of an object")
    return data


def _place(place: Any, among: Sequence[Any]) -> int:
    if type(place) is not int or not 0 <= place < len(among):
        raise CorruptFile(f"it refers to part {place!r} of {len(among)}")
    return place
