"""Records of an earlier run, taken over for the methods of a plan that have not changed.

A change of one method leaves the records of the others as they were, but a plan runs for hours. `Reuse` names a file of
records and the methods that are run again; cells take the rest from the file. What makes that honest:

* The plan beside the file (``plan.toml``) must define every method that is taken over as the plan at hand does.
* Base methods are run again in any case, since all that starts from them needs their points. In every cell they must
  give the file's records to its last digit, which they do only if the data, the fold, the model, the base points and
  the audit members of every space are the same; otherwise the cell fails, and says where they differ.
* The file of a cell states what was taken over, and the digest of the file it came from.

Two things are not those of a full run: numbers that are taken over have the six digits of the file (shares of audit
members are exact), and times are those of the earlier run.
"""

import csv
import gzip
import json
import os
import zlib
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass
from functools import lru_cache
from hashlib import blake2b
from io import BytesIO, StringIO
from pathlib import Path
from typing import Any

from betarce.errors import CorruptFile, InvalidInput
from betarce.paper.plan import Cell, Method, Plan
from betarce.paper.plan_file import read_plan
from betarce.paper.records import CELL, Record
from betarce.storage.files import MOST_BYTES, read_bytes

Entry = tuple[str, str | None, float | None, float | None]
"""Method, base, delta and confidence: what a method is asked once in a cell."""
_CHOICES = ("methods", "bases", "deltas", "confidences", "n_models", "prior")
_TIMES = ("ms",)


@dataclass(frozen=True)
class Reuse:
    """A file of records, and the methods whose records are taken from it.

    Attributes
    ----------
    path : str
        The file, as `betarce reproduce` writes it; every worker must be able to read it.
    digest : str
        Of its bytes.
    methods : tuple of str
        Names of methods that are taken over; all others are run.
    audit_members : int
        As in the plan: a measured share is a whole number of them.
    """

    path: str
    digest: str
    methods: tuple[str, ...]
    audit_members: int

    @classmethod
    def of(cls, path: str | os.PathLike[str], plan: Plan, rerun: Iterable[str]) -> "Reuse":
        """Check that all methods but those of `rerun` are, in the plan beside the file, what they are in this one.

        Raises
        ------
        InvalidInput
            If there is no such file or no plan beside it, `rerun` names no method of the plan, or a method that is
            not named is defined otherwise.
        """
        chosen = list(rerun)
        names = [method.name for method in plan.methods]
        unknown = [name for name in chosen if name not in names]
        if unknown or not chosen:
            got = repr(unknown[0]) if unknown else "none"
            raise InvalidInput(f"`rerun` must name methods of the plan, such as {names[-1]!r}; got {got}.")
        earlier = read_plan(Path(path).with_name("plan.toml"))
        before = {method.name: _definition(earlier, method, plan.families) for method in earlier.methods}
        kept = [m for m in plan.methods if m.name not in chosen and not (m.name == m.method and m.name in plan.bases)]
        changed = [
            method.name for method in kept if before.get(method.name) != _definition(plan, method, plan.families)
        ]
        if changed:
            raise InvalidInput(
                f"`rerun` must name every method that is defined otherwise in {Path(path).with_name('plan.toml')}, or "
                f"is not there; add {', '.join(map(repr, changed))}."
            )
        return cls(os.fspath(path), _digest(_bytes(path)), tuple(m.name for m in kept), plan.audit_members)

    def stated(self) -> dict[str, Any]:
        """Say what was taken over, as plain data."""
        return {"records": Path(self.path).name, "digest": self.digest, "methods": list(self.methods)}

    def records_of(self, cell: Cell) -> dict[Entry, list[Record]]:
        """Read the records of a cell, by what was asked."""
        content = _bytes(self.path)
        if _digest(content) != self.digest:
            raise InvalidInput(f"{self.path} has changed since this run began; start it again.")
        found: dict[Entry, list[Record]] = {}
        for line in _lines(content).get(tuple(str(value) for value in asdict(cell).values()), ()):
            record = _record(line, self.audit_members)
            entry = (record["method"], record["base"], record["delta"], record["confidence"])
            found.setdefault(entry, []).append(record)
        return found


