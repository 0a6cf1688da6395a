"""The words of the page: one file of English, and translations of it."""

import os
import re
from collections.abc import Iterator, Mapping
from functools import cache
from importlib.resources import files
from typing import Any

from betarce.errors import CorruptFile, InvalidInput
from betarce.storage.documents import parse_json
from betarce.storage.files import MOST_BYTES_BY_HAND, read_text

_SLOT = re.compile(r"\{(\w+)\}")
_DIRECTIONS = ("ltr", "rtl")
_NUMBERS = ("zero", "one", "two", "few", "many", "other")


@cache
def english() -> Mapping[str, Any]:
    """Give the words that come with the package."""
    found: dict[str, Any] = parse_json(asset("texts.en.json"))
    return found


def asset(name: str) -> str:
    """Read a script, a style or a template of the page."""
    return files("betarce.results.page").joinpath("assets", name).read_text(encoding="utf-8")


def check_texts(texts: str | os.PathLike[str] | Mapping[str, Any] | None) -> Mapping[str, Any]:
    """Give the words to use: English, or a translation that says everything that English says.

    Parameters
    ----------
    texts : mapping, path of a JSON file, or None

    Raises
    ------
    InvalidInput
        If a text is missing, unknown, or lacks a slot such as "{n}".

    Examples
    --------
    >>> check_texts(None)["language"]
    'en'
    >>> check_texts({**english(), "back": "Alle Zeilen"})["back"]
    'Alle Zeilen'
    >>> check_texts({"language": "de"})
    Traceback (most recent call last):
    betarce.errors.InvalidInput: `texts` must translate every text; it lacks 'agrees'.
    """
    if texts is None:
        return english()
    given = texts if isinstance(texts, Mapping) else _read(texts)
    for place, fault in _faults(english(), given, ""):
        raise InvalidInput(f"`texts` must translate every text; it {fault} {place!r}.")
    if given["direction"] not in _DIRECTIONS:
        raise InvalidInput(f"`texts` must have the direction 'ltr' or 'rtl'; got {given['direction']!r}.")
    return given


def _read(path: str | os.PathLike[str]) -> Mapping[str, Any]:
    try:
        found = parse_json(read_text(path, most=MOST_BYTES_BY_HAND))
    except (FileNotFoundError, IsADirectoryError):
        raise InvalidInput(f"`texts` must name a JSON file; there is none at {os.fspath(path)!r}.") from None
    except CorruptFile as error:
        raise CorruptFile(f"{os.fspath(path)!r} holds no texts: {error}.") from error
    if not isinstance(found, Mapping):
        raise CorruptFile(f"{os.fspath(path)!r} holds no texts: it is not an object.")
    return found


def _faults(known: Any, given: Any, place: str) -> Iterator[tuple[str, str]]:
    """Name every place in which a translation differs in shape from English."""
    if isinstance(known, Mapping) and isinstance(given, Mapping):
        if set(known) <= set(_NUMBERS):  # other languages have other forms for numbers than English
            known = dict.fromkeys([name for name in _NUMBERS if name in given or name == "other"], known["other"])
        for name in sorted({*known, *given}, key=str):
            inner = f"{place}.{name}" if place else str(name)
            if name not in given or name not in known:
                yield inner, "has unknown" if name in given else "lacks"
            else:
                yield from _faults(known[name], given[name], inner)
    elif isinstance(known, list) and isinstance(given, list):
        if len(known) != len(given):
            yield place, "has another number of entries in"
        for i, (one, other) in enumerate(zip(known, given, strict=False)):
            yield from _faults(one, other, f"{place}[{i}]")
    elif type(known) is not type(given):
        yield place, "has the wrong kind of value in"
    elif isinstance(known, str) and not set(_SLOT.findall(given)) <= set(_SLOT.findall(known)):
        yield place, "has unknown slots in"
