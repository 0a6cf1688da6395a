"""Hand one value to all worker processes of this machine through a file that they map into memory.

The arrays of the value are pages of one file, so they are read when they are needed, and all workers share one copy.
"""

import mmap
import os
import pickle
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from tempfile import TemporaryDirectory
from typing import Any
from uuid import uuid4

_INDEX, _ARRAYS = "index", "arrays"
_ALIGNED = 64  # bytes: where an array may begin
_opened: dict[str, Any] = {}


@dataclass(frozen=True)
class SharedFile:
    """A value in a folder of its own, to be opened by the workers of the process that wrote it.

    Attributes
    ----------
    folder : str
    """

    folder: str

    def open(self) -> Any:
        """Give the value; it is read once per process, and what a process changes of it stays its own."""
        if self.folder not in _opened:
            _opened.clear()  # whatever was shared before is of no more use
            _opened[self.folder] = _read(self.folder)
        return _opened[self.folder]


@dataclass(frozen=True)
class SharedBytes:
    """A value that travels as bytes, to be opened once per process.

    Attributes
    ----------
    name : str
        What no other value is called.
    content : bytes
    """

    name: str
    content: bytes

    @classmethod
    def of(cls, value: Any) -> "SharedBytes":
        """Pack a value."""
        import cloudpickle

        return cls(uuid4().hex, cloudpickle.dumps(value, protocol=5))

    def open(self) -> Any:
        """Give the value; what a process changes of it stays its own."""
        if self.name not in _opened:
            _opened.clear()
            _opened[self.name] = pickle.loads(self.content)
        return _opened[self.name]


@contextmanager
def shared_file(value: Any) -> Iterator[SharedFile]:
    """Write a value for workers to open; the file is gone at the end.

    Examples
    --------
    >>> import numpy as np
    >>> with shared_file({"weights": np.arange(3.0)}) as shared:
    ...     shared.open()
    {'weights': array([0., 1., 2.])}
    """
    with TemporaryDirectory(prefix="betarce-", ignore_cleanup_errors=True) as folder:
        _write(value, folder)
        try:
            yield SharedFile(folder)
        finally:
            _opened.pop(folder, None)


def forget_opened() -> None:
    """Remove the files of a process that died before it could; its last workers call this."""
    for name in _opened:
        if os.path.isabs(name):
            shutil.rmtree(name, ignore_errors=True)


def _write(value: Any, folder: str) -> None:
    import cloudpickle

    buffers: list[pickle.PickleBuffer] = []
    # Not plain pickle: models of the user's own script exist in no module that a worker could import.
    content = cloudpickle.dumps(value, protocol=5, buffer_callback=buffers.append)
    places = []
    with open(os.path.join(folder, _ARRAYS), "xb") as file:
        for buffer in buffers:
            file.write(b"\0" * (-file.tell() % _ALIGNED))
            raw = buffer.raw()
            places.append((file.tell(), raw.nbytes))
            file.write(raw)
        file.write(b"\0")  # an empty file cannot be mapped
    with open(os.path.join(folder, _INDEX), "xb") as file:
        pickle.dump((content, places), file)


def _read(folder: str) -> Any:
    with open(os.path.join(folder, _INDEX), "rb") as file:
        content, places = pickle.load(file)
    with open(os.path.join(folder, _ARRAYS), "rb") as file:
        # Private pages: an array can be written to, as the one that it was made from, and nobody else sees it.
        pages = memoryview(mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_COPY))
    return pickle.loads(content, buffers=[pages[start : start + size] for start, size in places])
