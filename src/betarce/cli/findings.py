"""Print what looks wrong in a CSV file, before it is used."""

from collections.abc import Sequence
from typing import TYPE_CHECKING

import typer

from betarce.safe_text import in_terminal

if TYPE_CHECKING:
    from betarce.tables.csv_checks import Finding


def print_findings(findings: Sequence["Finding"], data: object) -> None:
    """Say on stderr what to look at."""
    if findings:
        typer.secho(in_terminal(f"Look at this in {data}:"), err=True, fg="yellow", bold=True)
    for finding in findings:
        typer.secho(in_terminal(f"  * {finding}"), err=True, fg="yellow")
