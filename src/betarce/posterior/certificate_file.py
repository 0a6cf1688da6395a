"""Certificates as strict JSON.

A digest covers every field, and the stated bound must follow from the vote. The digest finds damage and careless edits;
it is no signature.
"""

import math
from collections.abc import Callable, Mapping
from dataclasses import asdict
from dataclasses import fields as fields_of
from typing import Any

from betarce.errors import CorruptFile, InvalidInput
from betarce.posterior.certificate import Certificate
from betarce.posterior.guarantee import Guarantee, check_vote_decides
from betarce.posterior.prior import Prior
from betarce.storage.files import digest

FORMAT = 3
_KIND = "betarce_certificate"
_DIGEST = "digest"
_TOLERANCE = 1e-9  # of a bound that another machine or version of scipy computed


def to_plain(certificate: Certificate) -> dict[str, Any]:
    """Write a certificate as plain data that strict JSON can hold.

    Examples
    --------
    >>> data = to_plain(Guarantee(0.9, 0.95).certify(38, 38, target="approved"))
    >>> from_plain(data).target
    'approved'
    >>> from_plain({**data, "target": "rejected"})
    Traceback (most recent call last):
    betarce.errors.CorruptFile: This certificate does not match its digest: it was damaged or edited. Do not rely on it.
    """
    check_vote_decides(certificate.guarantee)
    # Field by field: copying them deeply would take as long as all the rest.
    data = {_KIND: FORMAT, **{each.name: getattr(certificate, each.name) for each in fields_of(certificate)}}
    data |= {"guarantee": asdict(certificate.guarantee), "target": plain_target(certificate.target)}
    return {**data, _DIGEST: digest(data)}


def from_plain(data: Any) -> Certificate:
    """Read a certificate from plain data.

    Raises
    ------
    CorruptFile
        If it is no certificate, was changed, or does not add up.
    """
    if not isinstance(data, Mapping) or _KIND not in data:
        raise CorruptFile(f"This is not a betarce certificate: it has no `{_KIND}` field.")
    _check_format(data[_KIND])
    fields = dict(data)
    stated = fields.pop(_DIGEST, None)
    try:
        if stated != digest(fields):
            raise CorruptFile(
                "This certificate does not match its digest: it was damaged or edited. Do not rely on it."
            )
        fields.pop(_KIND)
        bound, certified = (_typed(fields.pop(name), name, kind) for name, kind in _FOLLOWS.items())
        certificate = _certificate(fields)
    except (InvalidInput, KeyError, TypeError, ValueError, OverflowError, RecursionError) as error:
        raise CorruptFile(f"This is not a readable betarce certificate: {str(error).rstrip('.')}.") from error
    if certified != certificate.certified or not math.isclose(bound, certificate.lower_bound, abs_tol=_TOLERANCE):
        raise CorruptFile(
            f"This certificate does not add up: {certificate.n_agree} of {certificate.n_models} votes give the bound "
            f"{certificate.lower_bound:.6f} (certified: {certificate.certified}), but it claims {bound!r} (certified: "
            f"{certified!r}). Do not rely on it."
        )
    # What was written comes back to the bit, even where this machine rounds the last digit differently.
    object.__setattr__(certificate, "lower_bound", bound)
    return certificate


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


def _certificate(fields: Mapping[str, Any]) -> Certificate:
    _check_names(fields, [*_FIELDS, "guarantee"], "the certificate")
    values = {name: read(fields[name], name) for name, read in _FIELDS.items()}
    guarantee = _guarantee(fields["guarantee"])
    check_vote_decides(guarantee)
    return Certificate(guarantee=guarantee, **values)


def _guarantee(data: Any) -> Guarantee:
    _check_names(data, ["delta", "confidence", "prior", "tail", "reserve"], "`guarantee`")
    _check_names(data["prior"], ["a", "b"], "`prior`")
    a, b = (_number(data["prior"][name], name) for name in ("a", "b"))
    delta, confidence, reserve = (_typed(data[name], name, float) for name in ("delta", "confidence", "reserve"))
    return Guarantee(delta, confidence, Prior(a, b), _typed(data["tail"], "tail", str), reserve)


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
