"""`betarce init` and `betarce explain`: from a CSV file to answers."""

from collections.abc import Hashable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from betarce.cli.answers import print_answer
from betarce.cli.friendly import friendly_errors, friendly_warnings
from betarce.cli.layout import new_table, whole
from betarce.cli.options import Confidence, Delta, Drop, Jobs, Seed, Table

if TYPE_CHECKING:
    from rich.console import Console
    from rich.table import Table as Layout

    from betarce.features import FeatureSpace


def init(
    data: Table,
    label: Annotated[str | None, typer.Option(help="The column of classes, which is no feature.")] = None,
    out: Annotated[Path, typer.Option(help="The file to write.")] = Path("features.toml"),
    drop: Drop = None,
    force: Annotated[bool, typer.Option("--force", help="Overwrite the file if it exists.")] = False,
) -> None:
    """Infer the columns of a CSV file, and write a file of rules to edit: what may change, and how."""
    from rich.console import Console
    from rich.markup import escape

    from betarce.errors import InvalidInput
    from betarce.features import write_rules
    from betarce.jobs import inspect

    console = Console(highlight=False)
    with friendly_errors():
        if out.exists() and not force:
            raise InvalidInput(f"{str(out)!r} exists already. Add --force to overwrite it, or --out for another name.")
        found = inspect(data, label=label, drop=drop or ())
        write_rules(found.features, out, notes=found.hints)
        console.print(f"{found.n_rows:,} rows, {len(found.features)} columns.")
        console.print(columns_table(found.features, found.hints))
        print_dropped(console, found.dropped)
        wanted = label or "COLUMN"
        console.print(
            f"Wrote [bold]{escape(str(out))}[/]. Next: open it, say what can never change (immutable) and what only "
            "grows or shrinks, then\n"
        )
        command = f"betarce explain {data} --label {wanted} --target CLASS --features {out}"
        console.print(f"  {escape(command)}\n", soft_wrap=True)


def explain(
    data: Table,
    label: Annotated[str, typer.Option(help="Its column of classes.", show_default=False)],
    target: Annotated[str | None, typer.Option(help="The class wanted.", show_default=False)] = None,
    rows: Annotated[
        Path | None, typer.Option(help="CSV file of rows to explain; else those of the table in another class.")
    ] = None,
    features: Annotated[Path | None, typer.Option(help="File of rules, as `betarce init` writes.")] = None,
    drop: Drop = None,
    model: Annotated[
        str, typer.Option(help="hist-gradient-boosting, lightgbm, logistic or random-forest.")
    ] = "hist-gradient-boosting",
    space: Annotated[str, typer.Option(help="How the model may be retrained: bootstrap or seed.")] = "bootstrap",
    delta: Delta = 0.9,
    confidence: Confidence = 0.95,
    seed: Seed = 0,
    jobs: Jobs = -1,
    limit: Annotated[int | None, typer.Option(help="Rows to explain: 10 of the table, all of --rows.", min=1)] = None,
    out: Annotated[Path | None, typer.Option(help="JSON file to write everything to.")] = None,
    csv: Annotated[Path | None, typer.Option(help="CSV file to write the changes to.")] = None,
) -> None:
    """Train a model on a CSV file, and say what to change in which row to get another class, with a certificate."""
    from rich.console import Console
    from rich.markup import escape

    from betarce.files import check_writable, write_whole
    from betarce.jobs import prepare

    console = Console(highlight=False)
    with friendly_errors(), friendly_warnings():
        for path in filter(None, (out, csv)):
            check_writable(path)  # before the work, not after it
        console.print(f"Training {escape(model)} on {escape(str(data))}, and siblings to search and certify with ...")
        job = prepare(
            data,
            label=label,
            target=target,
            rows=rows,
            features=features,
            drop=drop or (),
            model=model,
            limit=limit,
            seed=seed,
            space=space,
            delta=delta,
            confidence=confidence,
            n_jobs=jobs,
        )
        print_dropped(console, job.dropped)
        certifying = job.rce.certifying_members_ or ()
        right = "" if job.accuracy != job.accuracy else f" It is right for {job.accuracy:.0%} of rows kept aside."
        console.print(
            f"The model learnt from {job.n_rows:,} rows.{right} {len(job.rce.search_members_)} members search, "
            f"{len(certifying)} others certify.\n"
        )
        result = job.explain()
        for name, item in zip(result.row_names, result, strict=True):
            console.print(f"[bold]Row {escape(str(name))}[/]: what would make {escape(f'{label} = {job.target}')}?")
            print_answer(console, item)
        n_certified = int(result.certified.sum())
        console.print(f"[bold]{n_certified} of {len(result)}[/] rows have a certified answer.")
        if job.n_there:
            console.print(f"{job.n_there} more are in class {escape(str(job.target))} already.")
        if job.n_more:
            console.print(f"{job.n_more} more rows are in another class; raise --limit to explain them.")
        if out is not None:
            result.save(out)
            console.print(f"Wrote {escape(str(out))}; betarce.Result.load reads it.")
        if csv is not None:
            write_whole(csv, result.changes().astype(object).map(whole).to_csv(index=False))
            console.print(f"Wrote {escape(str(csv))}: one line a change.")


def print_dropped(console: "Console", names: Sequence[str]) -> None:
    """Say which columns were left out."""
    from rich.markup import escape

    if names:
        console.print(f"Left out, since they hold no value at all: {escape(', '.join(names))}.")


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
