"""Explain rows from file to file: part by part, on any engine, going on after a kill."""

import os
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass, field
from itertools import islice
from pathlib import Path
from typing import Any

import pandas as pd

import betarce
from betarce.engines.engine import engine as opened_engine
from betarce.engines.workers import GIVEN_UP, Compute
from betarce.errors import InvalidInput, require
from betarce.progress import progress
from betarce.results.answer_table import answer_table
from betarce.robustify import BetaRCE
from betarce.robustify.asked import chunk_size
from betarce.runs.identity import identity
from betarce.runs.part_folder import PartFolder
from betarce.runs.row_files import RowFiles, Survey, as_trained, kind_of
from betarce.storage.files import check_writable
from betarce.tables.csv_file import check_column

FORMAT = 1
_PART_ROWS = 4096
_PARTS_AT_ONCE = {"local": 1, "dask": 4, "ray": 4}


@dataclass(frozen=True)
class FileAnswers:
    """What became of the rows of a file.

    Attributes
    ----------
    path : Path
        The file of answers.
    statuses : mapping of str to int
        How many rows have which status.
    n_from_before : int
        Rows that were answered before the work was stopped and taken up again.
    """

    path: Path
    statuses: Mapping[str, int]
    n_from_before: int

    @property
    def n_rows(self) -> int:
        """How many rows the file has."""
        return sum(self.statuses.values())


@dataclass(frozen=True)
class _Piece:
    """Some rows of a part, as many as are answered together."""

    part: int
    place: int
    table: pd.DataFrame = field(compare=False)
    target: Any = field(compare=False)


def explain_file(
    rce: BetaRCE,
    rows: str | os.PathLike[str],
    out: str | os.PathLike[str],
    *,
    target: Any,
    names: str | None = None,
    missing: Sequence[str] = (),
    limit: int | None = None,
    engine: str = "local",
    address: str | None = None,
    n_jobs: int | None = None,
    part_rows: int = _PART_ROWS,
    verbose: int = 0,
) -> FileAnswers:
    """Explain the rows of a file, and write the answers to another, without holding either.

    Parts are written to a folder beside `out` as they are answered. Who calls this again with the same arguments after
    it was stopped, by whatever, goes on with the parts that are there and gets the same file.

    Parameters
    ----------
    rce : BetaRCE
        Fitted.
    rows : str or path
        A CSV, Parquet (extra `parquet`) or JSON lines file, or a folder of such files. Columns are matched by name.
    out : str or path
        Ends in .csv, .parquet or .jsonl; what is there already is replaced in the end.
    target : label or set of labels
        The class wanted.
    names : str, optional
        A column that says what the rows are called; they are counted from 1 by default.
    missing : sequence of str
        What else stands for a missing value in a CSV file.
    limit : int, optional
        How many rows to explain; all by default.
    engine, address, n_jobs :
        Where rows are answered, see `betarce.engines.engine`. The members travel to every worker once.
    part_rows : int
        Rows of a part: what is read, answered and written at a time, and what a kill can cost.
    verbose : int
        See `betarce.progress`.

    Returns
    -------
    FileAnswers
        A row that has no answer, or cannot be read, is a line of the file too, and says why.
    """
    needed = [*map(str, rce.features_.form.names), *([] if names is None else [names])]
    files, path = RowFiles.at(rows, missing=missing, columns=needed), check_writable(out)
    kind = kind_of(path)
    if kind is None:
        raise InvalidInput(f"`out` must end in .csv, .parquet or .jsonl; got {str(out)!r}.")
    if "parquet" in (kind, files.kind):
        require("pyarrow", extra="parquet", purpose="A Parquet file")
    survey, how = (
        files.survey(),
        {"target": target, "names": names, "missing": missing, "limit": limit, "part_rows": part_rows},
    )
    folder = PartFolder.beside(path, kind, _job(rce, survey, how))
    before = folder.statuses().total()
    asking = _Asking(rce, target, names, what=str(rows))
    total = survey.n_about if limit is None else min(limit, survey.n_about)
    n_parts = 0
    with (
        opened_engine(engine, address=address, n_jobs=n_jobs, shared=_alone(rce)) as compute,
        progress("Explaining rows", total=total, verbose=verbose) as advance,
    ):
        parts = enumerate(_limited(files.parts(part_rows), limit))
        while some := list(islice(parts, _PARTS_AT_ONCE[engine])):
            n_parts += len(some)
            advance(sum(len(table) for number, table in some if folder.has(number)))
            _answer(
                {number: table for number, table in some if not folder.has(number)}, asking, compute, folder, advance
            )
    if not n_parts:
        raise InvalidInput(f"{str(rows)!r} has no rows.")
    statuses = folder.statuses()
    folder.join(path, n_parts)
    return FileAnswers(path, statuses, before)


