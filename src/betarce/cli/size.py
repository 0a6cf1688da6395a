"""`betarce size` and `betarce figures`: what votes can promise."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from betarce.cli.friendly import friendly_errors
from betarce.cli.layout import new_table
from betarce.cli.options import Prior

if TYPE_CHECKING:
    from rich.table import Table


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


def figures(
    out: Annotated[Path, typer.Option(help="Folder to write to; made if it is not there.")] = Path("figures"),
) -> None:
    """Draw what votes can promise: Beta shapes, largest delta, interval widths; write the table of deltas."""
    from rich.console import Console
    from rich.markup import escape

    from betarce.report.gallery import write_gallery

    console = Console(highlight=False)
    with friendly_errors():
        for path in write_gallery(out):
            console.print(f"Wrote {escape(str(path))}", soft_wrap=True)


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
