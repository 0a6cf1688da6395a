"""The command line: parses, calls, prints."""

from collections.abc import Hashable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, get_args

import typer

from betarce.safe_text import in_terminal

if TYPE_CHECKING:
    import pandas as pd
    from rich.console import Console
    from rich.table import Table

    from betarce.features import FeatureSpace
    from betarce.robustify import RobustCounterfactual

app = typer.Typer(
    no_args_is_help=True, add_completion=False, rich_markup_mode="markdown", pretty_exceptions_enable=False
)

Delta = Annotated[float, typer.Option(help="Share of all retrained models that must keep the class.")]
Confidence = Annotated[float, typer.Option(help="How sure that is, one-sided.")]
Prior = Annotated[str, typer.Option(help="jeffreys, uniform or exact.")]


@app.callback()
def main() -> None:
    """Counterfactual explanations that survive retraining."""


@app.command()
def demo(
    delta: Delta = 0.9,
    confidence: Confidence = 0.95,
    seed: Annotated[int, typer.Option(help="The same seed gives the same output.")] = 0,
    jobs: Annotated[int, typer.Option(help="Workers that train models; -1 for one a core.")] = -1,
    audit_models: Annotated[int, typer.Option(help="Fresh models that check the promise.", min=1)] = 200,
) -> None:
    """Explain five rejected loans, then check the promise on retrained models that nothing has seen."""
    from betarce.demo import RULES_IN_WORDS, prepare
    from betarce.terminal import Console

    console = Console(highlight=False)
    with friendly_errors():
        console.print("Training a bank's model, and bootstrapped siblings of it to search with and to certify with ...")
        story = prepare(delta=delta, confidence=confidence, seed=seed, n_jobs=jobs)
        rce, certifying = story.rce, story.rce.certifying_members_ or ()
        console.print(f"{story.loans}. The model is right for {story.accuracy:.0%} of unseen applicants.")
        console.print(
            f"{len(rce.search_members_)} members search, {len(certifying)} others certify. {RULES_IN_WORDS}\n"
        )
        result = story.explain()
        for name, item in zip(result.row_names, result, strict=True):
            console.print(f"[bold]Applicant {name}[/] was rejected. What would get the loan?")
            print_answer(console, item)
        console.print(f"Now {audit_models} freshly retrained models decide, which nothing above has seen.")
        audit = rce.audit(result, n_models=audit_models)
        console.print(audit_table(audit))
        console.print(
            f"On average [bold]{audit['base'].mean():.0%}[/] of them approve the base points, and "
            f"[bold]{audit['robust'].mean():.0%}[/] the certified ones. Promised: at least {delta:.0%} for each, "
            f"wrong for at most {1 - confidence:.0%} of them in the long run."
        )


@app.command()
def size(
    delta: Annotated[list[float] | None, typer.Option(help="Share to certify; may be given more than once.")] = None,
    confidence: Annotated[list[float] | None, typer.Option(help="May be given more than once.")] = None,
    models: Annotated[list[int] | None, typer.Option(help="The reverse: what can so many models certify?")] = None,
    prior: Prior = "jeffreys",
) -> None:
    """Say how many models a guarantee takes, or, with --models, what so many models can guarantee."""
    from betarce.terminal import Console

    console = Console(highlight=False)
    with friendly_errors():
        if models:
            console.print(reach_table(models, confidence or [0.9, 0.95, 0.99], prior))
        else:
            console.print(size_table(delta or [0.8, 0.9, 0.95], confidence or [0.9, 0.95, 0.99], prior))


@app.command()
def figures(
    out: Annotated[Path, typer.Option(help="Folder to write to; made if it is not there.")] = Path("figures"),
) -> None:
    """Draw what votes can promise: Beta shapes, largest delta, interval widths; write the table of deltas."""
    from rich.markup import escape

    from betarce.report.gallery import write_gallery
    from betarce.terminal import Console

    console = Console(highlight=False)
    with friendly_errors():
        for path in write_gallery(out):
            console.print(f"Wrote {escape(str(path))}", soft_wrap=True)


