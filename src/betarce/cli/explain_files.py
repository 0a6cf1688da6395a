"""`betarce explain --from RUN --out answers.parquet`: from files of rows to a file of answers."""

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from betarce.cli.layout import print_json
from betarce.cli.options import check_choice, check_jobs, given
from betarce.safe_text import in_terminal

if TYPE_CHECKING:
    from betarce.runs.file_to_file import FileAnswers

Engine = Annotated[str, typer.Option(help="Where rows are answered: local, dask or ray.", metavar="NAME")]
Address = Annotated[
    str | None,
    typer.Option(help="Of a running cluster, such as tcp://HOST:8786.", show_default=False, metavar="ADDRESS"),
]
_TABLES = (".csv", ".parquet", ".jsonl")
_WHOLE = ("csv", "report", "ledger", "expires", "cohort", "private", "key")


def writes_table(out: Path) -> bool:
    """Say whether answers are asked for as a table, which is written part by part."""
    return out.suffix.lower() in _TABLES


def refuse_table_options(context: typer.Context, data: Path) -> None:
    """Refuse what only a table of answers can have, where none is asked for."""
    from betarce.errors import InvalidInput
    from betarce.runs.row_files import kind_of

    for name in ("engine", "address"):
        if given(context, name):
            raise InvalidInput(f"--{name} needs --from, and an --out that ends in {', '.join(_TABLES)}.")
    if data.is_dir() or kind_of(data) in ("parquet", "jsonl"):
        raise InvalidInput(f"Rows in {str(data)!r} need --from, and an --out that ends in {', '.join(_TABLES)}.")


def explain_files(
    context: typer.Context,
    run: Path,
    data: Path,
    out: Path,
    *,
    target: str | None,
    names: str | None,
    missing: Sequence[str],
    limit: int | None,
    trust: Sequence[str],
    engine: str,
    address: str | None,
    jobs: int,
    json: bool,
) -> None:
    """Explain all rows of a file or a folder, and write one line per row."""
    from betarce.engines.engine import ENGINES
    from betarce.errors import InvalidInput
    from betarce.runs.csv_jobs import class_wanted
    from betarce.runs.file_to_file import explain_file
    from betarce.runs.loading import load
    from betarce.runs.manifest import Manifest

    for name in _WHOLE:
        if given(context, name):
            raise InvalidInput(f"--{name} takes an --out that ends in .json, or none: a table is written part by part.")
    check_choice("--engine", engine, ENGINES)
    source = Manifest.read(run).source
    rce = load(run, trust=trust)
    wanted = class_wanted(target, source.label or "the class", rce.classes_)
    answers = explain_file(
        rce,
        data,
        out,
        target=wanted,
        names=names,
        missing=[*source.missing, *missing],
        limit=limit,
        engine=engine,
        address=address,
        n_jobs=check_jobs(jobs),
    )
    _print(answers, out, json=json)


def _print(answers: "FileAnswers", out: Path, *, json: bool) -> None:
    if json:
        print_json(
            {
                "out": str(out),
                "rows": answers.n_rows,
                "statuses": dict(answers.statuses),
                "rows_from_before": answers.n_from_before,
            }
        )
        return
    kept = f" {answers.n_from_before:,} of them were there from before." if answers.n_from_before else ""
    typer.echo(in_terminal(f"Wrote {out}: {answers.n_rows:,} rows.{kept}"))
    for status, count in sorted(answers.statuses.items(), key=lambda entry: -entry[1]):
        typer.echo(f"  {count:,} {status}")
