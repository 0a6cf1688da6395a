"""The fields of a certificate as strict JSON holds them.

A digest covers every field. It finds damage and careless edits; it is no signature.
"""

import hashlib
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from betarce.arrays import FloatArray
from betarce.errors import CorruptFile
from betarce.posterior.prior import Prior
from betarce.storage.files import digest

FORMAT = 3
_KIND = "betarce_certificate"
_DIGEST = "digest"


def fingerprint(point: FloatArray) -> str:
    """Give a short digest that ties a certificate to the exact values of its point.

    Examples
    --------
    >>> fingerprint(np.array([1.0, 2.0])) == fingerprint(np.array([1.0, 2.0]))
    True
    >>> fingerprint(np.array([1.0, 2.0])) == fingerprint(np.array([1.0, 2.0000001]))
    False
    """
    # Adding zero turns -0.0 into 0.0: they are the same value to every model. So are all kinds of NaN.
    values = np.ascontiguousarray(point, dtype="<f8") + 0.0
    values[np.isnan(values)] = np.nan
    return hashlib.blake2b(values.tobytes(), digest_size=8).hexdigest()


def with_digest(fields: Mapping[str, Any]) -> dict[str, Any]:
    """Add the format and the digest to the fields of a certificate."""
    data = {_KIND: FORMAT, **fields}
    return {**data, _DIGEST: digest(data)}


def without_digest(data: Any) -> dict[str, Any]:
    """Give the fields of a certificate, if their format is known and nothing was changed."""
    if not isinstance(data, Mapping) or _KIND not in data:
        raise CorruptFile(f"This is not a betarce certificate: it has no `{_KIND}` field.")
    _check_format(data[_KIND])
    fields = dict(data)
    if fields.pop(_DIGEST, None) != digest(fields):
        raise CorruptFile("This certificate does not match its digest: it was damaged or edited. Do not rely on it.")
    del fields[_KIND]
    return fields


def _check_format(stated: Any) -> None:
    if type(stated) is int and 0 < stated < FORMAT:
        raise CorruptFile(
            f"This certificate has format {stated}, of an older version of betarce, which says less than it should; "
            f"this version reads format {FORMAT}. Certify the point again."
        )
    if type(stated) is not int or stated != FORMAT:
        raise CorruptFile(
            f"This certificate has format {stated!r}; this version of betarce reads format {FORMAT}. Upgrade betarce "
            "to read it."
        )


def verdict_of(fields: dict[str, Any]) -> tuple[float, bool]:
    """Take the stated bound and verdict out of the fields."""
    bound, certified = (_typed(fields.pop(name), name, kind) for name, kind in _FOLLOWS.items())
    return bound, certified


def vote_of(fields: Mapping[str, Any]) -> dict[str, Any]:
    """Read all fields but the guarantee."""
    _check_names(fields, [*_FIELDS, "guarantee"], "the certificate")
    return {name: read(fields[name], name) for name, read in _FIELDS.items()}


def guarantee_of(data: Any) -> dict[str, Any]:
    """Read the field of the guarantee."""
    _check_names(data, ["delta", "confidence", "prior", "tail", "reserve"], "`guarantee`")
    _check_names(data["prior"], ["a", "b"], "`prior`")
    a, b = (_number(data["prior"][name], name) for name in ("a", "b"))
    values = {name: _typed(data[name], name, float) for name in ("delta", "confidence", "reserve")}
    return {**values, "prior": Prior(a, b), "tail": _typed(data["tail"], "tail", str)}


def _check_names(data: Any, names: list[str], what: str) -> None:
    if not isinstance(data, Mapping) or sorted(data) != sorted(names):
        raise ValueError(f"{what} must have the fields {', '.join(names)}; got {data!r}")


def _typed(value: Any, name: str, kind: type) -> Any:
    if type(value) is not kind:
        raise ValueError(f"`{name}` must be of type {kind.__name__}; got {value!r}")
    return value


def _number(value: Any, name: str) -> float:
    if type(value) not in (int, float):
        raise ValueError(f"`{name}` must be a number; got {value!r}")
    return value  # type: ignore[no-any-return]


def plain_target(target: Any) -> Any:
    """Write the class that was asked for, or all that were accepted."""
    if target is None or type(target) in (str, int, bool):
        return target
    from betarce.storage.values import plain  # brings pandas, which labels of these types do not need

    return (
        [plain(each, what="a class") for each in target] if isinstance(target, list) else plain(target, what="a class")
    )


def read_target(data: Any) -> Any:
    """Read what `plain_target` wrote: a class, or two or more that differ.

    Examples
    --------
    >>> read_target(["good", "good"])
    Traceback (most recent call last):
    betarce.errors.CorruptFile: no target is ['good', 'good']
    """
    if data is None or type(data) in (str, int, bool):
        return data
    from betarce.storage.values import unplain

    labels = [unplain(each) for each in data] if isinstance(data, list) else [unplain(data)]
    distinct = set(map(repr, labels))
    if "nan" in distinct or (isinstance(data, list) and len(distinct) < max(2, len(labels))):
        raise CorruptFile(f"no target is {data!r}")
    return labels if isinstance(data, list) else labels[0]


def _of_type(kind: type) -> Callable[[Any, str], Any]:
    return lambda value, name: _typed(value, name, kind)


_FIELDS: Mapping[str, Callable[[Any, str], Any]] = {
    "n_agree": _of_type(int),
    "n_models": _of_type(int),
    "members": _of_type(str),
    "target": lambda data, _: read_target(data),
    "space": _of_type(str),
    "point": _of_type(str),
    "varied": _of_type(bool),
}
_FOLLOWS = {"lower_bound": float, "certified": bool}
