"""Read the rows of a ledger's tables: whoever has the file can write anything into it, so everything is checked."""

from collections.abc import Callable, Hashable, Mapping
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

import numpy as np

from betarce.arrays import FloatArray
from betarce.errors import CorruptFile
from betarce.features import FeatureSpace
from betarce.features.stored import faults_are_corrupt
from betarce.ledger import moments
from betarce.ledger.chain import Entry, canonical
from betarce.ledger.schema import KINDS
from betarce.posterior.certificate_fields import plain_target, read_target
from betarce.storage.documents import parse_json
from betarce.storage.values import plain, unplain

OUTCOMES = ("held", "broken", "expired", "unscored")
_OF_NO_PROMISE = ("opened", "rechecked")
_FLOAT = 8  # bytes


@dataclass(frozen=True, eq=False)
class Content:
    """What lies beside the chain of one promise.

    Attributes
    ----------
    name : hashable
        What the row is called.
    target : label or list of labels
    cohort : str
    original, point : array
        For whom, and what; of the same length.
    features : str
        The digest of the feature space.
    """

    name: Hashable
    target: Any
    cohort: str
    original: FloatArray
    point: FloatArray
    features: str


def read_entry(row: tuple[Any, ...]) -> Entry:
    """Read one row of the chain."""
    seq, kind, promise, *texts = row
    if not isinstance(seq, int) or not all(isinstance(text, str) for text in (kind, promise or "", *texts)):
        raise CorruptFile(f"entry {seq!r} holds something else than text")
    entry = Entry(*row)
    if kind not in KINDS or (promise is None) != (kind in _OF_NO_PROMISE):
        raise CorruptFile(f"entry {seq} is of no kind that a ledger has: {kind[:40]!r}")
    return entry


def read_facts(kind: str, body: Any) -> Mapping[str, Any]:
    """Read what an entry of a kind says for ever; the result is shared, and must not be changed.

    Examples
    --------
    >>> read_facts("broken", '{"recheck":3}')
    {'recheck': 3}
    >>> read_facts("broken", '{"recheck":-3}')
    Traceback (most recent call last):
    betarce.errors.CorruptFile: a 'broken' entry cannot say {"recheck":-3}
    """
    if not isinstance(body, str):
        raise CorruptFile(f"a {kind!r} entry cannot say {body!r}")
    return _facts(kind, body)


@lru_cache(maxsize=1024)  # thousands of promises are issued on the same terms
def _facts(kind: str, body: str) -> Mapping[str, Any]:
    facts = _canonical(body, "body")
    checks = _FACTS.get(kind, {})
    needed = checks.keys() - _OPTIONAL
    if not isinstance(facts, dict) or not needed <= facts.keys() <= checks.keys():
        raise CorruptFile(f"a {kind!r} entry cannot say {body[:200]}")
    if not all(checks[name](value) for name, value in facts.items()):
        raise CorruptFile(f"a {kind!r} entry cannot say {body[:200]}")
    return facts


def read_content(name: Any, target: Any, cohort: Any, original: Any, point: Any, features: Any) -> Content:
    """Read what lies beside the chain of a promise.

    Raises
    ------
    CorruptFile
        If `Ledger.record` could not have written it.
    """
    if not isinstance(features, str):
        raise CorruptFile("its feature space has no digest")
    before, after = _point(original, "original"), _point(point, "point")
    if before.shape != after.shape:
        raise CorruptFile("its point and its original have different lengths")
    return Content(_name(name), _target(target), read_remark(cohort, "cohort"), before, after, features)


def read_remark(text: Any, what: str = "remark") -> str:
    """Read text that was written as JSON."""
    found = _canonical(text, what)
    if not isinstance(found, str) or (not found and what == "remark"):
        raise CorruptFile(f"its {what} is no text")
    return found


