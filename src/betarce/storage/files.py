"""Files that are written whole or not at all, and read within limits."""

import hashlib
import json
import os
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any
from uuid import uuid4

from betarce.errors import CorruptFile, InvalidInput, NotWritten
from betarce.storage.documents import parse_json
from betarce.storage.part_digests import changed_parts, part_digests

MOST_BYTES = 2**30
"""Most bytes of a file of results; parsed, it takes ten times as much memory."""
MOST_BYTES_BY_HAND = 2**22
"""Most bytes of a file that people write: four megabytes of rules are 50,000 columns."""

_DIGEST = "digest"
_PARTS = "part_digests"
_WIDTH = 110


def write_whole(path: str | os.PathLike[str], content: str | bytes, *, mode: int = 0o666) -> Path:
    """Write a file whole or not at all: an existing file stays until the new one is complete.

    `mode` says who may read and write a new file, as far as the system's own mask allows.
    """
    target = check_writable(path)
    temporary = target.with_name(f".{uuid4().hex}.tmp")
    try:
        with open(temporary, "xb", opener=lambda name, flags: os.open(name, flags, mode)) as file:
            # A lone surrogate has no UTF-8 form; as a backslash escape it is valid JSON.
            file.write(content.encode("utf-8", "backslashreplace") if isinstance(content, str) else content)
            file.flush()
            os.fsync(file.fileno())
        if target.exists():
            temporary.chmod(target.stat().st_mode & 0o777)
        os.replace(temporary, target)
    except OSError as error:
        raise NotWritten(
            f"{os.fspath(path)!r} could not be written: {error.strerror or error}. What was there is still there."
        ) from error
    finally:
        with suppress(OSError):  # a disk that cannot be written to may not let go of it either
            temporary.unlink(missing_ok=True)
    return target


def check_path(path: object, *, what: str = "path") -> str:
    """Refuse what cannot be a path: numbers, text with a NUL, text that the file system cannot encode.

    Examples
    --------
    >>> check_path("answers.json")
    'answers.json'
    >>> check_path("answers\\0.json")
    Traceback (most recent call last):
    betarce.errors.InvalidInput: `path` must be a path; got 'answers\\x00.json', which no file can be called.
    """
    if not isinstance(path, (str, os.PathLike)) or not isinstance(text := os.fspath(path), str):
        raise InvalidInput(f"`{what}` must be a path, as text or as a pathlib.Path; got {path!r}.")
    try:
        possible = b"\0" not in os.fsencode(text)
    except UnicodeEncodeError:
        possible = False
    if not possible:
        raise InvalidInput(f"`{what}` must be a path; got {text!r}, which no file can be called.")
    return text


def check_writable(path: str | os.PathLike[str]) -> Path:
    """Refuse a path that cannot become a file; links are followed, so that they stay links."""
    target = Path(os.path.realpath(check_path(path)))
    problem = ""
    if os.path.isdir(target):
        problem = "is a folder"
    elif os.path.exists(target) and not os.path.isfile(target):
        problem = "is a device or a pipe"
    elif not os.path.isdir(target.parent):
        problem = f"is in {str(target.parent)!r}, which is not a folder"
    elif not os.access(target.parent, os.W_OK):
        problem = "is in a folder that cannot be written to"
    if problem:
        raise InvalidInput(f"`path` must name a file in an existing folder; {os.fspath(path)!r} {problem}.")
    return target


def make_folder(folder: str | os.PathLike[str]) -> Path:
    """Make a folder if it does not exist; refuse a file."""
    target = Path(check_path(folder, what="folder")).resolve()
    if os.path.exists(target) and not os.path.isdir(target):
        raise InvalidInput(f"`folder` must be a folder, or not there yet; {str(target)!r} is a file.")
    try:
        target.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise NotWritten(f"The folder {str(target)!r} could not be made: {error.strerror or error}.") from error
    return target