def check_rows(records: Sequence[Record], rows: Iterable[int], entry: Entry) -> None:
    """Refuse records that are not one for each row explained, in their order."""
    if [record["row"] for record in records] != list(rows):
        asked = ", ".join(str(part) for part in entry if part is not None)
        raise InvalidInput(f"the records to reuse have not one for each row of {asked}. Run this cell without them.")


def check_same(computed: Sequence[Record], earlier: Sequence[Record]) -> None:
    """Refuse records that are not what was computed again, up to the time taken and to six digits."""
    for new, old in zip(computed, earlier, strict=True):
        for name, value in new.items():
            if name not in _TIMES and _short(value) != _short(old.get(name)):
                raise InvalidInput(
                    f"the records to reuse are of another run: {new['method']} gives row {new['row']} {name} "
                    f"{value!r}, and they say {old.get(name)!r}. Data, models or members differ: run all methods."
                )


def _definition(plan: Plan, method: Method, families: Iterable[str]) -> dict[str, Any]:
    """Give all in a plan that decides what the records of a method are."""
    found = {key: value for key, value in plan.protocol.items() if key not in _CHOICES} | asdict(method)
    if method.based:
        found["bases"] = {name: [asdict(m) for m in plan.methods if m.name == m.method == name] for name in plan.bases}
    if method.ours:
        guarantees = [plan.guarantee(method, *promise) for promise in plan.promises]
        found["promises"] = [(each, [plan.sizes(method, each, f) for f in families]) for each in guarantees]
    return found


def _bytes(path: str | os.PathLike[str]) -> bytes:
    try:
        return read_bytes(path)
    except OSError as error:
        raise InvalidInput(
            f"`reuse` must be a file of records, records.csv.gz; {os.fspath(path)!r}: {error}."
        ) from None


def _digest(content: bytes) -> str:
    return "blake2b:" + blake2b(content, digest_size=16).hexdigest()


@lru_cache(maxsize=1)
def _lines(content: bytes) -> dict[tuple[str, ...], list[dict[str, str]]]:
    """Give the lines of a file of records by the cell they are of."""
    try:
        with gzip.GzipFile(fileobj=BytesIO(content)) as file:
            unpacked = file.read(MOST_BYTES + 1)
        if len(unpacked) > MOST_BYTES:
            raise CorruptFile(f"The records to reuse unfold to more than {MOST_BYTES:,} bytes.")
        reader = csv.DictReader(StringIO(unpacked.decode("utf-8"), newline=""))
        missing = [name for name in (*CELL, *_READ) if name not in (reader.fieldnames or ())]
        lines = [] if missing else list(reader)
    except (OSError, EOFError, UnicodeDecodeError, zlib.error, csv.Error) as error:
        raise CorruptFile(f"The records to reuse cannot be read: {error}.") from error
    if missing:
        raise CorruptFile(f"The records to reuse have no column {missing[0]!r}: they are not those of a reproduction.")
    cells: dict[tuple[str, ...], list[dict[str, str]]] = {}
    for line in lines:
        cells.setdefault(tuple(line[name] for name in CELL), []).append(line)
    return cells


def _record(line: Mapping[str, str], audit_members: int) -> Record:
    record: Record = {}
    try:
        for name, text in line.items():
            if name not in CELL:
                record[name] = _READ.get(name, _real)(text)
                if name.startswith("robustness") and record[name] is not None:
                    record[name] = round(record[name] * audit_members) / audit_members
    except (ValueError, TypeError, AttributeError, OverflowError, RecursionError) as error:
        raise CorruptFile(f"The records to reuse have a line that cannot be read: {error}.") from error
    return record


def _short(value: Any) -> Any:
    return float(f"{value:.6g}") if isinstance(value, float) else value


def _text_or_none(text: str) -> str | None:
    return text or None


def _real(text: str) -> float | None:
    return float(text) if text else None


def _whole(text: str) -> int | None:
    return int(float(text)) if text else None


_READ: Mapping[str, Callable[[str], Any]] = {
    "method": str,
    "base": _text_or_none,
    "parameters": json.loads,
    "delta": _real,
    "confidence": _real,
    "row": int,
    "found": lambda text: text == "True",
    "status": str,
    "reason": str,
    "robustness": _real,
    "evaluations": _whole,
    "n_agree": _whole,
    "n_models": _whole,
    "members": _text_or_none,
}
