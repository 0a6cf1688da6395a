"""Serialise named arrays to bytes, without pickle.

The bytes hold a digest, a header in strict JSON, then the values as they lie in memory. Nothing is compressed, so a
file never takes more memory than disk; nothing in it is ever executed.
"""

import json
import math
import re
from collections.abc import Mapping
from hashlib import blake2b
from typing import Any

import numpy as np

from betarce.arrays import AnyArray
from betarce.errors import CorruptFile
from betarce.storage.documents import parse_json

_MAGIC = b"betarce arrays 2\n"
_SEAL = 32
_LENGTH = 8  # bytes that say how long the header is
_KINDS = "biufUS"
_DTYPE = re.compile(rf"[<>|][{_KINDS}][1-9][0-9]{{0,9}}")
_MOST_DIMENSIONS = 8
_LAST_LETTER = 0x10FFFF


def to_bytes(arrays: Mapping[str, AnyArray]) -> bytes:
    """Serialise arrays of numbers, truth values or text.

    Examples
    --------
    >>> content = to_bytes({"a": np.array([[1.5, 2.5]]), "b": np.array(["x", "yz"])})
    >>> from_bytes(content)
    {'a': array([[1.5, 2.5]]), 'b': array(['x', 'yz'], dtype='<U2')}
    >>> from_bytes(content[:-1])
    Traceback (most recent call last):
    betarce.errors.CorruptFile: it is not whole, or not a file of betarce
    """
    parts = {name: np.ascontiguousarray(array) for name, array in arrays.items()}
    for name, array in parts.items():
        if array.dtype.kind not in _KINDS:
            raise TypeError(f"{name} holds {array.dtype}; numbers, truth values and text can be kept")
    header = [[name, array.dtype.str, list(np.shape(arrays[name]))] for name, array in parts.items()]
    text = json.dumps(header).encode("ascii")
    body = b"".join([len(text).to_bytes(_LENGTH, "little"), text, *(array.tobytes() for array in parts.values())])
    return _MAGIC + blake2b(body, digest_size=_SEAL).digest() + body


def from_bytes(content: bytes) -> dict[str, AnyArray]:
    """Read the output of `to_bytes`; raise CorruptFile, with the reason alone, for anything else."""
    start = len(_MAGIC) + _SEAL
    body = content[start:]
    if not content.startswith(_MAGIC) or content[len(_MAGIC) : start] != blake2b(body, digest_size=_SEAL).digest():
        raise CorruptFile("it is not whole, or not a file of betarce")
    end = _LENGTH + int.from_bytes(body[:_LENGTH], "little")
    if not _LENGTH <= end <= len(body):
        raise CorruptFile("its header is longer than the file")
    try:
        header = [_entry(each) for each in _listed(parse_json(body[_LENGTH:end].decode("ascii")))]
    except (ValueError, TypeError) as error:
        raise CorruptFile(f"its header cannot be read: {error}") from error
    sizes = [math.prod(shape) * dtype.itemsize for _, dtype, shape in header]
    if len({name for name, _, _ in header}) < len(header) or end + sum(sizes) != len(body):
        raise CorruptFile("its header does not fit its content")
    found = {}
    for (name, dtype, shape), size in zip(header, sizes, strict=True):
        found[name] = _array(body[end : end + size], dtype, shape)
        end += size
    return found


def _listed(header: Any) -> list[Any]:
    if not isinstance(header, list):
        raise ValueError(f"{header!r} is no list of arrays")
    return header


def _entry(data: Any) -> tuple[str, "np.dtype[Any]", tuple[int, ...]]:
    match data:
        case [str(name), str(kind), list(shape)] if len(shape) <= _MOST_DIMENSIONS and _DTYPE.fullmatch(kind):
            dtype = np.dtype(kind)
            whole = all(type(length) is int and length >= 0 for length in shape)
            if whole and dtype.str == kind:
                return name, dtype, tuple(shape)
    raise ValueError(f"{data!r} describes no array")


def _array(content: bytes, dtype: "np.dtype[Any]", shape: tuple[int, ...]) -> AnyArray:
    array = np.frombuffer(content, dtype=dtype).reshape(shape).copy()
    flat = np.frombuffer(content, dtype=np.uint8 if dtype.kind == "b" else np.uint32) if dtype.kind in "bU" else None
    if flat is not None and dtype.kind == "U" and dtype.byteorder == ">":
        flat = flat.byteswap()
    if flat is not None and flat.size and flat.max() > (1 if dtype.kind == "b" else _LAST_LETTER):
        raise CorruptFile("an array holds what is neither text nor a truth value")
    return array
