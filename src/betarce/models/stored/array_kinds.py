"""Serialise arrays, scalars, records, sparse matrices or random generators."""

import math
import re
from typing import TYPE_CHECKING, Any

import numpy as np

from betarce.arrays import AnyArray
from betarce.errors import CorruptFile
from betarce.models.stored.kind import Kind

if TYPE_CHECKING:
    from betarce.models.stored.reader import Reader
    from betarce.models.stored.writer import Writer

_FORMAT = re.compile(r"[<|][biuf][1248]")
_MOST_FIELDS = 64
_GENERATORS = ("MT19937", "PCG64", "PCG64DXSM", "Philox", "SFC64")
_SPARSE = ("csc_array", "csc_matrix", "csr_array", "csr_matrix")


def _write_array(value: AnyArray, writer: "Writer") -> Any:
    if value.dtype.names:
        return {"record": _write_record(value, writer)}
    if value.dtype.kind == "O":
        return {"shape": list(value.shape), "items": writer.items(value.ravel().tolist())}
    return writer.array(value)


def _read_array(data: Any, reader: "Reader") -> AnyArray:
    if type(data) is int:
        return reader.array(data)
    if "record" in data:
        return _read_record(data["record"], reader)
    items = [reader.read(part) for part in data["items"]]
    shape = _shape(data["shape"])
    if math.prod(shape) != len(items):
        raise CorruptFile("an array of objects does not fill its shape")
    found = np.empty(len(items), dtype=object)
    for i, item in enumerate(items):  # assigned at once, lists among them would be unfolded
        found[i] = item
    return found.reshape(shape)


def _write_record(value: AnyArray, writer: "Writer") -> Any:
    """Write an array of records, with zeros between the fields, where memory may hold anything."""
    described: Any = value.dtype.fields
    clean = np.zeros(value.shape, dtype=value.dtype)
    for name in described:
        clean[name] = value[name]
    fields = [[name, part.str, int(offset)] for name, (part, offset, *_) in described.items()]
    return {
        "fields": fields,
        "bytes": value.dtype.itemsize,
        "shape": list(value.shape),
        "content": writer.content(clean.tobytes()),
    }


def _read_record(data: Any, reader: "Reader") -> AnyArray:
    fields = data["fields"]
    known = all(isinstance(form, str) and _FORMAT.fullmatch(form) for _, form, _ in fields)
    if not known or not 0 < len(fields) <= _MOST_FIELDS:
        raise CorruptFile("an array of records has fields that no model has")
    names, formats, offsets = (list(part) for part in zip(*fields, strict=True))
    dtype = np.dtype({"names": names, "formats": formats, "offsets": offsets, "itemsize": data["bytes"]})
    return np.frombuffer(reader.content(data["content"]), dtype=dtype).reshape(_shape(data["shape"])).copy()


def _shape(data: Any) -> tuple[int, ...]:
    if not all(type(length) is int and length >= 0 for length in data):
        raise CorruptFile(f"{data!r} is no shape")
    return tuple(data)


def _read_scalar(data: Any, reader: "Reader") -> Any:
    array = reader.array(data)
    if array.ndim:
        raise CorruptFile("a number has a shape")
    return array[()]


def _read_dtype(data: Any, _: "Reader") -> Any:
    dtype = np.dtype(data)
    if not isinstance(data, str) or dtype.kind not in "biufUSO" or dtype.names:
        raise CorruptFile(f"no model holds the dtype {data!r}")
    return dtype


def _write_dtype(value: Any, writer: "Writer") -> Any:
    if value.kind not in "biufUSO" or value.names:
        raise writer.unstorable(f"is the dtype {value}")
    return value.str


def _write_sparse(value: Any, writer: "Writer") -> Any:
    parts = [writer.array(part) for part in (value.data, value.indices, value.indptr)]
    return {"kind": type(value).__name__, "shape": list(value.shape), "parts": parts}


def _read_sparse(data: Any, reader: "Reader") -> Any:
    from scipy import sparse

    if data["kind"] not in _SPARSE:
        raise CorruptFile(f"no model holds a {data['kind']!r}")
    parts = tuple(reader.array(part) for part in data["parts"])
    matrix = getattr(sparse, data["kind"])(parts, shape=_shape(data["shape"]))
    matrix.check_format(full_check=True)
    return matrix


def _write_generator(value: Any, writer: "Writer") -> Any:
    state = value.get_state(legacy=False) if isinstance(value, np.random.RandomState) else value.bit_generator.state
    if state["bit_generator"] not in _GENERATORS:
        raise writer.unstorable(f"draws from {state['bit_generator']}")
    return {"legacy": isinstance(value, np.random.RandomState), "state": writer.write(state)}


def _read_generator(data: Any, reader: "Reader") -> Any:
    state = reader.read(data["state"])
    if state["bit_generator"] not in _GENERATORS:
        raise CorruptFile(f"no model draws from {state['bit_generator']!r}")
    bits = getattr(np.random, state["bit_generator"])()
    if data["legacy"] is True:
        legacy = np.random.RandomState(bits)
        legacy.set_state(state)
        return legacy
    bits.state = state
    return np.random.Generator(bits)


SCALAR = Kind("scalar", (), lambda value, writer: writer.array(np.asarray(value)), _read_scalar)
DTYPE = Kind("dtype", (), _write_dtype, _read_dtype)
KINDS = (
    Kind("array", ("numpy:ndarray",), _write_array, _read_array),
    Kind("sparse", tuple(f"scipy.sparse._{name[:3]}:{name}" for name in _SPARSE), _write_sparse, _read_sparse),
    Kind(
        "random",
        ("numpy.random._generator:Generator", "numpy.random.mtrand:RandomState"),
        _write_generator,
        _read_generator,
    ),
    SCALAR,
    DTYPE,
)
"""In the order in which they are registered."""