def read_signatures(text: Any) -> list[Any]:
    """Read the signatures of a statement as plain data."""
    found = _canonical(text, "signatures")
    if not isinstance(found, list):
        raise CorruptFile("its signatures are no list")
    return found


def check_points(points: FloatArray, features: FeatureSpace) -> None:
    """Refuse points that no table of a feature space has.

    Parameters
    ----------
    points : array, shape (n, columns)
    features : FeatureSpace
    """
    if points.ndim != 2 or points.shape[1] != len(features):
        raise CorruptFile(f"its points have other columns than its {len(features)} features")
    for column, values in zip(features.columns, points.T, strict=True):
        gaps = np.isnan(values)
        if column.levels is None:
            possible = np.isfinite(values)
        else:
            possible = (values >= 0) & (values < len(column.levels)) & (values == np.floor(values))
        if not np.where(gaps, column.missing, possible).all():
            raise CorruptFile(f"one of its points has a value that column {column.title!r} cannot hold")


def _canonical(text: Any, what: str) -> Any:
    """Read JSON that is written in the one form that digests are taken of."""
    if not isinstance(text, str):
        raise CorruptFile(f"its {what} is no text")
    document = parse_json(text)
    if canonical(document) != text:
        raise CorruptFile(f"its {what} is laid out otherwise than betarce writes it")
    return document


@lru_cache(maxsize=1024)
def _name(text: Any) -> Hashable:
    data = _canonical(text, "name")
    with faults_are_corrupt("name"):
        found: Hashable = unplain(data)
        _check_same(plain(found, what="the name of a row"), data, "name")
        hash(found)
        return found


@lru_cache(maxsize=1024)
def _target(text: Any) -> Any:
    data = _canonical(text, "target")
    with faults_are_corrupt("target"):
        found = read_target(data)
        _check_same(plain_target(found), data, "target")
    if found is None:
        raise CorruptFile("its target is none")
    return found


def _check_same(written: Any, data: Any, what: str) -> None:
    if canonical(written) != canonical(data):
        raise CorruptFile(f"its {what} says something that no {what} means")


def _point(content: Any, what: str) -> FloatArray:
    if not isinstance(content, bytes) or len(content) % _FLOAT:
        raise CorruptFile(f"its {what} is no list of numbers")
    return np.frombuffer(content, dtype="<f8")


# What entries say, by kind


def _is_text(value: Any) -> bool:
    return isinstance(value, str)


def _is_share(value: Any) -> bool:
    return type(value) is float and 0 <= value <= 1


def _is_inside(value: Any) -> bool:
    return type(value) is float and 0 < value < 1


def _is_seq(value: Any) -> bool:
    return type(value) is int and value > 0


def _is_moment(value: Any) -> bool:
    moments.read(value)
    return True


def _is_written_text(value: Any) -> bool:
    read_remark(value, "model")
    return True


def _is_count(value: Any) -> bool:
    return (
        isinstance(value, dict)
        and sorted(value) == sorted(OUTCOMES)
        and all(type(n) is int and n >= 0 for n in value.values())
    )


def _or_none(check: Callable[[Any], bool]) -> Callable[[Any], bool]:
    return lambda value: value is None or check(value)


_OPTIONAL = {"supersedes"}
_FACTS: Mapping[str, Mapping[str, Callable[[Any], bool]]] = {
    "opened": {"ledger": _is_text, "written_by": _is_text},
    "issued": {
        "delta": _is_inside,
        "confidence": _is_inside,
        "expires": _or_none(_is_moment),
        "identity": _is_text,
        "supersedes": _is_text,
    },
    "superseded": {"by": _is_text},
    "broken": {"recheck": _is_seq},
    "expired": {"recheck": _is_seq},
    "rechecked": {
        "model": _is_written_text,
        "deployed": lambda value: isinstance(value, bool),
        "counts": _is_count,
        "p": _or_none(_is_share),
        "audit_share": _or_none(_is_share),
    },
}
"""The facts of each kind of entry; those of all others are empty."""
