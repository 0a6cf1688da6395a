"""`betarce recheck`: a new model against all promises on record."""

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from betarce.cli.friendly import friendly_errors, friendly_warnings, in_options
from betarce.cli.layout import new_table
from betarce.cli.options import AllowPickle, Trust
from betarce.safe_text import in_terminal

if TYPE_CHECKING:
    from betarce.ledger import Condition, Ledger, Recheck
    from betarce.robustify import BetaRCE
    from betarce.runs.manifest import TableSource

_SHOWN = 10
_TABLES = (".csv", ".tsv")


def recheck(
    ledger: Annotated[Path, typer.Option(help="The file of the ledger.", show_default=False, metavar="FILE")],
    from_run: Annotated[
        Path, typer.Option("--from", help="Run that the promises rest on.", show_default=False, metavar="RUN")
    ],
    model: Annotated[
        str | None,
        typer.Option(
            help="The new model: a CSV file of new data to train the run's recipe on; a .skops or .safetensors file; a "
            "model file of LightGBM or XGBoost; or package.module:object.",
            metavar="MODEL",
        ),
    ] = None,
    predictions: Annotated[
        Path | None, typer.Option(help="Instead: CSV file of what any system predicts, by promise or row.")
    ] = None,
    name: Annotated[str | None, typer.Option(help="What the new model is called on record.", metavar="TEXT")] = None,
    in_use: Annotated[
        bool | None,
        typer.Option(
            "--in-use/--not-in-use",
            help="Whether the model is in use, so that what it breaks is broken.",
            show_default="in use unless it is beyond what was declared",
        ),
    ] = None,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Only look: nothing is put on record.")] = False,
    error_if: Annotated[
        list[str] | None,
        typer.Option(help="What makes the exit code 1, such as 'share > 20 %'.", show_default="p <= 0.05"),
    ] = None,
    warn_if: Annotated[list[str] | None, typer.Option(help="What is only warned of, such as 'broken > 10'.")] = None,
    strict: Annotated[bool, typer.Option("--strict", help="Exit code 1 for any broken promise.")] = False,
    json: Annotated[Path | None, typer.Option(help="JSON file to write everything to.")] = None,
    junit: Annotated[Path | None, typer.Option(help="JUnit XML file to write for CI.")] = None,
    trust: Trust = None,
    allow_pickle: AllowPickle = False,
) -> None:
    """Hold a new model against all promises that still bind, and rank it among models of the declared kind.

    Exit code 0: what it breaks is typical of the declared kind of change. 1: it is beyond that, or a condition of yours
    is met. 2: wrong use; nothing was put on record.
    """
    from betarce.errors import InvalidInput
    from betarce.runs import load
    from betarce.runs.manifest import Manifest

    with friendly_errors(path="--ledger", folder="--from", condition="The condition"), friendly_warnings():
        if (model is None) == (predictions is None):
            raise InvalidInput("Say either which --model is new, or what it predicts with --predictions.")
        errors, warns = _conditions(error_if, warn_if, strict)
        for path in (json, junit):
            _check_output(path)
        with _opened(ledger, dry_run) as opened:
            run, source = load(from_run, trust=trust or ()), Manifest.read(from_run).source
            how: dict[str, Any] = {"trust": trust or (), "allow_pickle": allow_pickle}
            new, called = _new_model(opened, run, source, model=model, predictions=predictions, **how)
            found = opened.recheck(new, run=run, name=name or called, dry_run=True)
            _refuse_unscored(found)
            found = found if dry_run else opened.record_recheck(found, deployed=in_use)
        _write(found, json, junit)
    _print(found)
    _judge(found, errors, warns)


def _judge(found: "Recheck", errors: Sequence["Condition"], warns: Sequence["Condition"]) -> None:
    """Say which conditions are met, and leave with exit code 1 if one of them is an error."""
    failed = [condition for condition in errors if condition.met(found)]
    for condition in (condition for condition in warns if condition.met(found)):
        typer.secho(f"Warning: {condition}", fg="yellow", err=True)
    for condition in failed:
        typer.secho(f"Failed: {condition}", fg="red", err=True)
    if failed:
        raise typer.Exit(1)