@app.command()
def init(
    data: Annotated[Path, typer.Argument(help="CSV file of the training table.", show_default=False)],
    label: Annotated[str | None, typer.Option(help="The column of classes, which is no feature.")] = None,
    out: Annotated[Path, typer.Option(help="The file to write.")] = Path("features.toml"),
    drop: Annotated[list[str] | None, typer.Option(help="Column to leave out; may be given more than once.")] = None,
    force: Annotated[bool, typer.Option("--force", help="Overwrite the file if it exists.")] = False,
) -> None:
    """Infer the columns of a CSV file, and write a file of rules to edit: what may change, and how."""
    from rich.markup import escape

    from betarce.errors import InvalidInput
    from betarce.features import write_rules
    from betarce.jobs import inspect
    from betarce.terminal import Console

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


@app.command()
def explain(
    data: Annotated[Path, typer.Argument(help="CSV file of the training table.", show_default=False)],
    label: Annotated[str, typer.Option(help="Its column of classes.", show_default=False)],
    target: Annotated[str | None, typer.Option(help="The class wanted.", show_default=False)] = None,
    rows: Annotated[
        Path | None, typer.Option(help="CSV file of rows to explain; else those of the table in another class.")
    ] = None,
    features: Annotated[Path | None, typer.Option(help="File of rules, as `betarce init` writes.")] = None,
    drop: Annotated[list[str] | None, typer.Option(help="Column to leave out; may be given more than once.")] = None,
    model: Annotated[
        str, typer.Option(help="hist-gradient-boosting, lightgbm, logistic or random-forest.")
    ] = "hist-gradient-boosting",
    space: Annotated[str, typer.Option(help="How the model may be retrained: bootstrap or seed.")] = "bootstrap",
    delta: Delta = 0.9,
    confidence: Confidence = 0.95,
    seed: Annotated[int, typer.Option(help="The same seed gives the same output.")] = 0,
    jobs: Annotated[int, typer.Option(help="Workers that train models; -1 for one a core.")] = -1,
    limit: Annotated[int | None, typer.Option(help="Rows to explain: 10 of the table, all of --rows.", min=1)] = None,
    out: Annotated[Path | None, typer.Option(help="JSON file to write everything to.")] = None,
    csv: Annotated[
        Path | None, typer.Option(help="CSV file to write the changes to, safe to open in a spreadsheet.")
    ] = None,
) -> None:
    """Train a model on a CSV file, and say what to change in which row to get another class, with a certificate."""
    from rich.markup import escape

    from betarce.files import check_writable, write_whole
    from betarce.jobs import prepare
    from betarce.safe_text import csv_for_people
    from betarce.terminal import Console

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
            write_whole(csv, csv_for_people(result.changes().astype(object).map(whole)))
            console.print(f"Wrote {escape(str(csv))}: one line a change.")


