"""Records of finished cells as files: one JSON file per cell, and the table of them all."""

import os
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import asdict, fields
from pathlib import Path
from typing import Any, get_args

import pandas as pd

import betarce
from betarce.errors import CorruptFile, InvalidInput
from betarce.paper.plan import Cell, Plan
from betarce.results.counterfactual import Status
from betarce.storage.files import digest, read_text, seal, unseal

Record = dict[str, Any]
FORMAT = 1
SCORES = ("robustness", "proximity_l1", "proximity_l2", "plausibility", "distance_to_base", "changed")
STATUSES = ("found", "failed", *get_args(Status))
CELL = [each.name for each in fields(Cell)]
_GROUP = ["method", "base", "delta", "confidence"]
_MEANS = ["found", "robustness", "proximity_l1", "proximity_l2", "plausibility", "distance_to_base", "changed", "ms"]


def path_of(cell: Cell, out: str | os.PathLike[str]) -> Path:
    """Give the path of a cell's records."""
    return Path(out) / "cells" / f"{cell.name}.json"


def fingerprint(records: Sequence[Record]) -> str:
    """Give a digest of everything in the records but the time taken: the same wherever a plan is run."""
    return digest({"records": [{k: v for k, v in record.items() if k != "ms"} for record in records]})


def cell_text(cell: Cell, plan: Plan, content: Mapping[str, Any]) -> str:
    """Give the text of a cell's file: its records and where they come from, under a digest."""
    document = {
        "betarce_cell": FORMAT,
        "version": betarce.__version__,
        "cell": asdict(cell),
        "seed": plan.seed,
        "plan_digest": plan.digest,
        "plan": plan.protocol,
        "fingerprint": fingerprint(content["records"]),
        **content,
    }
    return seal(document)


def read_cell(cell: Cell, plan: Plan, out: str | os.PathLike[str]) -> dict[str, Any]:
    """Read the records of a cell.

    Raises
    ------
    FileNotFoundError
        If the cell has not been run.
    CorruptFile
        If the file is damaged; running the plan computes the cell anew.
    InvalidInput
        If the file is sound, but of another plan, version or cell: it may be hours of someone's work, so nothing is
        written over it.
    """
    path = path_of(cell, out)
    try:
        document = unseal(read_text(path))
    except CorruptFile as error:
        raise CorruptFile(f"{path} cannot be used: {error}.") from error
    stated = [document.get(key) for key in ("betarce_cell", "cell", "plan_digest", "version")]
    for what, found, wanted in zip(
        ("kind of file", "cell", "plan", "version of betarce"),
        stated,
        (FORMAT, asdict(cell), plan.digest, betarce.__version__),
        strict=True,
    ):
        if found != wanted:
            raise InvalidInput(
                f"{path} is of another {what} ({found!r} instead of {wanted!r}). It was left as it is: choose another "
                "folder for the results, or move the file away."
            )
    try:
        _check_content(document, plan)
    except (ValueError, TypeError, KeyError, AttributeError) as error:
        raise CorruptFile(f"{path} cannot be used: it is not what a cell writes: {error}.") from error
    return document


def _check_content(document: Mapping[str, Any], plan: Plan) -> None:
    """Refuse what no run of this plan writes, whatever the digest says."""
    stated = set(document) - {"reused"}  # only where records of an earlier run were taken over
    if stated != set(_CONTENT):
        raise ValueError(f"it has the fields {sorted(stated ^ set(_CONTENT))} too many or too few")
    for name, check in _CONTENT.items():
        if not check(document[name], plan):
            raise ValueError(f"{name!r} is {str(document[name])[:200]}")
    for record in document["records"]:
        _check_record(record, plan)
    if document["fingerprint"] != fingerprint(document["records"]):
        raise ValueError("its records are not those of its fingerprint")


def _check_record(record: Any, plan: Plan) -> None:
    scores = [*SCORES, *(f"robustness_{space}" for space in plan.audit_spaces)]
    known = {**_RECORD, **dict.fromkeys(scores, _is_score)}
    if not isinstance(record, dict) or set(record) != set(known):
        raise ValueError("a record has other fields than records have")
    for name, check in known.items():
        if not check(record[name]):
            raise ValueError(f"a record says {name} = {str(record[name])[:200]}")
    if record["method"] not in [method.name for method in plan.methods]:
        raise ValueError(f"a record is of the method {record['method'][:200]!r}, which the plan lacks")
    if record["found"] != (record["status"] in ("found", "certified")):
        raise ValueError(f"a record with the status {record['status']!r} says found = {record['found']}")
    if None not in (record["n_agree"], record["n_models"]) and record["n_agree"] > record["n_models"]:
        raise ValueError(f"a record says that {record['n_agree']} of {record['n_models']} agree")


