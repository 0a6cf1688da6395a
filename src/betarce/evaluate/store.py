"""What took long to compute, kept on disk by all that defines it, so that cells and later runs share it."""

import os
import warnings
from collections.abc import Mapping
from dataclasses import dataclass
from hashlib import blake2b
from importlib.metadata import PackageNotFoundError, version
from io import BytesIO
from pathlib import Path
from typing import Any

import numpy as np

import betarce
from betarce.arrays import AnyArray
from betarce.errors import BetarceWarning, CorruptFile
from betarce.files import digest, write_whole

Arrays = Mapping[str, AnyArray]
_MAGIC = b"betarce arrays 1\n"
_SEAL = 32
_LIBRARIES = ("numpy", "scipy", "scikit-learn", "lightgbm", "dice-ml")


@dataclass(frozen=True)
class Store:
    """Arrays under a digest, in files named by what they are; nothing in them is ever run.

    Parameters
    ----------
    folder : path or None
        Where they are kept; None keeps nothing.
    """

    folder: str | os.PathLike[str] | None

    def read(self, definition: Mapping[str, Any]) -> dict[str, AnyArray] | None:
        """Give what was kept under a definition; None if nothing was, or if it is damaged, which is said."""
        if self.folder is None:
            return None
        path = self._path(definition)
        try:
            return _unsealed(path.read_bytes())
        except FileNotFoundError:
            return None
        except CorruptFile as error:
            warnings.warn(f"{path} cannot be used: {error}. It is computed again.", BetarceWarning)
            return None

    def write(self, definition: Mapping[str, Any], arrays: Arrays) -> None:
        """Keep arrays under a definition."""
        if self.folder is None:
            return
        path = self._path(definition)
        path.parent.mkdir(parents=True, exist_ok=True)
        write_whole(path, _sealed(arrays))

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


def _sealed(arrays: Arrays) -> bytes:
    body = BytesIO()
    np.savez(body, **arrays)  # type: ignore[arg-type]  # none of our names is "file"
    return _MAGIC + blake2b(body.getvalue(), digest_size=_SEAL).digest() + body.getvalue()


def _unsealed(content: bytes) -> dict[str, AnyArray]:
    start = len(_MAGIC) + _SEAL
    body = content[start:]
    if not content.startswith(_MAGIC) or content[len(_MAGIC) : start] != blake2b(body, digest_size=_SEAL).digest():
        raise CorruptFile("it is not whole, or not a file of betarce")
    with np.load(BytesIO(body), allow_pickle=False) as arrays:
        return dict(arrays)