def seal(document: Mapping[str, Any], *, by_part: bool = False) -> str:
    """Write a document as JSON that people can read, with a digest of its content.

    The digest finds damage and careless edits; it is no signature. With `by_part`, short digests of the parts come
    with it, which say where the damage is.

    Examples
    --------
    >>> text = seal({"format": 1, "values": [1.5, None]})
    >>> unseal(text)
    {'format': 1, 'values': [1.5, None]}
    >>> unseal(text.replace("1.5", "1.6"))
    Traceback (most recent call last):
    betarce.errors.CorruptFile: the content does not match its digest: it was damaged or edited
    """
    content = {**document, _PARTS: part_digests(document)} if by_part else document
    text = _laid_out({**content, _DIGEST: digest(content)}) + "\n"
    if len(text) > MOST_BYTES // 4 and len(text.encode("utf-8", "backslashreplace")) > MOST_BYTES:
        raise InvalidInput(f"A file may take {MOST_BYTES:,} bytes; this one would take more. Write it in parts.")
    return text


def unseal(text: str) -> dict[str, Any]:
    """Read what `seal` wrote; raise CorruptFile, with the reason alone, for anything else."""
    document = parse_json(text)
    if not isinstance(document, dict) or _DIGEST not in document:
        raise CorruptFile("it has no digest: it is not a file of betarce")
    stated = document.pop(_DIGEST)
    if stated != digest(document):
        where = changed_parts(document, document.pop(_PARTS, None))
        raise CorruptFile(f"the content does not match its digest: it was damaged or edited{where}")
    document.pop(_PARTS, None)
    return document


def is_as_written(text: str) -> bool:
    """Say whether JSON is laid out as `seal` lays it out, to the last space.

    Examples
    --------
    >>> text = seal({"format": 1})
    >>> is_as_written(text), is_as_written(text.replace(": 1", ":  1"))
    (True, False)
    """
    return _laid_out(parse_json(text)) + "\n" == text


def read_text(path: str | os.PathLike[str], *, most: int = MOST_BYTES) -> str:
    """Read a text file; raise CorruptFile if it is not UTF-8. FileNotFoundError and IsADirectoryError pass through."""
    try:
        return read_bytes(path, most=most).decode("utf-8")
    except UnicodeDecodeError as error:
        raise CorruptFile(f"it is not text in UTF-8: {error}") from error
    except NotADirectoryError as error:
        raise FileNotFoundError(*error.args) from error
    except OSError as error:
        if isinstance(error, (FileNotFoundError, IsADirectoryError)):
            raise
        raise InvalidInput(f"{os.fspath(path)!r} cannot be read: {error.strerror or error}.") from error


def read_bytes(path: str | os.PathLike[str], *, most: int = MOST_BYTES) -> bytes:
    """Read a file of at most `most` bytes; of a larger one no more than that is read."""
    with Path(check_path(path)).open("rb") as file:
        # A device or a pipe has no size of its own.
        content = b"" if (stated := os.fstat(file.fileno()).st_size) > most else file.read(most + 1)
    if max(len(content), stated) > most:
        raise CorruptFile(f"it has more than {most:,} bytes")
    return content


def digest(document: Mapping[str, Any]) -> str:
    """Give a digest of the content of a document of plain data, whatever its layout."""
    canonical = json.dumps(document, sort_keys=True, separators=(",", ":"), allow_nan=False)
    return "blake2b:" + hashlib.blake2b(canonical.encode("ascii"), digest_size=16).hexdigest()


def _laid_out(value: Any, indent: int = 0) -> str:
    """Write JSON with one line for each short object or list of plain values."""
    line = json.dumps(value, ensure_ascii=False, allow_nan=False)
    nested = isinstance(value, dict) or (isinstance(value, list) and any(isinstance(v, (dict, list)) for v in value))
    if not value or not nested or (indent and len(line) + indent <= _WIDTH):
        return line
    inner = " " * (indent + 2)
    if isinstance(value, dict):
        parts = [f"{json.dumps(key, ensure_ascii=False)}: {_laid_out(each, indent + 2)}" for key, each in value.items()]
    else:
        parts = [_laid_out(each, indent + 2) for each in value]
    opening, closing = "{}" if isinstance(value, dict) else "[]"
    return f"{opening}\n{inner}" + f",\n{inner}".join(parts) + f"\n{' ' * indent}{closing}"
