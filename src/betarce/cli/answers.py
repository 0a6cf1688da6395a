"""Print the answer for one row."""

from typing import TYPE_CHECKING

from betarce.cli.friendly import in_options
from betarce.cli.layout import new_table, number

if TYPE_CHECKING:
    from rich.console import Console
    from rich.table import Table

    from betarce.robustify import RobustCounterfactual


def print_answer(console: "Console", item: "RobustCounterfactual") -> None:
    """Say what one row should change, and how surely it holds, or why there is no answer."""
    from rich.markup import escape

    certified = item.status == "certified"
    if certified:
        console.print(changes_table(item))
    sign = "[green]✓[/]" if certified else "[red]✗[/]"
    said = str(item.certificate) if certified else in_options(item.reason)
    console.print(f"  {sign} {escape(said)}")
    if item.note:
        console.print(f"    {escape(in_options(item.note))}")
    console.print()


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