@app.command()
def reproduce(
    plan: Annotated[str, typer.Argument(help="smoke, paper, confidence, members, or a TOML file.", show_default=False)],
    out: Annotated[Path, typer.Option(help="Folder of results; what is finished in it is kept.", show_default=False)],
    jobs: Annotated[int, typer.Option(help="Cells at a time on this machine; -1 for one a core.")] = -1,
    engine: Annotated[
        str, typer.Option(help="Where cells are computed: local, dask or ray. The files are written here.")
    ] = "local",
    address: Annotated[
        str | None,
        typer.Option(
            help="Running cluster: tcp://HOST:8786 for dask; auto, HOST:6379 or ray://HOST:10001 for ray. Without it a "
            "cluster of --jobs workers is started on this machine for the run.",
            show_default=False,
        ),
    ] = None,
    only: Annotated[str, typer.Option(help="Run only cells whose name holds this.")] = "",
    retry_failed: Annotated[
        bool, typer.Option("--retry-failed", help="Run cells again in which some method could not run.")
    ] = False,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Say what would be run, and run nothing.")] = False,
) -> None:
    """Run the experiments of a plan, then write its tables and figures; stop at any time, the same command goes on."""
    from rich.markup import escape

    from betarce.evaluate.plan_file import plan_text, read_plan
    from betarce.evaluate.records import breakdowns, finished_cells, records_table, summary
    from betarce.evaluate.run import State, choose_cells, run_plan, survey
    from betarce.report.reproduction import write_reproduction
    from betarce.terminal import Console

    console = Console(highlight=False)
    with friendly_errors():
        chosen = read_plan(plan)
        cells = choose_cells(chosen, only)
        states = survey(chosen, out, cells)
        counts = {state: list(states.values()).count(state) for state in get_args(State)}
        shown = ", ".join(f"{n} {state}" for state, n in counts.items() if n)
        console.print(f"{len(cells)} cells: {shown}.")
        if dry_run:
            for cell, state in states.items():
                console.print(f"  {escape(cell.name)}: {state}", soft_wrap=True)
            return
        report = run_plan(
            chosen, out, only=only, retry_failed=retry_failed, n_jobs=jobs, engine=engine, address=address
        )
        for name in report.damaged:
            console.print(f"The file of {escape(name)} was damaged; the cell was run again.", soft_wrap=True)
        finished = finished_cells(chosen, out, chosen.cells)
        records = records_table([(cell, content) for cell, content in finished if only in cell.name])
        console.print(methods_table(summary(records)))
        broken = breakdowns(records)
        for method, base, reason, n in broken:
            start = f" from {escape(base)}" if base else ""
            console.print(f"{escape(method)}{start} broke down in {n} cells: {escape(reason)}", soft_wrap=True)
        if broken:
            console.print("When the reason is gone, --retry-failed runs these cells again.")
        console.print(
            f"{len(report.done)} cells done, {len(report.skipped)} skipped as finished before, "
            f"{len(report.failed)} failed. Records are in {escape(str(out / 'cells'))}.",
            soft_wrap=True,
        )
        if finished:
            with friendly_warnings(), console.status("Writing tables and figures"):
                write_reproduction(chosen, finished, out / "report", plan_text=plan_text(plan))
            console.print(f"Tables and figures: {escape(str(out / 'report' / 'README.md'))}.", soft_wrap=True)
    for name, error in report.failed.items():
        typer.secho(in_terminal(f"Failed: {name}: {error}"), err=True, fg="red")
    if report.failed:
        raise typer.Exit(1)


@contextmanager
def friendly_errors() -> Iterator[None]:
    """Print our own errors as a sentence; leave all others, which are bugs, with their traceback."""
    from betarce.errors import BetarceError

    try:
        yield
    except BetarceError as error:
        typer.secho(in_terminal(f"Error: {error}"), err=True, fg="red")
        raise typer.Exit(2) from None


@contextmanager
def friendly_warnings() -> Iterator[None]:
    """Print each warning once, as a sentence."""
    import warnings

    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        yield
    for text in dict.fromkeys(str(warning.message) for warning in caught):
        typer.secho(in_terminal(f"Warning: {text}"), err=True, fg="yellow")


def print_answer(console: "Console", item: "RobustCounterfactual") -> None:
    """Say what one row should change, and how surely it holds, or why there is no answer."""
    from rich.markup import escape

    certified = item.status == "certified"
    if certified:
        console.print(changes_table(item))
    sign = "[green]✓[/]" if certified else "[red]✗[/]"
    console.print(f"  {sign} {escape(str(item.certificate) if certified else item.reason)}")
    if item.note:
        console.print(f"    {escape(item.note)}")
    console.print()


def print_dropped(console: "Console", names: Sequence[str]) -> None:
    """Say which columns were left out."""
    from rich.markup import escape

    if names:
        console.print(f"Left out, since they hold no value at all: {escape(', '.join(names))}.")


def columns_table(features: "FeatureSpace", hints: Mapping[Hashable, str]) -> "Table":
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


def size_table(deltas: list[float], confidences: list[float], prior: str) -> "Table":
    """Lay out the least number of models by delta, confidence and allowed dissent."""
    from betarce.posterior import Guarantee, check_prior

    dissents = (0, 1, 2, 5)
    table = new_table(f"Models needed ({prior} prior)", "delta", "confidence", *map(dissent_heading, dissents))
    for delta in deltas:
        for confidence in confidences:
            guarantee = Guarantee(delta, confidence, check_prior(prior))
            counts = [f"{guarantee.min_models(allowed_dissent=dissent)}" for dissent in dissents]
            table.add_row(f"{delta:g}", f"{confidence:g}", *counts)
    return table