def _is_count(value: Any) -> bool:
    return value is None or (type(value) is int and value >= 0)


def _is_score(value: Any) -> bool:
    return value is None or (type(value) in (int, float) and value >= 0)


def _is_share(value: Any) -> bool:
    return value is None or (type(value) in (int, float) and 0 <= value <= 1)


def _is_text(value: Any) -> bool:
    return type(value) is str


_CONTENT: Mapping[str, Callable[[Any, Plan], bool]] = {
    "betarce_cell": lambda value, _: type(value) is int,
    "version": lambda value, _: _is_text(value),
    "cell": lambda value, _: isinstance(value, dict),
    "seed": lambda value, plan: type(value) is int and value == plan.seed,
    "plan_digest": lambda value, _: _is_text(value),
    "plan": lambda value, plan: digest(value) == plan.digest,
    "fingerprint": lambda value, _: _is_text(value),
    "data_digest": lambda value, _: _is_text(value),
    "n_train": lambda value, _: type(value) is int and value > 0,
    "accuracy": lambda value, _: type(value) is float and 0 <= value <= 1,
    "warnings": lambda value, _: isinstance(value, list) and all(map(_is_text, value)),
    "records": lambda value, _: isinstance(value, list),
}
_RECORD: Mapping[str, Callable[[Any], bool]] = {
    "method": _is_text,
    "base": lambda value: value is None or _is_text(value),
    "parameters": lambda value: isinstance(value, dict),
    "delta": _is_share,
    "confidence": _is_share,
    "row": lambda value: type(value) is int and value >= 0,
    "found": lambda value: type(value) is bool,
    "status": lambda value: value in STATUSES,
    "reason": _is_text,
    "evaluations": _is_count,
    "ms": _is_score,
    "n_agree": _is_count,
    "n_models": _is_count,
    "lower_bound": _is_share,
    "upper_bound": _is_share,
    "members": lambda value: value in (None, "fresh", "search"),
}


def finished_cells(plan: Plan, out: str | os.PathLike[str], cells: Iterable[Cell]) -> list[tuple[Cell, dict[str, Any]]]:
    """Give the cells that are finished, each with the content of its file; a damaged file counts as none."""
    finished = []
    for cell in cells:
        with suppress(FileNotFoundError, CorruptFile):
            finished.append((cell, read_cell(cell, plan, out)))
    return finished


def records_table(finished: Iterable[tuple[Cell, Mapping[str, Any]]]) -> pd.DataFrame:
    """Give the records of finished cells, one line each, with the columns of their cell in front."""
    return pd.DataFrame([asdict(cell) | record for cell, content in finished for record in content["records"]])


def summary(records: pd.DataFrame) -> pd.DataFrame:
    """Give one line per method, base, delta and confidence: the number of rows, and means over them.

    "base" is "" for methods without one. A row without an answer lowers "found" and has no part in the other means;
    read them together.
    """
    columns = [*_GROUP, "rows", *_MEANS]
    if records.empty:
        return pd.DataFrame(columns=columns)
    names = [*_MEANS, "delta", "confidence"]
    numbers = records.assign(base=records["base"].fillna(""), **{name: records[name].astype(float) for name in names})
    groups = numbers.groupby(_GROUP, sort=False, dropna=False)
    table = groups[_MEANS].mean()
    table.insert(0, "rows", groups.size())
    return table.reset_index()[columns]


def breakdowns(records: pd.DataFrame) -> list[tuple[str, str, str, int]]:
    """Name the methods that could not run: method, base ("" without one), the reason, and in how many cells."""
    if records.empty:
        return []
    failed = records[records["status"] == "failed"].fillna({"base": ""})
    places = failed.drop_duplicates([*CELL, "method", "base", "reason"])
    counts = Counter(zip(places["method"], places["base"], places["reason"], strict=True))
    return [(*key, n) for key, n in counts.items()]
