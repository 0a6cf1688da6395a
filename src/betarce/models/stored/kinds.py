"""The kinds of values that can be stored, besides objects of known classes."""

from collections import OrderedDict, defaultdict
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd

from betarce.errors import CorruptFile
from betarce.models.stored import array_kinds, boosters, trees
from betarce.models.stored.kind import Kind
from betarce.models.stored.known import function_path, known_function, known_type, type_name
from betarce.storage.values import unplain

if TYPE_CHECKING:
    from betarce.models.stored.reader import Reader
    from betarce.models.stored.writer import Writer


def kind_of(value: Any) -> Kind | None:
    """Give the kind of a value; None for what may be an object of a known class."""
    kind = type(value)
    found = _BY_TYPE.get(f"{kind.__module__}:{kind.__qualname__}")
    if found is not None:
        return found
    if isinstance(value, np.generic):
        return array_kinds.SCALAR
    if isinstance(value, np.dtype):
        return array_kinds.DTYPE
    if isinstance(value, pd.Index) or value is pd.NA:
        return _NA if value is pd.NA else _INDEX
    if isinstance(value, type) and type_name(value) is not None:
        return _TYPE
    return _FUNCTION if callable(value) and function_path(value) is not None else None


def _read_float(data: Any, _: "Reader") -> float:
    value: float = unplain({"float": data})
    return value


def _write_pairs(value: Any, writer: "Writer") -> Any:
    return [[writer.write(key), writer.write(part, f"[{key!r}]")] for key, part in value.items()]


def _read_pairs(data: Any, reader: "Reader") -> list[tuple[Any, Any]]:
    pairs = [(reader.read(key), reader.read(part)) for key, part in data]
    if len({key for key, _ in pairs}) < len(pairs):
        raise CorruptFile("a dictionary has a key twice")
    return pairs


def _write_set(value: Any, writer: "Writer") -> Any:
    # Sets of text have another order in every process.
    return [writer.write(part) for part in sorted(value, key=lambda part: (type(part).__name__, repr(part)))]


def _write_defaultdict(value: "defaultdict[Any, Any]", writer: "Writer") -> Any:
    if value.default_factory not in (None, *_FACTORIES.values()):
        raise writer.unstorable("is a dictionary with a default of its own")
    factory = None if value.default_factory is None else value.default_factory.__name__
    return {"default": factory, "items": _write_pairs(value, writer)}


def _read_defaultdict(data: Any, reader: "Reader") -> Any:
    factory = None if data["default"] is None else _FACTORIES[data["default"]]
    return defaultdict(factory, _read_pairs(data["items"], reader))


def _write_partial(value: "partial[Any]", writer: "Writer") -> Any:
    if value.__dict__:
        raise writer.unstorable("is a function with attributes")
    return [writer.write(part, ".func") for part in (value.func, list(value.args), dict(value.keywords))]


def _read_partial(data: Any, reader: "Reader") -> Any:
    function, args, keywords = (reader.read(part) for part in data)
    if not callable(function):
        raise CorruptFile("it calls what is no function")
    return partial(function, *args, **keywords)


def _write_index(value: "pd.Index[Any]", writer: "Writer") -> Any:
    dtype = str(value.dtype)
    if type(value) is not pd.Index or dtype not in _INDEX_DTYPES:
        raise writer.unstorable(f"is an index of {dtype}")
    return {"dtype": dtype, "name": writer.write(value.name), "items": writer.items(value.tolist())}


def _read_index(data: Any, reader: "Reader") -> "pd.Index[Any]":
    if data["dtype"] not in _INDEX_DTYPES:
        raise CorruptFile(f"no index holds {data['dtype']!r}")
    index: pd.Index[Any] = pd.Index(reader.read(data["items"]), dtype=data["dtype"], name=reader.read(data["name"]))
    return index


def _write_bunch(value: Any, writer: "Writer") -> Any:
    return {name: writer.write(part, f".{name}") for name, part in value.items()}


def _read_bunch(data: Any, reader: "Reader") -> Any:
    from sklearn.utils import Bunch

    return Bunch(**{name: reader.read(part) for name, part in data.items()})


_FACTORIES: dict[str, type] = {"OrderedDict": OrderedDict, "dict": dict, "list": list, "int": int}
_INDEX_DTYPES = ("bool", "float64", "int64", "object", "str")
_TYPE = Kind("type", (), lambda value, _: type_name(value), lambda data, _: known_type(data))
_FUNCTION = Kind("function", (), lambda value, _: function_path(value), lambda data, _: known_function(data))
_INDEX = Kind("index", (), _write_index, _read_index)
_NA = Kind("na", (), lambda _, __: True, lambda _, __: pd.NA)
_PLAIN = (
    Kind("float", (), lambda value, _: str(value), _read_float),
    Kind(
        "tuple",
        ("builtins:tuple",),
        lambda value, writer: writer.items(value),
        lambda data, reader: tuple(reader.read(data)),
    ),
    Kind("set", ("builtins:set",), _write_set, lambda data, reader: set(reader.read(data))),
    Kind("frozenset", ("builtins:frozenset",), _write_set, lambda data, reader: frozenset(reader.read(data))),
    Kind("dict", ("builtins:dict",), _write_pairs, lambda data, reader: dict(_read_pairs(data, reader))),
    Kind(
        "ordered",
        ("collections:OrderedDict",),
        _write_pairs,
        lambda data, reader: OrderedDict(_read_pairs(data, reader)),
    ),
    Kind("defaultdict", ("collections:defaultdict",), _write_defaultdict, _read_defaultdict),
    Kind("bunch", ("sklearn.utils._bunch:Bunch",), _write_bunch, _read_bunch),
    Kind(
        "slice",
        ("builtins:slice",),
        lambda value, writer: writer.items((value.start, value.stop, value.step)),
        lambda data, reader: slice(*reader.read(data)),
    ),
    Kind(
        "bytes",
        ("builtins:bytes",),
        lambda value, writer: writer.content(value),
        lambda data, reader: reader.content(data),
    ),
    Kind("partial", ("functools:partial",), _write_partial, _read_partial),
    _INDEX,
    _NA,
    _TYPE,
    _FUNCTION,
)
KINDS: dict[str, Kind] = {kind.tag: kind for kind in (*_PLAIN, *array_kinds.KINDS, *boosters.KINDS, *trees.KINDS)}
"""By their tags."""
_BY_TYPE = {name: kind for kind in KINDS.values() for name in kind.types}
