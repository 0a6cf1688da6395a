"""Serialise results as strict JSON that people can read and that loads to an equal result.

A file holds each row twice: readable, as column and value in original units, and exact, as the point inside. A digest
covers everything; on loading, all that can be computed again is (see `betarce.results.coherence`), and the result is
written once more to compare it with the file. Nothing is unpickled.
"""

import math
import os
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple, get_args

import numpy as np
import pandas as pd

import betarce
from betarce.arrays import FloatArray
from betarce.errors import CorruptFile, InvalidInput
from betarce.features import FeatureSpace
from betarce.features.stored import (
    check_format,
    faults_are_corrupt,
    from_plain,
    plain_rules,
    rules_of_plain,
    same_data,
    to_plain,
)
from betarce.posterior.certificate import from_plain as read_certificate
from betarce.posterior.certificate import to_plain as plain_certificate
from betarce.posterior.certificate_fields import plain_target, read_target
from betarce.results.coherence import check_items, check_record
from betarce.results.counterfactual import RobustCounterfactual, Status, Which
from betarce.results.frames import as_pandas
from betarce.results.ladder import Ladder
from betarce.results.made_with import check_made_with
from betarce.storage.files import read_text, seal, unseal
from betarce.storage.values import plain, plain_float, unplain, unplain_float

FORMAT = 3


class Stored(NamedTuple):
    """The parts of a result, in the order in which `Result` takes them."""

    items: Sequence[RobustCounterfactual]
    features: FeatureSpace
    made_with: Mapping[str, str | int]


def to_json(items: Sequence[RobustCounterfactual], features: FeatureSpace, made_with: Mapping[str, str | int]) -> str:
    """Write the parts of a result as strict JSON."""
    document = _document(Stored(items, features, made_with))
    return seal({**document, "written_by": f"betarce {betarce.__version__}"}, by_part=True)


def from_json(text: str) -> Stored:
    """Read the parts of a result; raise CorruptFile, with the reason alone, if it is not whole and consistent."""
    document = unseal(text)
    if "betarce_result" not in document:
        raise CorruptFile("it is a file of betarce, but holds no result")
    check_format(document["betarce_result"], FORMAT, "result")
    with faults_are_corrupt("result"):
        _typed(document.pop("written_by"), str)
        features = from_plain(document["features"])
        items = []
        for i, row in enumerate(document["rows"]):
            with faults_are_corrupt(f"row {i}"):
                items.append(_row(row, features))
        check_items(items, features)
        record = check_made_with(document["made_with"])
        check_record(items, record)
        stored = Stored(items, features, record)
        if not same_data(_document(stored), document):
            raise CorruptFile("its readable part and its exact part differ")
        return stored


def _document(stored: Stored) -> dict[str, Any]:
    whiches: tuple[Which, ...] = get_args(Which)
    readable = {
        which: readable_points([item.points[which] for item in stored.items], stored.features) for which in whiches
    }
    return {
        "betarce_result": FORMAT,
        "rows": [
            _plain_row(item, {which: readable[which][i] for which in whiches}) for i, item in enumerate(stored.items)
        ],
        "features": to_plain(stored.features),
        "made_with": dict(stored.made_with),
    }


def load(path: str | os.PathLike[str]) -> Stored:
    """Read the parts of a result from a file."""
    try:
        return from_json(read_text(path))
    except (FileNotFoundError, IsADirectoryError):
        raise InvalidInput(f"`path` must name a file; there is none at {os.fspath(path)!r}.") from None
    except CorruptFile as error:
        raise CorruptFile(f"{os.fspath(path)!r} is not a usable result: {error}.") from error


def _plain_row(item: RobustCounterfactual, readable: Mapping[str, Any]) -> dict[str, Any]:
    return {
        "name": plain(item.name, what="the name of a row"),
        "target": plain_target(item.target),
        "status": item.status,
        "reason": item.reason,
        "note": item.note,
        **readable,
        "certificate": None if item.certificate is None else plain_certificate(item.certificate),
        "votes": [bool(vote) for vote in item.votes],
        "distance_to_base": _plain_maybe(item.distance_to_base),
        "distance_to_original": _plain_maybe(item.distance_to_original),
        "n_evaluations": int(item.n_evaluations),
        "runtime_s": _plain_maybe(item.runtime_s),
        "base_agree": item.base_agree,
        "overrides": plain_rules(item.overrides),
        "points": {which: plain_point(item.points[which]) for which in get_args(Which)},
        "ladder": _plain_ladder(item.ladder, item.points["original"], item.features),
    }


