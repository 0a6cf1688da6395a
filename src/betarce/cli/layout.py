"""Tables and values as a terminal shows them, and documents for machines."""

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from rich.table import Table


def new_table(title: str, *columns: str) -> "Table":
    """Start a table in the one style that the command line has."""
    from rich import box
    from rich.table import Table

    table = Table(title=title or None, title_justify="left", title_style="bold", box=box.SIMPLE_HEAD)
    for i, column in enumerate(columns):
        table.add_column(column, justify="left" if i == 0 else "right")
    return table


def share(value: float) -> str:
    """Write a share as a percentage, rounded down; a dash where there is none."""
    return "-" if value != value else f"{int(value * 1000) / 10:.1f} %"


def number(value: Any) -> str:
    """Write a value as people do: numbers whole where they are whole, thousands apart."""
    value = value.item() if hasattr(value, "item") else value
    if value is None or str(value) in ("nan", "<NA>", "NaT"):
        return "missing"
    if isinstance(value, bool) or not isinstance(value, (int, float)):
        return str(value)
    return f"{value:,.0f}" if float(value).is_integer() else f"{value:,.2f}"


def print_json(document: Any) -> None:
    """Print strict JSON on stdout, which may be a terminal."""
    import json

    import typer

    from betarce.safe_text import in_json

    typer.echo(in_json(json.dumps(document, indent=2, ensure_ascii=False, allow_nan=False)))


def known(value: float) -> float | None:
    """Give a number, or None for NaN, which JSON does not have."""
    return None if value != value else value
