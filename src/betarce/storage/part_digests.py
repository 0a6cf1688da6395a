"""Short digests of the parts of a document, which name the part that was changed."""

import hashlib
import json
from collections.abc import Iterator, Mapping
from typing import Any

_DIGITS = 4  # of a part: a guess at the place, which the digest of the whole has to confirm
_MOST_NAMED = 5


def part_digests(document: Mapping[str, Any]) -> dict[str, Any]:
    """Give a short digest for each part of a document; for a list of objects, one for each field of each.

    Examples
    --------
    >>> found = part_digests({"rows": [{"age": 20, "name": "Anna"}], "format": 3})
    >>> len(found["rows"]["1"]), len(found["format"])
    (8, 4)
    """
    return {
        name: {str(i): _by_field(each) for i, each in enumerate(part, 1)} if _is_list_of_objects(part) else _short(part)
        for name, part in document.items()
    }


def changed_parts(document: Mapping[str, Any], stated: Any) -> str:
    """Say which parts do not match their digests, as the end of a sentence; "" if there are none to compare.

    Examples
    --------
    >>> document = {"rows": [{"age": 20, "name": "Anna"}, {"age": 60, "name": "Ben"}], "format": 3}
    >>> stated = part_digests(document)
    >>> document["rows"][1]["age"] = 61
    >>> changed_parts(document, stated)
    ' in `age` of entry 2 of `rows`'
    """
    if not isinstance(stated, Mapping):
        return ""
    found = [place for name in {**document, **stated} for place in _changes(name, document, stated)]
    if not found:
        return ", and it is the digests that were"
    more = f" and {len(found) - _MOST_NAMED} more places" if len(found) > _MOST_NAMED else ""
    return f" in {', '.join(found[:_MOST_NAMED])}{more}"


def _changes(name: str, document: Mapping[str, Any], stated: Mapping[str, Any]) -> Iterator[str]:
    part, then = document.get(name), stated.get(name)
    if name not in document or name not in stated:
        yield f"`{name}`, which is {'missing' if name in stated else 'new'}"
    elif isinstance(then, dict) and isinstance(part, list) and len(part) == len(then):
        for i, each in enumerate(part, 1):
            yield from (f"{field}entry {i} of `{name}`" for field in _changed_fields(each, then.get(str(i))))
    elif then != part_digests({name: part})[name]:
        yield f"`{name}`"


def _changed_fields(each: Any, stated: Any) -> Iterator[str]:
    if not isinstance(each, Mapping) or not isinstance(stated, str) or len(stated) != _DIGITS * len(each):
        yield ""
        return
    now = _by_field(each)
    for k, field in enumerate(sorted(each)):
        place = slice(k * _DIGITS, (k + 1) * _DIGITS)
        if now[place] != stated[place]:
            yield f"`{field}` of "


def _by_field(each: Mapping[str, Any]) -> str:
    return "".join(_short(each[field]) for field in sorted(each))


def _is_list_of_objects(part: Any) -> bool:
    return isinstance(part, list) and bool(part) and all(isinstance(each, Mapping) for each in part)


def _short(part: Any) -> str:
    text = json.dumps(part, sort_keys=True, separators=(",", ":"), allow_nan=False)
    return hashlib.blake2b(text.encode("ascii"), digest_size=_DIGITS // 2).hexdigest()
