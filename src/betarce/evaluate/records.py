"""Records of finished cells as files: one sealed JSON file a cell, and the table of them all."""

import os
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import asdict, fields
from pathlib import Path
from typing import Any

import pandas as pd

import betarce
from betarce.errors import CorruptFile, InvalidInput
from betarce.evaluate.plan import Cell, Plan
from betarce.files import digest, read_text, seal, unseal

Record = dict[str, Any]
FORMAT = 1
CELL = [each.name for each in fields(Cell)]
_GROUP = ["method", "base", "delta", "confidence"]
_MEANS = ["found", "robustness", "proximity_l1", "proximity_l2", "plausibility", "distance_to_base", "changed", "ms"]


def path_of(cell: Cell, out: str | os.PathLike[str]) -> Path:
    """Say where the records of a cell are kept."""
    return Path(out) / "cells" / f"{cell.name}.json"


def fingerprint(records: Sequence[Record]) -> str:
    """Give a digest of everything in the records but the time taken: the same wherever a plan is run."""
    return digest({"records": [{k: v for k, v in record.items() if k != "ms"} for record in records]})


def cell_text(cell: Cell, plan: Plan, content: Mapping[str, Any]) -> str:
    """Give the sealed text of a cell's file: its records, with all that tells where they come from."""
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
    return document


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
    """Give one line a method, base, delta and confidence: the number of rows, and means over them.

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