def _alone(rce: BetaRCE) -> BetaRCE:
    """Give the same explainer for workers: silent, and on one core each."""
    params = {**rce.get_params(deep=False), "n_jobs": None, "verbose": -1}
    return BetaRCE(**params).fit_with(rce.subject_, rce.members_, seed=rce.seed_)


def _job(rce: BetaRCE, survey: Survey, how: Mapping[str, Any]) -> dict[str, Any]:
    """Say all that the answers depend on."""
    certificate = {"delta": rce.delta, "confidence": rce.confidence, "prior": repr(rce.prior)}
    asked = {name: repr(sorted(map(repr, value)) if isinstance(value, set) else value) for name, value in how.items()}
    settings = {"base": repr(rce.base), "search": repr(rce.search), "max_changes": repr(rce.max_changes)}
    return {
        "format": FORMAT,
        "betarce": betarce.__version__,
        "rows": survey.digest,
        "run": identity(rce).to_plain(),
        **certificate,
        **settings,
        **asked,
    }


def _limited(parts: Iterator[pd.DataFrame], limit: int | None) -> Iterator[pd.DataFrame]:
    for part in parts:
        if limit is None:
            yield part
            continue
        if limit <= 0:
            return
        yield part.iloc[:limit]
        limit -= len(part)


@dataclass(frozen=True, eq=False)
class _Asking:
    """What is asked about the rows of a file."""

    rce: BetaRCE
    target: Any
    names: str | None
    what: str

    def pieces(self, part: int, table: pd.DataFrame) -> list["_Piece"]:
        """Cut a part into as many rows as are answered together."""
        rows = as_trained(table, self.rce.features_, what=self.what)
        if self.names is not None:
            check_column(table, self.names)
            rows = rows.set_axis(pd.Index(table[self.names].tolist()))
        size = chunk_size(len(self.rce.features_))
        starts = range(0, len(rows), size)
        return [_Piece(part, place, rows.iloc[i : i + size], self.target) for place, i in enumerate(starts)]


def _answer(
    tables: Mapping[int, pd.DataFrame],
    asking: _Asking,
    compute: Compute,
    folder: PartFolder,
    advance: Callable[[int], None],
) -> None:
    """Answer some parts, and write each as soon as it is complete."""
    pieces = [piece for number, table in tables.items() for piece in asking.pieces(number, table)]
    left = Counter(piece.part for piece in pieces)
    answers: dict[int, dict[int, pd.DataFrame]] = {number: {} for number in tables}
    with closing(compute(_answered, pieces)) as outcomes:
        for outcome in outcomes:
            piece = outcome.item
            if outcome.error == GIVEN_UP:
                raise InvalidInput(f"Rows {_named(piece)} could not be answered on workers. {GIVEN_UP}")
            # What failed on a worker is tried here, so that its error is raised as it is.
            answers[piece.part][piece.place] = _answered(piece, asking.rce) if outcome.error else outcome.value
            advance(len(piece.table))
            left[piece.part] -= 1
            if not left[piece.part]:
                done = answers.pop(piece.part)
                folder.write(piece.part, pd.concat([done[place] for place in sorted(done)], ignore_index=True))


def _answered(piece: _Piece, rce: BetaRCE) -> pd.DataFrame:
    return answer_table(rce.explain(piece.table, piece.target))


def _named(piece: _Piece) -> str:
    return f"{piece.table.index[0]} to {piece.table.index[-1]}"
