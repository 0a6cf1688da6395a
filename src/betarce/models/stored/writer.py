"""Turn a fitted model into plain data with arrays."""

import math
from collections.abc import Callable, Iterable, Mapping
from hashlib import blake2b
from typing import Any

import numpy as np

from betarce.arrays import AnyArray
from betarce.errors import InvalidInput
from betarce.models.stored.kinds import kind_of
from betarce.models.stored.known import class_path

_ARRAYS = "biufUS"
_MOST_LEVELS = 12  # of lists in each other; strict JSON allows 64, and some kinds take several


class Unstorable(InvalidInput):
    """A model holds something that betarce's own files cannot."""


class Writer:
    """Writes values as plain data; arrays and objects are set apart and referred to by number.

    The same value gives the same data in every process: equal arrays are written once, whether or not they are the same
    object, and nothing depends on addresses.
    """

    def __init__(self) -> None:
        self.arrays: list[AnyArray] = []
        self.objects: list[dict[str, Any]] = []
        self._array_places: dict[tuple[str, tuple[int, ...], bytes], int] = {}
        self._object_places: dict[int, int] = {}
        self._alive: list[object] = []  # an object that is gone could lend its address to another one
        self._open: set[int] = set()
        self._path: list[str] = []
        self._level = 0

    def write(self, value: Any, where: str = "") -> Any:
        """Write one value; `where` says what it is to the value around it, for messages."""
        if value is None or type(value) in (bool, int, str):
            return value
        if type(value) is float:
            return value if math.isfinite(value) else {"float": str(value)}
        self._path.append(where)
        found = self._written(value)
        self._path.pop()
        return found

    def array(self, array: AnyArray) -> int:
        """Set an array apart, and give its number."""
        array = np.ascontiguousarray(array).reshape(np.shape(array))
        if array.dtype.kind not in _ARRAYS or array.dtype.names:
            raise self.unstorable(f"is an array of {array.dtype}")
        content = array.tobytes()
        key = (array.dtype.str, array.shape, blake2b(content, digest_size=16).digest())
        place = self._array_places.setdefault(key, len(self.arrays))
        if place == len(self.arrays):
            self.arrays.append(array)
        return place

    def content(self, content: bytes) -> int:
        """Set bytes apart, and give their number."""
        return self.array(np.frombuffer(content, dtype=np.uint8))

    def unstorable(self, what: str) -> Unstorable:
        """Make the error that says which part of the model cannot be stored."""
        path = "".join(self._path) or "the model"
        return Unstorable(f"{path} {what}, which betarce's own files cannot hold.")

    def items(self, values: Iterable[Any]) -> list[Any]:
        """Write the items of a list, or of what is like one."""
        return [self.write(part, f"[{i}]") for i, part in enumerate(values)]

    def _written(self, value: Any) -> Any:
        kind = kind_of(value)
        if kind is None and type(value) is not list:
            return self._object(value)
        self._level += 1
        if self._level > _MOST_LEVELS:
            raise self.unstorable("lies too deep in lists and dictionaries")
        data = self.items(value) if kind is None else {kind.tag: kind.write(value, self)}
        self._level -= 1
        return data

    def _object(self, value: Any) -> dict[str, int]:
        if id(value) in self._object_places:
            return {"object": self._object_places[id(value)]}
        path = class_path(type(value))
        if path is None:
            raise self.unstorable(_described(value))
        if id(value) in self._open:
            raise self.unstorable("holds itself")
        self._open.add(id(value))
        level, self._level = self._level, 0
        state = _state_of(value)
        if not isinstance(state, Mapping):
            raise self.unstorable(f"is a {type(value).__name__} with a state of its own kind")
        written = {name: self.write(part, f".{name}") for name, part in state.items()}
        self._level = level
        self._open.remove(id(value))
        self._alive.append(value)
        place = self._object_places[id(value)] = len(self.objects)
        self.objects.append({"class": path, "state": written})
        return {"object": place}


def _state_of(value: Any) -> Any:
    state = value.__getstate__()
    if isinstance(state, Mapping):
        # Which version wrote it is said once for all models, not for each estimator inside.
        state = {name: part for name, part in state.items() if name != "_sklearn_version"}
    return {} if state is None else state


def _described(value: Any) -> str:
    kind = type(value)
    if isinstance(value, type):
        return f"is the class {value.__module__}.{value.__qualname__}"
    if isinstance(value, Callable) and hasattr(value, "__qualname__"):  # type: ignore[arg-type]
        return f"is the function {value.__module__}.{value.__qualname__}"
    return f"is of the class {kind.__module__}.{kind.__qualname__}"
