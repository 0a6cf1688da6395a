"""The command line: parses, calls, prints."""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Annotated, Any

import typer

if TYPE_CHECKING:
    import pandas as pd
    from rich.table import Table

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
    from rich.console import Console

    from betarce.demo import RULES_IN_WORDS, prepare

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
            console.print(changes_table(item))
            sign = "[green]✓[/]" if item.status == "certified" else "[red]✗[/]"
            console.print(f"  {sign} {item.certificate if item.status == 'certified' else item.reason}\n")
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
    from rich.console import Console

    console = Console(highlight=False)
    with friendly_errors():
        if models:
            console.print(reach_table(models, confidence or [0.9, 0.95, 0.99], prior))
        else:
            console.print(size_table(delta or [0.8, 0.9, 0.95], confidence or [0.9, 0.95, 0.99], prior))


@contextmanager
def friendly_errors() -> Iterator[None]:
    """Print our own errors as a sentence; leave all others, which are bugs, with their traceback."""
    from betarce.errors import BetarceError

    try:
        yield
    except BetarceError as error:
        typer.secho(f"Error: {error}", err=True, fg="red")
        raise typer.Exit(2) from None


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
    table = new_table("", "feature", "now", "base", "robust")
    shown = item.changes()
    for line in shown.itertuples(index=False, name=None):
        table.add_row(str(line[0]), *map(number, line[1:]))
    if shown.empty:
        table.add_row("-", "-", "-", "-")
    return table


def audit_table(audit: "pd.DataFrame") -> "Table":
    """Lay out promised against realised validity."""
    table = new_table("", "applicant", "promised", "robust: realised", "base: realised")
    for name, row in audit.iterrows():
        table.add_row(str(name), f">= {share(row['promised'])}", share(row["robust"]), share(row["base"]))
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


def number(value: Any) -> str:
    """Write a value as people do: numbers whole where they are whole, thousands apart."""
    if isinstance(value, (str, bool)) or value != value:
        return "missing" if value != value else str(value)
    return f"{value:,.0f}" if float(value).is_integer() else f"{value:,.2f}"
