"""A disk cache keyed by everything that defines its content, which cells and later runs share."""

import os
import warnings
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from hashlib import blake2b
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any, TypeVar

import numpy as np

import betarce
from betarce.arrays import AnyArray
from betarce.errors import BetarceWarning, CorruptFile
from betarce.storage.array_file import from_bytes, to_bytes
from betarce.storage.files import digest, read_bytes, write_whole

Arrays = Mapping[str, AnyArray]
T = TypeVar("T")
_MOST_BYTES = 2**32
_LIBRARIES = ("numpy", "scipy", "scikit-learn", "lightgbm", "dice-ml")


@dataclass(frozen=True)
class DiskCache:
    """Arrays in files that are named by a digest of their definition; nothing in them is ever run.

    Parameters
    ----------
    folder : path or None
        Where they are stored; None stores nothing.
    """

    folder: str | os.PathLike[str] | None

    def read(self, definition: Mapping[str, Any], decode: Callable[[dict[str, AnyArray]], T]) -> T | None:
        """Give what is stored under a definition, decoded; None if it is not there, or damaged, with a warning.

        Parameters
        ----------
        definition : mapping
            All that defines the content.
        decode : callable (dict of arrays) -> object
            Raises CorruptFile for arrays that are not what it takes.
        """
        if self.folder is None:
            return None
        path = self._path(definition)
        try:
            return decode(from_bytes(read_bytes(path, most=_MOST_BYTES)))
        except FileNotFoundError:
            return None
        except CorruptFile as error:
            warnings.warn(f"{path} cannot be used: {error}. It is computed again.", BetarceWarning)
            return None

    def write(self, definition: Mapping[str, Any], arrays: Arrays) -> None:
        """Store arrays under a definition."""
        if self.folder is None:
            return
        path = self._path(definition)
        path.parent.mkdir(parents=True, exist_ok=True)
        write_whole(path, to_bytes(arrays))

    def _path(self, definition: Mapping[str, Any]) -> Path:
        assert self.folder is not None
        versions = {"betarce": betarce.__version__, **{name: _version(name) for name in _LIBRARIES}}
        return Path(self.folder) / (digest({**definition, "versions": versions}).partition(":")[2] + ".arrays")


def fingerprint_of(*arrays: AnyArray) -> str:
    """Give a digest of the content, shape and kind of arrays."""
    found = blake2b(digest_size=16)
    for array in arrays:
        found.update(f"{array.dtype.str}{array.shape}".encode())
        found.update(np.ascontiguousarray(array).tobytes())
    return found.hexdigest()


def _version(library: str) -> str:
    try:
        return version(library)
    except PackageNotFoundError:
        return ""
