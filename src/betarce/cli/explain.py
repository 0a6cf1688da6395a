"""`betarce explain`: from a CSV file to certified answers."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, NamedTuple

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
from betarce.cli.recording import Cohort, Expires, Key, LedgerFile, Names, Private, Recording
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


Data = Annotated[
    Path, typer.Argument(help="CSV file of the training table; with --from, file or folder of rows to explain.")
]
Label = Annotated[str | None, typer.Option(help="Its column of classes.", show_default=False, metavar="COLUMN")]
FromRun = Annotated[
    Path | None, typer.Option("--from", help="Run that `betarce fit` made: nothing is trained.", metavar="RUN")
]
Target = Annotated[str | None, typer.Option(help="The class wanted.", show_default=False, metavar="CLASS")]
RowsFile = Annotated[
    Path | None, typer.Option(help="CSV file of rows to explain; else those of the table in another class.")
]
Features = Annotated[Path | None, typer.Option(help="File of rules, as `betarce init` writes.")]
Model = Annotated[
    str, typer.Option(help="hist-gradient-boosting, lightgbm, logistic or random-forest.", metavar="NAME")
]
Limit = Annotated[int | None, typer.Option(help="Rows to explain: 10 of the table, all of --rows.", min=1)]
Out = Annotated[
    Path | None,
    typer.Option(help="File to write everything to, in JSON; with --from also .csv, .parquet or .jsonl, any size."),
]
Changes = Annotated[Path | None, typer.Option(help="CSV file to write the changes to.")]
Page = Annotated[Path | None, typer.Option(help="HTML file to write a page for people to.")]


def explain(
    context: typer.Context,
    data: Data,
    label: Label = None,
    from_run: FromRun = None,
    target: Target = None,
    rows: RowsFile = None,
    features: Features = None,
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
    limit: Limit = None,
    out: Out = None,
    csv: Changes = None,
    report: Page = None,
    ledger: LedgerFile = None,
    names: Names = None,
    expires: Expires = None,
    cohort: Cohort = None,
    private: Private = False,
    key: Key = None,
    engine: Engine = "local",
    address: Address = None,
    trust: Trust = None,
    json: Json = False,
) -> None:
    """Say what to change in which row to get another class, with a certificate.

    A model is trained on the CSV file, unless --from names a run: then the file holds the rows to explain.
    """
    with friendly_errors(), friendly_warnings() as warned:
        _check_files(out, csv, report)
        _check_recording(context, from_run, ledger)
        how: dict[str, Any] = {"target": target, "missing": missing or ()}
        if from_run is not None:
            _refuse_training_options(context)
            how |= {"names": names, "trust": trust or (), "limit": limit}
            if out is not None and writes_table(out):
                where: dict[str, Any] = {"engine": engine, "address": address, "jobs": jobs}
                return explain_files(context, from_run, data, out, json=json, **how, **where)
        refuse_table_options(context, data)
        if from_run is not None:
            promise = {"expires": expires, "cohort": cohort, "private": private, "key": key}
            answered = _from_run(from_run, data, ledger, how, promise)
        else:
            members = {"space": space, "base": base, "prior": prior, "models": models, "max_changes": max_changes}
            settings = {"seed": seed, "delta": delta, "confidence": confidence, "limit": limit, "model": model}
            how |= {"label": label, "rows": rows, "features": features, "drop": drop or ()}
            answered = _trained(data, how, {**members, "jobs": jobs}, settings)
    return _hand_out(answered, warned, json, (out, csv, report))


class _Answered(NamedTuple):
    """What was explained, and what there is to say about it."""

    job: "Job"
    result: "Result"
    label: str
    findings: Sequence["Finding"] = ()


def _from_run(
    run: Path, data: Path, ledger: Path | None, how: Mapping[str, Any], promise: Mapping[str, Any]
) -> _Answered:
    """Explain rows by a run, and put what is promised on record."""
    from betarce.runs.csv_runs import job_from_run

    found = job_from_run(run, data, **how)
    recording = Recording.open(ledger, found, **promise)
    _say_extra(found.rows.extra, data, used=(how["names"], promise["cohort"]))
    result = found.job.explain()
    recording.record(result)
    return _Answered(found.job, result, found.label)


def _trained(data: Path, how: Mapping[str, Any], members: Mapping[str, Any], settings: Mapping[str, Any]) -> _Answered:
    """Train a model on a table, and explain rows of it, or others."""
    from betarce.errors import InvalidInput
    from betarce.models.tabular import MODELS
    from betarce.runs.csv_jobs import read_task, train

    if how["label"] is None:
        raise InvalidInput("--label must name the column of classes; or take a run with --from.")
    chosen = explainer_settings(**members)
    model = check_choice("--model", settings["model"], MODELS)
    task = read_task(data, **how)
    print_findings(task.findings, data)
    typer.echo(in_terminal(f"Training {model} on {data}, and members to search and certify with ..."), err=True)
    job = train(task, **settings, **chosen)
    return _Answered(job, job.explain(), how["label"], task.findings)


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
    answered: _Answered, warned: Mapping[str, type[Warning]], json: bool, files: Sequence[Path | None]
) -> None:
    from betarce.errors import DegenerateSpace

    job, result, label, findings = answered
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