def _conditions(
    error_if: Sequence[str] | None, warn_if: Sequence[str] | None, strict: bool
) -> tuple[list["Condition"], list["Condition"]]:
    from betarce.ledger import Condition

    errors = [Condition.read(text) for text in error_if or ["p <= 0.05"]]
    return [*errors, *[Condition.read("broken > 0")] * strict], [Condition.read(text) for text in warn_if or ()]


def _check_output(path: Path | None) -> None:
    from betarce.storage.files import check_writable

    if path is not None:
        with friendly_errors(path="The file to write"):
            check_writable(path)


def _opened(path: Path, read_only: bool) -> "Ledger":
    from betarce.errors import InvalidInput
    from betarce.ledger import Ledger

    if not path.exists():
        raise InvalidInput(f"--ledger must name a ledger; there is no file at {str(path)!r}.")
    return Ledger(path, read_only=read_only)


def _new_model(
    opened: "Ledger",
    run: "BetaRCE",
    source: "TableSource",
    *,
    model: str | None,
    predictions: Path | None,
    **how: Any,
) -> tuple[Any, str]:
    """Give the new model, or what it predicts, and what to call it."""
    from betarce.ledger import read_predictions
    from betarce.models.files import load_model
    from betarce.runs.csv_runs import trained_on

    if predictions is not None:
        return read_predictions(predictions, opened.open_promises(), label=source.label), predictions.name
    assert model is not None
    if Path(model).suffix.lower() in _TABLES:
        return trained_on(model, run, source), Path(model).name
    table, classes = run.subject_.table.X, run.classes_.tolist()
    return load_model(model, table=table, classes=classes, **how).to_score(), Path(model).name


def _refuse_unscored(found: "Recheck") -> None:
    """Refuse a model that can score no promise at all: it was built for something else."""
    from betarce.errors import InvalidInput

    bound = found.counts["held"] + found.counts["broken"] + found.counts["unscored"]
    if bound and found.counts["unscored"] == bound:
        reason = next(reason for reason in found.reasons if reason)
        raise InvalidInput(f"None of the {bound:,} promises can be scored: {reason}. Nothing was put on record.")


def _write(found: "Recheck", json: Path | None, junit: Path | None) -> None:
    from json import dumps

    from betarce.storage.files import write_whole

    if json is not None:
        write_whole(json, dumps(found.to_plain(), indent=2, ensure_ascii=False, allow_nan=False) + "\n")
    if junit is not None:
        write_whole(junit, found.to_junit())


def _print(found: "Recheck") -> None:
    from rich.markup import escape

    from betarce.cli.terminal import Console

    console = Console(highlight=False)
    table = new_table("", "promises", *found.counts)
    table.add_row(f"{len(found.promises):,}", *(f"{n:,}" for n in found.counts.values()))
    console.print(table)
    typer.echo(in_terminal(str(found)))
    if found.advice:
        typer.echo(in_terminal(in_options(found.advice)))
    broken = found.to_frame().query("outcome == 'broken'")
    if len(broken):
        lines = new_table("Broken promises", "promise", "row", "target", "cohort")
        for name, line in zip(broken.index[:_SHOWN], broken.to_dict("records")[:_SHOWN], strict=True):
            lines.add_row(*(escape(str(cell)) for cell in (name, line["name"], line["target"], line["cohort"])))
        console.print(lines)
        if len(broken) > _SHOWN:
            typer.echo(f"and {len(broken) - _SHOWN:,} more; --json gives all")
        typer.echo("Next: betarce ledger repair, honour or refer, each with the names of promises.")
    for reason in dict.fromkeys(reason for reason in found.reasons if reason):
        typer.echo(in_terminal(f"Cannot be scored: {reason}."))
    if found.where is not None and found.where.share:
        typer.echo(in_terminal(f"{found.where}, most of all where"))
        for what in (*map(str, found.where.regions), *(f"row {row}" for row in found.where.rows)):
            typer.echo(in_terminal(f"  * {what}"))
