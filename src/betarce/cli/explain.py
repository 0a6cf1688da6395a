"""`betarce explain`: from a CSV file to certified answers."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from betarce.cli.answers import print_answer
from betarce.cli.csv_output import changes_csv
from betarce.cli.explain_files import Address, Engine, explain_files, refuse_table_options, writes_table
from betarce.cli.findings import print_findings
from betarce.cli.friendly import friendly_errors, friendly_warnings
from betarce.cli.layout import known, print_json
from betarce.cli.options import (
    Confidence,
    Delta,
    Drop,
    Jobs,
    Json,
    Missing,
    Prior,
    Seed,
    Trust,
    check_choice,
    given,
)
from betarce.cli.recording import Recording
from betarce.cli.training import Base, MaxChanges, Models, Space, explainer_settings
from betarce.safe_text import in_terminal

if TYPE_CHECKING:
    from rich.console import Console

    from betarce.robustify import Result
    from betarce.runs.csv_jobs import Job
    from betarce.tables.csv_checks import Finding

_TRAINING = (
    *("label", "rows", "features", "drop", "model", "space", "base", "models", "max_changes", "delta", "confidence"),
    *("prior", "seed"),
)


Model = Annotated[
    str, typer.Option(help="hist-gradient-boosting, lightgbm, logistic or random-forest.", metavar="NAME")
]
RowsFile = Annotated[
    Path | None, typer.Option(help="CSV file of rows to explain; else those of the table in another class.")
]


def explain(
    context: typer.Context,
    data: Annotated[
        Path, typer.Argument(help="CSV file of the training table; with --from, file or folder of rows to explain.")
    ],
    label: Annotated[
        str | None, typer.Option(help="Its column of classes.", show_default=False, metavar="COLUMN")
    ] = None,
    from_run: Annotated[
        Path | None, typer.Option("--from", help="Run that `betarce fit` made: nothing is trained.", metavar="RUN")
    ] = None,
    target: Annotated[str | None, typer.Option(help="The class wanted.", show_default=False, metavar="CLASS")] = None,
    rows: RowsFile = None,
    features: Annotated[Path | None, typer.Option(help="File of rules, as `betarce init` writes.")] = None,
    drop: Drop = None,
    missing: Missing = None,
    model: Model = "hist-gradient-boosting",
    space: Space = "bootstrap",
    base: Base = "none",
    models: Models = "auto",
    max_changes: MaxChanges = None,
    delta: Delta = 0.9,
    confidence: Confidence = 0.95,
    prior: Prior = "exact",
    seed: Seed = 0,
    jobs: Jobs = -1,
    limit: Annotated[int | None, typer.Option(help="Rows to explain: 10 of the table, all of --rows.", min=1)] = None,
    out: Annotated[
        Path | None,
        typer.Option(help="File to write everything to, in JSON; with --from also .csv, .parquet or .jsonl, any size."),
    ] = None,
    csv: Annotated[Path | None, typer.Option(help="CSV file to write the changes to.")] = None,
    report: Annotated[Path | None, typer.Option(help="HTML file to write a page for people to.")] = None,
    ledger: Annotated[
        Path | None, typer.Option(help="Put the answers on record as promises, in this file.", metavar="FILE")
    ] = None,
    names: Annotated[
        str | None, typer.Option(help="Column of the rows that says what each is called.", metavar="COLUMN")
    ] = None,
    expires: Annotated[
        str | None, typer.Option(help="Until when the promises bind, such as 2027-06-30.", metavar="DATE")
    ] = None,
    cohort: Annotated[
        str | None, typer.Option(help="Column of the rows with the group to report on later.", metavar="COLUMN")
    ] = None,
    private: Annotated[bool, typer.Option("--private", help="Statements commit to the points untold.")] = False,
    key: Annotated[
        Path | None, typer.Option(help="PEM file of the private key to sign the promises with.", metavar="FILE")
    ] = None,
    engine: Engine = "local",
    address: Address = None,
    trust: Trust = None,
    json: Json = False,
) -> None:
    """Say what to change in which row to get another class, with a certificate.

    A model is trained on the CSV file, unless --from names a run: then the file holds the rows to explain.
    """
    from betarce.errors import InvalidInput
    from betarce.models.tabular import MODELS
    from betarce.runs.csv_jobs import read_task, train
    from betarce.runs.csv_runs import job_from_run

    with friendly_errors(), friendly_warnings() as warned:
        _check_files(out, csv, report)
        _check_recording(context, from_run, ledger)
        if from_run is not None:
            _refuse_training_options(context)
            how: dict[str, Any] = {"names": names, "missing": missing or (), "trust": trust or ()}
            if out is not None and writes_table(out):
                where: dict[str, Any] = {"engine": engine, "address": address, "jobs": jobs}
                return explain_files(
                    context, from_run, data, out, target=target, limit=limit, json=json, **how, **where
                )
        refuse_table_options(context, data)
        if from_run is not None:
            found = job_from_run(from_run, data, target=target, limit=limit, **how)
            recording = Recording.open(ledger, found, expires=expires, cohort=cohort, private=private, key=key)
            _say_extra(found.rows.extra, data, used=(names, cohort))
            result = found.job.explain()
            recording.record(result)
            return _hand_out(found.job, result, found.label, (), warned, json, (out, csv, report))
        if label is None:
            raise InvalidInput("--label must name the column of classes; or take a run with --from.")
        settings = explainer_settings(
            space=space, base=base, prior=prior, models=models, jobs=jobs, max_changes=max_changes
        )
        check_choice("--model", model, MODELS)
        task = read_task(
            data, label=label, target=target, rows=rows, features=features, drop=drop or (), missing=missing or ()
        )
        print_findings(task.findings, data)
        typer.echo(in_terminal(f"Training {model} on {data}, and siblings to search and certify with ..."), err=True)
        job = train(task, model=model, limit=limit, seed=seed, delta=delta, confidence=confidence, **settings)
        result = job.explain()
    return _hand_out(job, result, label, task.findings, warned, json, (out, csv, report))


def _refuse_training_options(context: typer.Context) -> None:
    """Refuse options that say how to train: a run was trained already."""
    from betarce.errors import InvalidInput

    for name in _TRAINING:
        if given(context, name):
            raise InvalidInput(
                f"--{name.replace('_', '-')} belongs to the training, and the run of --from was trained already. Leave "
                "it out, or make another run with betarce fit."
            )


def _check_recording(context: typer.Context, from_run: Path | None, ledger: Path | None) -> None:
    """Refuse options on promises without a ledger, and a ledger without a run that the promises could rest on."""
    from betarce.errors import InvalidInput

    if ledger is not None and from_run is None:
        raise InvalidInput(
            "--ledger needs --from: a promise rests on the models that certified it, so they must be in a run. Make "
            "one with betarce fit."
        )
    for name, needed, there in [
        ("names", "--from", from_run),
        *((name, "--ledger", ledger) for name in ("expires", "cohort", "private", "key")),
    ]:
        if there is None and given(context, name):
            raise InvalidInput(f"--{name} needs {needed}.")


def _say_extra(extra: Sequence[str], data: Path, *, used: Sequence[str | None] = ()) -> None:
    left = [name for name in extra if name not in used]
    if left:
        shown = ", ".join(map(repr, left))
        typer.echo(in_terminal(f"Columns of {data} that the model does not know are left out: {shown}."), err=True)


def _hand_out(
    job: "Job",
    result: "Result",
    label: str,
    findings: Sequence["Finding"],
    warned: Mapping[str, type[Warning]],
    json: bool,
    files: Sequence[Path | None],
) -> None:
    from betarce.errors import DegenerateSpace

    if json:
        print_json(_document(job, result, findings, warned))
    else:
        _print_answers(job, result, label)
    _write_files(result, *files)
    if DegenerateSpace in warned.values() or any(item.status == "not-varied" for item in result):
        raise typer.Exit(1)


def _check_files(out: Path | None, csv: Path | None, report: Path | None) -> None:
    """Find out before the work, not after it, that a file cannot be written."""
    from betarce.storage.files import check_writable

    for option, path in (("--out", out), ("--csv", csv), ("--report", report)):
        if path is not None:
            with friendly_errors(path=option):
                check_writable(path)


def _write_files(result: "Result", out: Path | None, csv: Path | None, report: Path | None) -> None:
    from betarce.storage.files import write_whole

    with friendly_errors():
        if out is not None:
            result.save(out)
            typer.echo(in_terminal(f"Wrote {out}: everything, in JSON."), err=True)
        if csv is not None:
            write_whole(csv, changes_csv(result))
            typer.echo(in_terminal(f"Wrote {csv}: one line per change."), err=True)
        if report is not None:
            result.to_html(report)
            typer.echo(in_terminal(f"Wrote {report}: a page to open in a browser."), err=True)


def _print_answers(job: "Job", result: "Result", label: str) -> None:
    from rich.markup import escape

    from betarce.cli.terminal import Console

    console = Console(highlight=False)
    certifying = job.rce.members_.certifying or ()
    right = "" if known(job.accuracy) is None else f" It is right for {job.accuracy:.0%} of rows kept aside."
    console.print(
        f"The model learnt from {job.n_rows:,} rows.{right} {len(job.rce.members_.search)} members search, "
        f"{len(certifying)} others certify.\n"
    )
    for name, item in zip(result.row_names, result, strict=True):
        console.print(f"[bold]Row {escape(str(name))}[/]: what would make {escape(f'{label} = {job.target}')}?")
        print_answer(console, item)
    _print_counts(console, job, result)


def _print_counts(console: "Console", job: "Job", result: "Result") -> None:
    from collections import Counter

    from rich.markup import escape

    n_certified = int(result.certified.sum())
    console.print(f"[bold]{n_certified} of {len(result)}[/] rows have a certified answer.")
    others = Counter(item.status for item in result if item.status != "certified")
    if others:
        console.print(f"The others: {', '.join(f'{n} {status}' for status, n in others.most_common())}.")
    if job.n_there:
        console.print(f"{job.n_there:,} more are in class {escape(str(job.target))} already.")
    if job.n_more:
        console.print(f"{job.n_more:,} more rows are in another class; raise --limit to explain them.")


def _document(job: "Job", result: "Result", findings: Sequence["Finding"], warned: Iterable[str]) -> dict[str, object]:
    from json import loads

    return {
        "findings": [asdict(finding) for finding in findings],
        "warnings": list(warned),
        "rows_learnt_from": job.n_rows,
        "accuracy": known(job.accuracy),
        "search_members": len(job.rce.members_.search),
        "certifying_members": len(job.rce.members_.certifying or ()),
        "rows_already_there": job.n_there,
        "rows_not_explained": job.n_more,
        "result": loads(result.to_json()),
    }
