"""Answers as a CSV file."""

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from betarce.robustify import Result


def changes_csv(result: "Result") -> str:
    """Write what to change as CSV: one line per row and feature."""
    shown = result.changes().astype(object)
    for name in shown.columns:
        shown[name] = [_cell(value) for value in shown[name]]
    text: str = shown.to_csv(index=False)
    return text


def _cell(value: Any) -> Any:
    """Write a float without a fraction, which a table may make of an int, as an int."""
    return str(int(value)) if isinstance(value, float) and value.is_integer() else value