def _row(data: Mapping[str, Any], features: FeatureSpace) -> RobustCounterfactual:
    points = {which: read_point(data["points"][which], features) for which in get_args(Which)}
    certificate = None
    if data["certificate"] is not None:
        certificate = read_certificate(data["certificate"])
    if data["status"] not in get_args(Status):
        raise CorruptFile(f"no row has the status {data['status']!r}")
    return RobustCounterfactual(
        name=unplain(data["name"]),
        target=read_target(data["target"]),
        status=data["status"],
        reason=_typed(data["reason"], str),
        note=_typed(data["note"], str),
        certificate=certificate,
        votes=tuple(_typed(vote, bool) for vote in data["votes"]),
        distance_to_base=_maybe(data["distance_to_base"]),
        distance_to_original=_maybe(data["distance_to_original"]),
        n_evaluations=_typed(data["n_evaluations"], int),
        features=features,
        points=points,
        runtime_s=_maybe(data["runtime_s"]),
        base_agree=None if data["base_agree"] is None else _typed(data["base_agree"], int),
        overrides=rules_of_plain(data["overrides"]),
        ladder=_ladder(data["ladder"], points["original"], features),
    )


def readable_points(points: Sequence[FloatArray | None], features: FeatureSpace) -> list[dict[str, Any] | None]:
    """Write points as column and value, in original units; a missing value is null."""
    rows = [i for i, point in enumerate(points) if point is not None]
    found: list[dict[str, Any] | None] = [None] * len(points)
    if not rows:
        return found
    table = as_pandas(features.decode(np.array([points[i] for i in rows], dtype=np.float64)), features)
    names = [str(name) for name in features.form.names]
    if len(set(names)) < len(names):
        names = [repr(name) for name in features.form.names]
    columns = [[_plain_value(value) for value in table.iloc[:, k].tolist()] for k in range(len(names))]
    for row, values in zip(rows, zip(*columns, strict=True), strict=True):
        found[row] = dict(zip(names, values, strict=True))
    return found


def _plain_value(value: Any) -> Any:
    return None if pd.api.types.is_scalar(value) and pd.isna(value) else plain(value, what="a value of a column")


def plain_point(point: FloatArray | None) -> list[Any] | None:
    """Write a point exactly; a missing value is null."""
    return None if point is None else [_plain_maybe(value) for value in point.tolist()]


def read_point(data: Any, features: FeatureSpace) -> FloatArray | None:
    """Read what `plain_point` wrote; refuse values that their columns cannot hold."""
    if data is None:
        return None
    point = np.array([_maybe(value) for value in data], dtype=np.float64)
    if point.shape != (len(features),):
        raise CorruptFile(f"it has {len(point)} values for {len(features)} columns")
    _check_values(point, features)
    return point


def _check_values(point: FloatArray, features: FeatureSpace) -> None:
    for column, value in zip(features.columns, point.tolist(), strict=True):
        codes = None if column.levels is None else range(len(column.levels))
        possible = column.missing if math.isnan(value) else math.isfinite(value) if codes is None else value in codes
        if not possible:
            raise CorruptFile(f"column {column.title!r} cannot hold {value}")


def _plain_ladder(ladder: Ladder, original: FloatArray | None, features: FeatureSpace) -> list[Any]:
    """Write each rung as its votes and what it changes, by the place of the column: n_least, n_agree, changes."""
    if original is None or not len(ladder):
        return []
    moved = features.differs(ladder.points, original)
    return [
        [int(least), int(agree), [[int(j), _plain_maybe(float(point[j]))] for j in np.flatnonzero(changed)]]
        for least, agree, point, changed in zip(ladder.n_least, ladder.n_agree, ladder.points, moved, strict=True)
    ]


def _ladder(data: Any, original: FloatArray | None, features: FeatureSpace) -> Ladder:
    rungs = [(_typed(least, int), _typed(agree, int), changes) for least, agree, changes in data]
    if not rungs or original is None:
        return Ladder.none(len(features))
    points = np.repeat(original[None], len(rungs), axis=0)
    for point, (_, _, changes) in zip(points, rungs, strict=True):
        for j, value in changes:
            point[_typed(j, int)] = _maybe(value)
        _check_values(point, features)
    n_least, n_agree = (np.array([rung[k] for rung in rungs], dtype=np.intp) for k in (0, 1))
    return Ladder(points, n_agree, n_least)


def _plain_maybe(value: float) -> Any:
    if math.isfinite(value):
        return value
    return None if math.isnan(value) else plain_float(value)


def _maybe(data: Any) -> float:
    return math.nan if data is None else unplain_float(data)


def _typed(value: Any, kind: type) -> Any:
    if type(value) is not kind:
        raise CorruptFile(f"{value!r} is not a {kind.__name__}")
    return value
