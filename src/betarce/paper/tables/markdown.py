"""Tables as Markdown."""

from collections.abc import Iterable

import pandas as pd

from betarce.safe_text import in_markdown

_BREAK = "<br>"


def markdown_table(frame: pd.DataFrame, *, digits: int = 3, left: int = 0) -> str:
    """Write a frame as a Markdown table, its index first; floats get so many digits, and what is missing a dash.

    So many columns at the start as `left` says, the index among them, are set to the left, the others to the right.
    Text is shown as it is, whatever it holds, but for `<br>`, which breaks a line within a cell.

    Examples
    --------
    >>> print(markdown_table(pd.DataFrame({"delta": [0.5, float("nan")]}, index=pd.Index([1, 2], name="n_models"))))
    | n_models | delta |
    |---:|---:|
    | 1 | 0.500 |
    | 2 | - |
    """

    def written(value: object) -> str:
        if isinstance(value, float):
            return "-" if value != value else f"{value:.{digits}f}"
        return text(value)

    def text(value: object) -> str:
        return _BREAK.join(in_markdown(part) for part in str(value).split(_BREAK))

    head = [text(name) for name in (frame.index.name or "", *frame.columns)]
    lines = [[text(name), *map(written, row)] for name, row in zip(frame.index, frame.to_numpy(object), strict=True)]
    rule = "|" + ":---|" * left + "---:|" * (len(head) - left)
    return "\n".join("| " + " | ".join(line) + " |" for line in [head, *lines]).replace("\n", f"\n{rule}\n", 1)


def text_table(columns: Iterable[str], rows: Iterable[Iterable[object]]) -> str:
    """Write cells that are text already as a Markdown table.

    Examples
    --------
    >>> print(text_table(("data", "rows"), [("car", 1728)]))
    | data | rows |
    | --- | --- |
    | car | 1728 |
    """
    head = list(columns)
    lines = [head, ["---"] * len(head), *rows]
    return "\n".join("| " + " | ".join(str(cell) for cell in line) + " |" for line in lines)


def one_line(value: object) -> str:
    """Write a value without line breaks, which would end a line of a table."""
    return " ".join(str(value).split())


def with_error(mean: float, error: float) -> str:
    """Write a mean with its standard error, if there is one.

    Examples
    --------
    >>> with_error(0.4881, 0.0134), with_error(0.5, float("nan")), with_error(float("nan"), float("nan"))
    ('0.488 ± 0.013', '0.500', '-')
    """
    if mean != mean:
        return "-"
    return f"{mean:.3f}" + ("" if error != error else f" ± {error:.3f}")
