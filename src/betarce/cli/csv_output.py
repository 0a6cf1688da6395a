"""Answers as a CSV file."""

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import pandas as pd

    from betarce.robustify import Result


def changes_csv(result: "Result") -> str:
    """Write what to change as CSV: one line per row and feature, safe to open in a spreadsheet."""
    import pandas as pd

    from betarce.safe_text import csv_for_people

    shown = result.changes()
    lines = [[_cell(value) for value in line] for line in shown.itertuples(index=False, name=None)]
    return csv_for_people(pd.DataFrame(lines, columns=shown.columns, dtype=object))


def points_csv(points: "pd.DataFrame") -> str:
    """Write promised points as CSV: one line per promise, with its name first; values are as models take them."""
    return points.to_csv()


def _cell(value: Any) -> Any:
    """Write a float without a fraction, which a table may make of an int, as an int."""
    value = value.item() if hasattr(value, "item") else value
    return int(value) if isinstance(value, float) and value.is_integer() else value
