"""`betarce demo`: five rejected loans, explained and checked."""

from typing import TYPE_CHECKING, Annotated

import typer

from betarce.cli.answers import print_answer
from betarce.cli.friendly import friendly_errors
from betarce.cli.layout import new_table, share
from betarce.cli.options import Confidence, Delta, Jobs, Seed, check_jobs

if TYPE_CHECKING:
    import pandas as pd
    from rich.table import Table


def demo(
    delta: Delta = 0.9,
    confidence: Confidence = 0.95,
    seed: Seed = 0,
    jobs: Jobs = -1,
    audit_models: Annotated[int, typer.Option(help="Fresh models that check the promise.", min=1)] = 200,
) -> None:
    """Explain five rejected loans, then check the promise on retrained models that nothing has seen."""
    from betarce.cli.terminal import Console
    from betarce.demo import RULES_IN_WORDS, prepare

    console = Console(highlight=False)
    with friendly_errors():
        console.print(
            "Training a bank's model, and members on bootstrapped rows to search with and to certify with ..."
        )
        story = prepare(delta=delta, confidence=confidence, seed=seed, n_jobs=check_jobs(jobs))
        rce, certifying = story.rce, story.rce.members_.certifying or ()
        console.print(f"{story.loans}. The model is right for {story.accuracy:.0%} of unseen applicants.")
        console.print(
            f"{len(rce.members_.search)} members search, {len(certifying)} others certify. {RULES_IN_WORDS}\n"
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


def audit_table(audit: "pd.DataFrame") -> "Table":
    """Lay out promised against realised validity."""
    from rich.markup import escape

    table = new_table("", "applicant", "promised", "robust: realised", "base: realised")
    for name, row in audit.iterrows():
        promised, robust, base = (share(row[column]) for column in ("promised", "robust", "base"))
        table.add_row(escape(str(name)), promised if promised == "-" else f">= {promised}", robust, base)
    return table
