"""`betarce init`: what the columns of a CSV file are, as a file of rules to edit."""

from collections.abc import Hashable, Mapping
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from betarce.cli.findings import print_findings
from betarce.cli.friendly import friendly_errors
from betarce.cli.layout import new_table, print_json
from betarce.cli.options import Drop, Json, Missing, Table

if TYPE_CHECKING:
    from rich.console import Console
    from rich.table import Table as Layout

    from betarce.features import FeatureSpace
    from betarce.runs.csv_jobs import Inspection


def init(
    data: Table,
    label: Annotated[
        str | None, typer.Option(help="The column of classes, which is no feature.", metavar="COLUMN")
    ] = None,
    out: Annotated[Path, typer.Option(help="The file to write.")] = Path("features.toml"),
    drop: Drop = None,
    missing: Missing = None,
    force: Annotated[bool, typer.Option("--force", help="Overwrite the file if it exists.")] = False,
    json: Json = False,
) -> None:
    """Infer the columns of a CSV file, and write a file of rules to edit: what may change, and how."""
    from betarce.cli.terminal import Console
    from betarce.errors import InvalidInput
    from betarce.rules import write_rules
    from betarce.runs.csv_jobs import inspect

    with friendly_errors(path="--out"):
        if out.exists() and not force:
            raise InvalidInput(f"{str(out)!r} exists already. Add --force to overwrite it, or --out for another name.")
        found = inspect(data, label=label, drop=drop or (), missing=missing or ())
        write_rules(found.features, out, notes=found.notes)
    print_findings(found.findings, data)
    if json:
        print_json(_document(found, out))
        return
    console = Console(highlight=False)
    console.print(f"{found.n_rows:,} rows, {len(found.features)} columns.")
    console.print(columns_table(found.features, found.hints))
    _print_next(console, data, label or "COLUMN", out)


def _print_next(console: "Console", data: Path, label: str, out: Path) -> None:
    import shlex

    from rich.markup import escape

    console.print(
        f"Wrote [bold]{escape(str(out))}[/]. Next: open it, say what can never change (immutable) and what only "
        "grows or shrinks, then\n"
    )
    names = shlex.join([str(data), "--label", label, "--target", "CLASS", "--features", str(out)])
    console.print(f"  betarce explain {escape(names)}\n", soft_wrap=True)


def _document(found: "Inspection", out: Path) -> dict[str, object]:
    shown = found.features.describe()
    columns = [
        {"column": column.title, "kind": kind, "range": values, "may_be_missing": column.missing}
        for column, kind, values in zip(found.features.columns, shown["kind"], shown["range"], strict=True)
    ]
    findings = [asdict(finding) for finding in found.findings]
    return {"rows": found.n_rows, "columns": columns, "findings": findings, "wrote": str(out)}


def columns_table(features: "FeatureSpace", hints: Mapping[Hashable, str]) -> "Layout":
    """Lay out what was inferred of each column."""
    from rich.markup import escape

    table = new_table("", "column", "kind", "range", "look at")
    for place in table.columns:
        place.justify = "left"
    shown = features.describe()
    for column, kind, values in zip(features.columns, shown["kind"], shown["range"], strict=True):
        gaps = ", with gaps" if column.missing else ""
        table.add_row(*map(escape, (column.title, kind + gaps, values, hints.get(column.name, ""))))
    return table