def reach_table(models: list[int], confidences: list[float], prior: str) -> "Table":
    """Lay out the largest certifiable delta by number of models, confidence and dissent."""
    from betarce.posterior import check_prior, lower_bound

    dissents = (0, 1, 2, 5)
    table = new_table(f"Largest delta ({prior} prior)", "models", "confidence", *map(dissent_heading, dissents))
    for n in models:
        for confidence in confidences:
            bounds = [
                f"{lower_bound(n - dissent, n, confidence=confidence, prior=check_prior(prior)):.3f}"
                if dissent <= n
                else "-"
                for dissent in dissents
            ]
            table.add_row(f"{n}", f"{confidence:g}", *bounds)
    return table


def dissent_heading(dissent: int) -> str:
    """Head a column by how many may disagree."""
    return "all agree" if dissent == 0 else f"{dissent} may dissent"


def changes_table(item: "RobustCounterfactual") -> "Table":
    """Lay out one applicant: what is, what the base method says, what is certified."""
    from rich.markup import escape

    table = new_table("", "feature", "now", "base", "robust")
    shown = item.changes()
    for line in shown.itertuples(index=False, name=None):
        table.add_row(*map(escape, (str(line[0]), *map(number, line[1:]))))
    if shown.empty:
        table.add_row("-", "-", "-", "-")
    return table


def audit_table(audit: "pd.DataFrame") -> "Table":
    """Lay out promised against realised validity."""
    from rich.markup import escape

    table = new_table("", "applicant", "promised", "robust: realised", "base: realised")
    for name, row in audit.iterrows():
        promised, robust, base = (share(row[column]) for column in ("promised", "robust", "base"))
        table.add_row(escape(str(name)), promised if promised == "-" else f">= {promised}", robust, base)
    return table


def methods_table(summary: "pd.DataFrame") -> "Table":
    """Lay out what each method of a plan reached: answers, and means over them."""
    from rich.markup import escape

    several = summary.loc[summary["base"] != "", "base"].nunique() > 1
    known = ["delta", *["confidence"] * (summary["confidence"].nunique() > 1)]
    measures = ["proximity_l1", "distance_to_base", "ms"]
    table = new_table("", "method", *known, "answers", "robust", "L1", "to base", "ms")
    table.columns[0].no_wrap = True
    for line in summary.to_dict("records"):
        base = f"\n  from {line['base']}" if several and line["base"] else ""
        table.add_row(
            escape(f"{line['method']}{base}"),
            *(f"{line[name]:g}".replace("nan", "-") for name in known),
            f"{round(line['found'] * line['rows'])}/{line['rows']}",
            share(line["robustness"]),
            *(f"{line[name]:.3g}".replace("nan", "-") for name in measures),
        )
    return table


def share(value: float) -> str:
    """Write a share as a percentage, rounded down; a dash where there is none."""
    return "-" if value != value else f"{int(value * 1000) / 10:.1f} %"


def new_table(title: str, *columns: str) -> "Table":
    """Start a table in the one style that the command line has."""
    from rich import box
    from rich.table import Table

    table = Table(title=title or None, title_justify="left", title_style="bold", box=box.SIMPLE_HEAD)
    for i, column in enumerate(columns):
        table.add_column(column, justify="left" if i == 0 else "right")
    return table


def whole(value: Any) -> Any:
    """Turn a float without a fraction, which a table may make of an int, back into an int."""
    return int(value) if isinstance(value, float) and value.is_integer() else value


def number(value: Any) -> str:
    """Write a value as people do: numbers whole where they are whole, thousands apart."""
    value = value.item() if hasattr(value, "item") else value
    if value is None or str(value) in ("nan", "<NA>", "NaT"):
        return "missing"
    if isinstance(value, bool) or not isinstance(value, (int, float)):
        return str(value)
    return f"{value:,.0f}" if float(value).is_integer() else f"{value:,.2f}"
